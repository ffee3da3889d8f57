"""Unlabelled attachment score: how many words are given their right head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bertlens.probes.classifiers.gold import UNKNOWN, Gold
from bertlens.probes.statistics import wilson
from bertlens.probes.treebanks.treebank import ROOT


class Attachment(NamedTuple):
    """UAS as shares from 0 to 1, without punctuation and with it.

    `low` and `high` are the 95% Wilson interval of `uas`.
    """

    uas: float
    correct: int
    support: int
    low: float
    high: float
    uas_with_punctuation: float
    correct_with_punctuation: int
    support_with_punctuation: int


def attachment(
    golds: Sequence[Gold], heads: Sequence[NDArray[np.int64]], *, roots: bool = True
) -> Attachment:
    """Hold predicted heads against the right ones.

    Args:
        heads: for each sentence the number of each word's head, from 1; 0 for the root.
        roots: score roots, too.
    """
    right = [0, 0]
    seen = [0, 0]
    for gold, found in zip(golds, heads, strict=True):
        scored = gold.heads != UNKNOWN
        if not roots:
            scored &= gold.heads != ROOT
        for i, kept in enumerate((scored & ~gold.punctuation, scored)):
            right[i] += int((found == gold.heads)[kept].sum())
            seen[i] += int(kept.sum())
    low, high = wilson(right[0], seen[0])
    share = [k / n if n else float("nan") for k, n in zip(right, seen, strict=True)]
    return Attachment(
        share[0], right[0], seen[0], float(low), float(high), share[1], right[1], seen[1]
    )
