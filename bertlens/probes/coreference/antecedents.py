"""Mentions with an antecedent, what they may choose from, and baselines that choose (4.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bertlens.probes.coreference.documents import Document, Mention
from bertlens.probes.coreference.mention_types import MentionType, agreement, kind

Candidates: TypeAlias = Literal["mentions_before", "mentions_any", "words_before", "words_any"]
CANDIDATES: tuple[Candidates, ...] = (
    "mentions_before",
    "mentions_any",
    "words_before",
    "words_any",
)


@dataclass(frozen=True)
class Anaphor:
    """A mention whose segment holds an earlier mention of the same cluster.

    Attributes:
        document: where it stands.
        mention: itself.
        kind: pronoun, proper or nominal.
        before: the mentions before it in the segment whose head words come before its own, by
            head word.
        antecedents: the head words of those of `before` that corefer with it.
        segment: [start, end) of the words that the model sees together.
    """

    document: Document
    mention: Mention
    kind: MentionType
    before: tuple[Mention, ...]
    antecedents: frozenset[int]
    segment: tuple[int, int]

    @property
    def head(self) -> int:
        return self.mention.head_word


def anaphors(document: Document, segment: tuple[int, int]) -> list[Anaphor]:
    """The mentions of a segment that are scored, in the order of the text.

    Mentions that a segment's edge cuts are left out. A mention whose head word is the anaphor's own
    or comes later is no antecedent of it.
    """
    inside = [m for m in document.mentions if segment[0] <= m.start and m.end <= segment[1]]
    found = []
    for i, mention in enumerate(inside):
        earlier = (m for m in inside[:i] if m.head_word < mention.head_word)
        before = tuple(sorted(earlier, key=lambda m: m.head_word))
        antecedents = frozenset(m.head_word for m in before if m.cluster == mention.cluster)
        if antecedents:
            found.append(
                Anaphor(document, mention, kind(document, mention), before, antecedents, segment)
            )
    return found


def candidate_words(anaphor: Anaphor, candidates: Candidates) -> list[int]:
    """The words among which a head's choice is looked for; never the anaphor's own head word."""
    start, end = anaphor.segment
    if candidates == "words_before":
        return list(range(start, anaphor.head))
    if candidates == "words_any":
        return [word for word in range(start, end) if word != anaphor.head]
    if candidates == "mentions_before":
        return sorted({m.head_word for m in anaphor.before})
    inside = (m for m in anaphor.document.mentions if start <= m.start and m.end <= end)
    return sorted({m.head_word for m in inside} - {anaphor.head})


def nearest(anaphor: Anaphor) -> Mention | None:
    """The mention whose head word is nearest before the anaphor's."""
    return anaphor.before[-1] if anaphor.before else None


def first(anaphor: Anaphor) -> Mention | None:
    """The first mention of the segment."""
    return anaphor.before[0] if anaphor.before else None


def same_head(anaphor: Anaphor) -> Mention | None:
    """The nearest mention with the same head word, or none."""
    words = anaphor.document.words
    own = words[anaphor.head].lower()
    return _last(anaphor, lambda m: words[m.head_word].lower() == own)


def same_text(anaphor: Anaphor) -> Mention | None:
    """The nearest mention with all the same words, or none."""
    document = anaphor.document
    own = document.text(anaphor.mention).lower()
    return _last(anaphor, lambda m: document.text(m).lower() == own)


def agreeing(anaphor: Anaphor) -> Mention | None:
    """The nearest mention that agrees in number, gender and person, or none."""
    own = agreement(anaphor.document, anaphor.mention)
    return _last(anaphor, lambda m: agreement(anaphor.document, m).agrees(own))


BASELINES: dict[str, tuple[Callable[[Anaphor], Mention | None], ...]] = {
    "nearest": (nearest,),
    "first": (first,),
    "head_match": (same_head,),
    "head_match_or_nearest": (same_head, nearest),
    "text_head_nearest": (same_text, same_head, nearest),
    "rules": (same_text, same_head, agreeing, nearest),
}
"""Each tries its rules in turn; where none chooses, it is wrong."""


def baseline_right(anaphor: Anaphor, name: str) -> bool:
    """Whether a baseline's choice is an antecedent."""
    for rule in BASELINES[name]:
        choice = rule(anaphor)
        if choice is not None:
            return choice.head_word in anaphor.antecedents
    return False


def chance(anaphor: Anaphor, candidates: Candidates) -> float:
    """The share of candidates that are right, which a choice at random would reach."""
    words = candidate_words(anaphor, candidates)
    return len(anaphor.antecedents.intersection(words)) / len(words)


def _last(anaphor: Anaphor, fits: Callable[[Mention], bool]) -> Mention | None:
    return next((m for m in reversed(anaphor.before) if fits(m)), None)
