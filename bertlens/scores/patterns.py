"""Surface patterns of attention as pure functions of a map (Clark et al. 2019, sections 3 and 6).

The reference definitions in NumPy, with which the tests check the batched ones. Sections named
below are those of Clark et al. 2019, "What Does BERT Look At?".

Each takes weights [..., from, to] and reduces the last two axes, so that one head, the heads of a
layer and all layers work alike. `bertlens.scores.batched` computes the same numbers over batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]

SMOOTHING = 1e-4
"""The share of a uniform row that entropies are smoothed with, as in the authors' code."""

BROAD, POSITIONAL, TARGETED = 3.8, 0.5, 0.6
"""Section 6: a head is broad above this entropy, positional above this weight on the next or
previous token, targeted above this weight on a kind of token."""

BEHAVIOURS = ("", "broad", "next", "previous", "cls", "sep", "punctuation")
"""What a head may be called, "" if nothing stands out."""


def offset(weights: ArrayLike, steps: int) -> Values:
    """Mean over rows of the weight on the token `steps` ahead; negative is behind (section 3.1).

    A row without such a token counts as 0 and the divisor is the number of rows, as in the
    authors' code.

    Args:
        weights: [..., from, to].
        steps: 0 for a token itself, 1 for the next, -1 for the previous.

    Returns:
        float64 [...]; NaN if no row has such a token.
    """
    maps = _maps(weights)
    n = maps.shape[-1]
    if abs(steps) >= n:
        return np.full(maps.shape[:-2], np.nan)
    return np.asarray(np.diagonal(maps, steps, -2, -1).sum(-1) / n)


def attention_to(
    weights: ArrayLike, columns: Sequence[int], rows: Sequence[int] | None = None
) -> Values:
    """Share of attention that goes to some tokens: sum over columns, mean over rows (section 3.2).

    Args:
        weights: [..., from, to].
        columns: indices of the tokens that are attended to.
        rows: indices of the tokens that attend; all of them if None.

    Returns:
        float64 [...]; NaN if there are no such columns or rows.
    """
    maps = _maps(weights)
    if rows is not None:
        maps = maps[..., list(rows), :]
    if not len(columns) or not maps.shape[-2]:
        return np.full(maps.shape[:-2], np.nan)
    return np.asarray(maps[..., list(columns)].sum(-1).mean(-1))


def attention_among(weights: ArrayLike, related: NDArray[np.bool_]) -> Values:
    """Share of attention on related tokens, mean over the tokens that have any.

    Args:
        weights: [..., from, to].
        related: bool [from, to].

    Returns:
        float64 [...]; NaN if no token has a related one.
    """
    maps = _maps(weights)
    rows = related.any(-1)
    if not rows.any():
        return np.full(maps.shape[:-2], np.nan)
    return np.asarray((maps * related).sum(-1)[..., rows].mean(-1))


def entropy(weights: ArrayLike) -> Values:
    """Entropy of each row in nats, smoothed as in the authors' code (section 3.3).

    p = 0.9999 A + 0.0001 / n, so that a weight of 0 has a finite logarithm.

    Args:
        weights: [..., from, to].

    Returns:
        float64 [..., from].
    """
    maps = _maps(weights)
    smooth = (1 - SMOOTHING) * maps + SMOOTHING / maps.shape[-1]
    return np.asarray(-(smooth * np.log(smooth)).sum(-1))


def distance(weights: ArrayLike) -> Values:
    """Mean distance in tokens that attention spans: sum A|i-j| / sum A (Vig & Belinkov 2019).

    Args:
        weights: [..., token, token].

    Returns:
        float64 [...].
    """
    maps = _maps(weights)
    places = np.arange(maps.shape[-1])
    apart = abs(places[:, None] - places)
    return np.asarray((maps * apart).sum((-2, -1)) / maps.sum((-2, -1)))


def confidence(weights: ArrayLike, end: Sequence[int] = ()) -> Values:
    """Mean over tokens of the largest weight (Voita et al. 2019).

    Args:
        weights: [..., from, to].
        end: indices of end tokens ([SEP], </s>), which are left out as rows and as columns: heads
            with nothing to say rest there.

    Returns:
        float64 [...]; NaN if no other token is left.
    """
    maps = _maps(weights)
    rows = np.setdiff1d(np.arange(maps.shape[-2]), end)
    columns = np.setdiff1d(np.arange(maps.shape[-1]), end)
    if not len(rows) or not len(columns):
        return np.full(maps.shape[:-2], np.nan)
    return np.asarray(maps[..., rows[:, None], columns].max(-1).mean(-1))


def sink(weights: ArrayLike) -> Values:
    """Mean weight on the first token (Gu et al. 2025); above 0.3 a head counts as a sink.

    Args:
        weights: [..., from, to].

    Returns:
        float64 [...].
    """
    return attention_to(weights, [0])


def behaviours(values: Mapping[str, ArrayLike]) -> NDArray[np.str_]:
    """What each head is called in section 6, "" where nothing stands out.

    Args:
        values: arrays of one shape by the names "entropy", "next", "previous", "cls", "sep" and
            "punctuation"; a missing or NaN value names nothing.

    Returns:
        an array of the same shape, of strings of `BEHAVIOURS`. Where several hold, the first of
        that order is given.

    Raises:
        ValueError: none of these names is there.
    """
    known = {name: np.asarray(values[_SCORE_OF[name]], np.float64) for name in _present(values)}
    if not known:
        raise ValueError(f"Behaviours are named by the scores {', '.join(_SCORE_OF.values())}.")
    shape = next(iter(known.values())).shape
    labels = np.full(shape, "", dtype=f"<U{max(map(len, BEHAVIOURS))}")
    for name in reversed(_present(values)):
        labels[known[name] > _THRESHOLDS[name]] = name
    return labels


_SCORE_OF = {name: "entropy" if name == "broad" else name for name in BEHAVIOURS if name}
_THRESHOLDS = {
    "broad": BROAD,
    "next": POSITIONAL,
    "previous": POSITIONAL,
    "cls": TARGETED,
    "sep": TARGETED,
    "punctuation": TARGETED,
}


def _present(values: Mapping[str, ArrayLike]) -> list[str]:
    return [name for name, score in _SCORE_OF.items() if score in values]


def _maps(weights: ArrayLike) -> Values:
    maps = np.asarray(weights, np.float64)
    if maps.ndim < 2:
        raise ValueError(f"weights must be [..., from, to], got shape {maps.shape}.")
    return maps
