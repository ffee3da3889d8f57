"""Documents with coreference: words, sentences, and mentions in clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bertlens.errors import AnnotationError


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase that refers to something.

    Attributes:
        start, end: its words, [start, end), counted from 0 through the document.
        head: its head word; None takes the last one.
        cluster: what it refers to; mentions of a cluster corefer.
    """

    start: int
    end: int
    cluster: str
    head: int | None = None

    @property
    def head_word(self) -> int:
        return self.end - 1 if self.head is None else self.head

    @property
    def order(self) -> tuple[int, int]:
        """Mentions stand by where they begin, the longer of two first."""
        return self.start, -self.end


@dataclass(frozen=True)
class Document:
    """Words with mentions; a cluster of one mention is a singleton.

    Attributes:
        name: for tables and errors.
        words: the words of the whole document.
        sentences: [start, end) of each sentence, in order, covering all words.
        mentions: in any order; kept in the order of the text.
        tags: a part-of-speech tag for each word (Penn or Universal), or None.

    Raises:
        AnnotationError: no words, sentences that leave a gap, a mention out of range or with its
            head outside, or tags that are not one a word.
    """

    name: str
    words: tuple[str, ...]
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...]
    tags: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.words))
        object.__setattr__(self, "sentences", tuple((a, b) for a, b in self.sentences))
        ordered = sorted(self.mentions, key=lambda mention: mention.order)
        object.__setattr__(self, "mentions", tuple(ordered))
        if self.tags is not None:
            object.__setattr__(self, "tags", tuple(self.tags))
        problem = _problem(self)
        if problem:
            raise AnnotationError(f"{self.name}: {problem}")

    @cached_property
    def cluster_sizes(self) -> Counter[str]:
        """How many mentions each cluster has."""
        return Counter(mention.cluster for mention in self.mentions)

    def text(self, mention: Mention) -> str:
        return " ".join(self.words[mention.start : mention.end])

    def without_singletons(self) -> Document:
        """The same document with the clusters of two mentions or more."""
        kept = tuple(m for m in self.mentions if self.cluster_sizes[m.cluster] > 1)
        return Document(self.name, self.words, self.sentences, kept, self.tags)


def as_documents(given: Sequence[Document]) -> tuple[Document, ...]:
    """What a person gave, as documents.

    Raises:
        TypeError: not documents.
        AnnotationError: there are none.
    """
    documents = (given,) if isinstance(given, Document) else tuple(given)
    for document in documents:
        if not isinstance(document, Document):
            raise TypeError(
                f"Documents are wanted, not {document!r:.80}. Read a file with "
                "bl.probes.read_coreference(path) or read_conll2012(path)."
            )
    if not documents:
        raise AnnotationError("There is no document to work on.")
    return documents


def _problem(document: Document) -> str | None:
    """What cannot be, in words; None if all is well."""
    n = len(document.words)
    if not n:
        return "the document has no words"
    if document.tags is not None and len(document.tags) != n:
        return f"{n} words but {len(document.tags)} tags"
    at = 0
    for start, end in document.sentences:
        if start != at or end <= start:
            return f"sentence [{start}, {end}) should begin at word {at} and not be empty"
        at = end
    if at != n:
        return f"the sentences end at word {at} of {n}"
    for mention in document.mentions:
        where = f"mention [{mention.start}, {mention.end}) of cluster {mention.cluster!r}"
        if not 0 <= mention.start < mention.end <= n:
            return f"{where} is out of range: the document has words 0 to {n - 1}"
        if not mention.start <= mention.head_word < mention.end:
            return f"{where} has its head at {mention.head_word}, outside itself"
    return None
