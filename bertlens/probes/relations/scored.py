"""Guesses held against the treebank: which are right, relation by relation."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bertlens.probes.relations.guesses import NOT_RUN, Guesses
from bertlens.probes.treebanks.treebank import ROOT

ALL = "all"
"""The row of every relation together."""

_POSSESSORS = ("poss", "nmod:poss")
_CLITICS = ("'s", "s'", "'", "’s", "’")


class ScoredWords:
    """The words of a treebank that have a head among the words that were run.

    Attributes:
        guesses: what was judged.
        sentences: int [word], each word's sentence.
        numbers: int [word], its number in the sentence, from 1.
        heads: int [word], the number of its head.
        relations: str [word].
        picked: int16 [direction, word, layer, head], the number of the word that was picked.
        n_roots: how many words are roots and so not among these.
    """

    def __init__(
        self, guesses: Guesses, *, subtypes: bool = True, follow_possessive: bool = False
    ) -> None:
        self.guesses = guesses
        treebank = guesses.treebank
        lengths = [len(sentence) for sentence in treebank]
        starts = np.repeat(guesses.starts()[:-1], lengths)
        heads = np.concatenate([np.array(sentence.heads) for sentence in treebank])
        names = np.array([name for sentence in treebank for name in sentence.relations])
        ran = guesses.picked[0, :, 0, 0] != NOT_RUN
        # A word may have been run while its head was cut off.
        head_ran = ran[np.where(heads == ROOT, 0, starts + heads - 1)]
        scored = np.flatnonzero(ran & (heads != ROOT) & head_ran)
        self.n_roots = int((ran & (heads == ROOT)).sum())
        self.sentences = np.repeat(np.arange(len(lengths)), lengths)[scored]
        self.numbers = scored - starts[scored] + 1
        self.heads = heads[scored]
        self._names = names[scored]
        bare = np.array([name.split(":")[0] for name in self._names], dtype=str)
        self.relations = self._names if subtypes else bare
        self.punctuation = bare == "punct"
        self.picked = guesses.picked[:, scored]
        if follow_possessive:
            self._follow(scored)

    def _follow(self, scored: NDArray[np.int64]) -> None:
        for i in np.flatnonzero(np.isin(self._names, _POSSESSORS)):
            words = self.guesses.treebank[int(self.sentences[i])].words
            number = int(self.numbers[i])
            clitic = scored[i] + 1
            if number < len(words) and words[number] in _CLITICS:
                after = self.guesses.picked[:, clitic]
                self.picked[:, i] = np.where(after == NOT_RUN, self.picked[:, i], after)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """Whether each guess is right, [direction, word, layer, head]."""
        return np.asarray(self.picked == self.heads[None, :, None, None])

    @cached_property
    def distances(self) -> NDArray[np.int64]:
        """Head minus dependent of each word."""
        return np.asarray(self.heads - self.numbers)

    @cached_property
    def supports(self) -> dict[str, int]:
        """How many words each relation has, the most frequent first."""
        names, counts = np.unique(self.relations, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {str(names[i]): int(counts[i]) for i in order}

    def members(self, relation: str, *, punctuation: bool = True) -> NDArray[np.int64]:
        """The words of a relation; of ALL, every word, without punctuation if so asked."""
        if relation != ALL:
            return np.flatnonzero(self.relations == relation)
        if punctuation:
            return np.arange(len(self.heads))
        return np.flatnonzero(~self.punctuation)
