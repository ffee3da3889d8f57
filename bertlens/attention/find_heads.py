"""Heads ranked by their weight from one token to another, in one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertlens.scores.catalogue import SHARE
from bertlens.scores.head_scores import HeadScores
from bertlens.text.pointed import Pointed, pointed
from bertlens.text.tokens import Token

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention


def between(attention: Attention, from_token: Pointed, to_token: Pointed) -> HeadScores:
    """Each head's weight from one token to another: see `Attention.find_heads`."""
    rows = pointed(attention.tokens, from_token, "from_token")
    columns = pointed(attention.to_tokens, to_token, "to_token")
    values = [
        attention.rows(layer, rows)[:, :, columns].sum(-1, dtype=np.float64).mean(-1)
        for layer in range(attention.n_layers)
    ]
    ends = [_named(attention.tokens, rows), _named(attention.to_tokens, columns)]
    return HeadScores(
        " -> ".join(ends),
        np.stack(values),
        unit=SHARE,
        description=f"Attention from {ends[0]} to {ends[1]}"
        + (", summed over the latter" if len(columns) > 1 else "")
        + (", mean over the former" if len(rows) > 1 else "")
        + "; the baseline is even attention.",
        baseline=len(columns) / len(attention.to_tokens),
    )


def _named(tokens: Sequence[Token], places: Sequence[int]) -> str:
    names = [f"{tokens[i].label} ({i})" for i in places]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
