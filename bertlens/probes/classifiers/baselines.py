"""What a probe must beat: fixed offsets, distances with words, and a model that learned nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from bertlens import capture
from bertlens.probes.classifiers.gold import UNKNOWN, Gold
from bertlens.probes.classifiers.word_maps import FIRST_WORD, START
from bertlens.probes.relations.offsets import OFFSETS, best_offset
from bertlens.probes.treebanks.treebank import ROOT
from bertlens.text.text_model import TextModel

RIGHT_BRANCHING = 1
"""Every word's head is the next word."""

MAX_DISTANCE = 10
"""Distances beyond this many words, before or after, are not told apart."""


def offset_heads(gold: Gold, offset: int) -> NDArray[np.int64]:
    """Every word's head so many words away; UNKNOWN where that is outside the sentence."""
    heads = np.arange(1, len(gold) + 1) + offset
    return np.where((heads < 1) | (heads > len(gold)), UNKNOWN, heads)


def chosen_offset(golds: Sequence[Gold]) -> int:
    """The offset at which most words have their head, punctuation left out."""
    distances = [
        (gold.heads - np.arange(1, len(gold) + 1))[(gold.heads > ROOT) & ~gold.punctuation]
        for gold in golds
    ]
    return best_offset(np.concatenate(distances), OFFSETS)


class DistanceMaps:
    """In place of attention: how many words a candidate is away, as one of 21 indicators.

    Nearer ones have an indicator each, those MAX_DISTANCE words or more away share one on each
    side. The root has an indicator of its own.
    """

    rootable = True
    shape = (1, 2 * MAX_DISTANCE + 2)

    def __init__(self, golds: Sequence[Gold]) -> None:
        self.golds = golds

    def map(self, index: int) -> Tensor:
        n = len(self.golds[index])
        places = torch.arange(n)
        distance = (places[:, None] - places[None]).clamp(
            -MAX_DISTANCE, MAX_DISTANCE
        ) + MAX_DISTANCE
        pairs = torch.zeros(n + FIRST_WORD, n + FIRST_WORD, self.shape[1])
        pairs[FIRST_WORD:, FIRST_WORD:] = functional.one_hot(distance, self.shape[1])
        pairs[START, :, -1] = 1
        return pairs

    def __len__(self) -> int:
        return len(self.golds)


def randomised(lens: TextModel, *, seed: int = 0) -> TextModel:
    """The same model with the random weights it would start its training from.

    The lens's model, its config and torch's random state stay as they are.
    """
    model = capture.randomised(lens.model, seed).to(lens.device)
    return type(lens)(model, lens.tokenizer, name=f"{lens.name}, random weights")
