"""How sure a share of right answers is, and whether one beats another beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z = 1.959963984540054
"""The 97.5% point of the normal distribution, for two-sided 95% intervals."""


def wilson(
    correct: ArrayLike, support: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The 95% Wilson score interval of shares `correct / support`; NaN where support is 0.

    Source: Wilson 1927, in the closed form of Brown, Cai and DasGupta 2001.
    """
    k = np.asarray(correct, np.float64)
    n = np.asarray(support, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = k / n
        centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
        # At 0 and n correct the closed form ends there up to rounding.
        low = np.where(k == 0, share, np.clip(centre - half, 0, share))
        high = np.where(k == n, share, np.clip(centre + half, share, 1))
    return low, high


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided McNemar test of two classifiers on the same words.

    Args:
        only_first: how many words only the first got right.
        only_second: how many only the second.

    Returns:
        The probability of so uneven a split, or a more uneven one, if both were equally good.
    """
    from scipy.stats import binomtest

    n = only_first + only_second
    return float(binomtest(only_first, n).pvalue) if n else 1.0
