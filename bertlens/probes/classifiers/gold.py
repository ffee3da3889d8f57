"""What a probe is to find: the syntactic head of every word of a sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertlens.probes.treebanks.treebank import ROOT, Sentence

UNKNOWN = -1
"""The head of a word whose head was cut off: it is neither learned from nor scored."""


@dataclass(frozen=True)
class Gold:
    """A sentence as a probe sees it.

    Attributes:
        words: its words.
        heads: the number of each word's head, from 1; ROOT, or UNKNOWN.
        punctuation: bool [word].
    """

    words: tuple[str, ...]
    heads: NDArray[np.int64]
    punctuation: NDArray[np.bool_]

    @classmethod
    def of(cls, sentence: Sentence, n_words: int | None = None) -> Gold:
        """The first words of a sentence, or all."""
        n = len(sentence) if n_words is None else n_words
        heads = np.array(sentence.heads[:n])
        heads[heads > n] = UNKNOWN
        return cls(sentence.words[:n], heads, np.array(sentence.punctuation[:n]))

    def __len__(self) -> int:
        return len(self.words)


def control(golds: Iterable[Gold], *, seed: int = 0) -> list[Gold]:
    """The control task of Hewitt and Liang (2019) for dependency edges.

    Every word type is given one of three behaviours at random, and keeps it in all sentences: its
    "head" is the first word, the last word, or its neighbour to the right. What a probe learns of
    this it has memorised. (In the original the third is the word itself, which no probe here can
    pick.) Where a behaviour points at the word itself, its other neighbour is taken.

    Args:
        golds: sentences; those of one word have nothing to point at and are UNKNOWN.
    """
    return [
        Gold(
            gold.words,
            np.array(
                [_control_head(word, i, len(gold), seed) for i, word in enumerate(gold.words)]
            ),
            gold.punctuation,
        )
        for gold in golds
    ]


def _control_head(word: str, index: int, n_words: int, seed: int) -> int:
    if n_words == 1:
        return UNKNOWN
    digest = hashlib.blake2b(f"{seed} {word.lower()}".encode(), digest_size=8).digest()
    behaviour = int.from_bytes(digest, "big") % 3
    target = (0, n_words - 1, index + 1)[behaviour]
    if target == index:
        target = index + 1 if behaviour == 0 else index - 1
    if target == n_words:
        target = index - 1
    return target + 1


def without_roots(gold: Gold) -> Gold:
    """The same with roots UNKNOWN, for probes that have no root to pick."""
    heads = np.where(gold.heads == ROOT, UNKNOWN, gold.heads)
    return Gold(gold.words, heads, gold.punctuation)
