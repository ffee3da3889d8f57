"""Kinds of mentions, and what they agree in: number, gender and person (English)."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from bertlens.probes.coreference.documents import Document, Mention

MentionType: TypeAlias = Literal["pronoun", "proper", "nominal"]


class Agreement(NamedTuple):
    """What a mention is marked for; None is unknown and agrees with anything."""

    number: Literal["singular", "plural"] | None
    gender: Literal["male", "female", "neuter"] | None
    person: int

    def agrees(self, other: Agreement) -> bool:
        return all(a is None or b is None or a == b for a, b in zip(self, other, strict=True))


def _forms(words: str, *agreement: object) -> dict[str, Agreement]:
    return {word: Agreement(*agreement) for word in words.split()}  # type: ignore[arg-type]


PRONOUNS: dict[str, Agreement] = {
    **_forms("i me my mine myself", "singular", None, 1),
    **_forms("we us our ours ourselves", "plural", None, 1),
    **_forms("you your yours", None, None, 2),
    **_forms("yourself", "singular", None, 2),
    **_forms("yourselves", "plural", None, 2),
    **_forms("he him his himself", "singular", "male", 3),
    **_forms("she her hers herself", "singular", "female", 3),
    **_forms("it its itself", "singular", "neuter", 3),
    **_forms("they them their theirs themselves", "plural", None, 3),
    **_forms("themself", "singular", None, 3),
    **_forms("this that", "singular", "neuter", 3),
    **_forms("these those", "plural", None, 3),
    **_forms("one oneself", "singular", None, 3),
    **_forms("who whom whose which what", None, None, 3),
}

_MALE = frozenset("mr mr. sir lord king prince man boy father son brother husband uncle".split())
_FEMALE = frozenset(
    "mrs mrs. ms ms. miss lady queen princess woman girl mother daughter sister wife aunt".split()
)


def kind(document: Document, mention: Mention) -> MentionType:
    """Whether a mention is a pronoun, a proper name or a common noun phrase.

    A pronoun is one word of PRONOUNS. The head's tag tells names from nouns; without tags a name
    begins with a capital inside a sentence, or with one that the document never writes small.
    """
    word = document.words[mention.head_word]
    if mention.end - mention.start == 1 and word.lower() in PRONOUNS:
        return "pronoun"
    if document.tags is not None:
        tag = document.tags[mention.head_word]
        return "proper" if tag.startswith("NNP") or tag == "PROPN" else "nominal"
    if not word[:1].isupper():
        return "nominal"
    begins = any(start == mention.head_word for start, _ in document.sentences)
    return "nominal" if begins and word.lower() in document.words else "proper"


def agreement(document: Document, mention: Mention) -> Agreement:
    """What a mention is marked for, as far as its words and tags tell."""
    words = [word.lower() for word in document.words[mention.start : mention.end]]
    if len(words) == 1 and words[0] in PRONOUNS:
        return PRONOUNS[words[0]]
    gender: Literal["male", "female"] | None = None
    if _MALE.intersection(words) != frozenset():
        gender = "male"
    elif _FEMALE.intersection(words) != frozenset():
        gender = "female"
    number: Literal["singular", "plural"] | None = None
    if document.tags is not None:
        tag = document.tags[mention.head_word]
        if tag in ("NNS", "NNPS") or "and" in words:
            number = "plural"
        elif tag in ("NN", "NNP"):
            number = "singular"
    return Agreement(number, gender, 3)
