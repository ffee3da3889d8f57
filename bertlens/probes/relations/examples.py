"""Words of a relation with a head's guess for each: the sentences behind a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertlens.probes.relations.guesses import DIRECTIONS, Direction
from bertlens.probes.relations.scored import ScoredWords


@dataclass(frozen=True, slots=True)
class Example:
    """A word of the treebank and what a head guesses about it. Words are numbered from 1.

    Attributes:
        sentence: the sentence's place in the treebank, from 0.
        words: its words.
        dependent: the number of the word.
        head: the number of its syntactic head in the treebank.
        guess: the number of the word that the attention head picks instead of it, or rightly.
        relation, direction: what was asked of the head.
        sent_id: the sentence's own name in the treebank, where it has one.
    """

    sentence: int
    words: tuple[str, ...]
    dependent: int
    head: int
    guess: int
    relation: str
    direction: Direction
    sent_id: str = ""

    def __str__(self) -> str:
        """The sentence, with [the word], its *head* and, if it is wrong, the ?guess?."""
        marks = {self.guess: "?{}?", self.head: "*{}*", self.dependent: "[{}]"}
        text = " ".join(marks.get(i, "{}").format(word) for i, word in enumerate(self.words, 1))
        return f"{self.sent_id}: {text}" if self.sent_id else text

    @property
    def hit(self) -> bool:
        return self.guess == self.head

    @property
    def distance(self) -> int:
        """Head minus dependent, in words."""
        return self.head - self.dependent


def examples(
    words: ScoredWords,
    members: NDArray[np.int64],
    layer: int,
    head: int,
    direction: Direction,
    *,
    hit: bool | None = None,
    distance: int | None = None,
) -> list[Example]:
    """The members of a relation, in the order of the treebank, as one head guesses them.

    Args:
        words: the judged words; `members` are indices among them.
        hit: only right ones, or only wrong ones.
        distance: only those whose head is so many words away.
    """
    d = DIRECTIONS.index(direction)
    keep = np.ones(len(members), bool)
    if hit is not None:
        keep &= words.right[d, members, layer, head] == hit
    if distance is not None:
        keep &= words.distances[members] == distance
    treebank = words.guesses.treebank
    return [
        Example(
            int(words.sentences[i]),
            treebank[int(words.sentences[i])].words,
            int(words.numbers[i]),
            int(words.heads[i]),
            int(words.picked[d, i, layer, head]),
            str(words.relations[i]),
            direction,
            treebank[int(words.sentences[i])].sent_id,
        )
        for i in members[keep]
    ]
