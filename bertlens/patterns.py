"""Surface patterns of attention (paper section 3), as scores of every head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertlens.scores import HeadScores, ScoreTable

if TYPE_CHECKING:
    from bertlens.attention import Attention, Weights


def entropy(weights: Weights) -> NDArray[np.float64]:
    """Entropy of each row in nats, smoothed as in the paper's code (section 3.3).

    p = 0.9999 A + 0.0001 / n, so that a weight of 0 has a finite logarithm.

    Args:
        weights: [..., from, to].

    Returns:
        float64 [..., from].
    """
    smooth = 0.9999 * weights.astype(np.float64) + 0.0001 / weights.shape[-1]
    return np.asarray(-(smooth * np.log(smooth)).sum(-1))


def attention_to(weights: Weights, columns: Sequence[int]) -> NDArray[np.float64]:
    """Share of attention that goes to some tokens: sum over columns, mean over rows (section 3.2).

    Args:
        weights: [..., from, to].
        columns: indices of the tokens.

    Returns:
        float64 [...].
    """
    return np.asarray(weights[..., list(columns)].sum(-1, dtype=np.float64).mean(-1))


def text_scores(attention: Attention) -> ScoreTable:
    """The scores of every head on one text."""
    special = [i for i, token in enumerate(attention.to_tokens) if token.special]
    layers = [attention.weights(layer) for layer in range(attention.n_layers)]
    return ScoreTable(
        {
            "entropy": HeadScores(
                "entropy",
                np.stack([entropy(weights).mean(-1) for weights in layers]),
                unit="nats",
                description="How widely a token's attention is spread, mean over tokens.",
                notable="low",
                baseline=float(np.log(len(attention.to_tokens))),
            ),
            "special": HeadScores(
                "special",
                np.stack([attention_to(weights, special) for weights in layers]),
                unit="share of attention",
                description="How much attention goes to special tokens such as [CLS] and [SEP].",
            ),
        }
    )
