"""Heads ranked by their weight from one token to another, in one text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bertlens.scores.catalogue import SHARE
from bertlens.scores.head_scores import HeadScores
from bertlens.text.tokens import Token

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention

Pointed: TypeAlias = int | str | Iterable[int | str]
"""A token by its place; or every token that reads so, by label or else by piece; or several."""


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


def pointed(tokens: Sequence[Token], given: Pointed, what: str) -> list[int]:
    """Indices of the tokens that a person means, each once, in order.

    Raises:
        IndexError: no token has this place.
        ValueError: no token has this label, or none is given.
        TypeError: neither places nor labels.
    """
    if isinstance(given, int | np.integer | str):
        given = [given]
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{what} must be a token's place, its label, or a list of these, not {given!r}."
        )
    found: set[int] = set()
    for one in given:
        if isinstance(one, str):
            same = [i for i, token in enumerate(tokens) if token.label == one]
            same = same or [i for i, token in enumerate(tokens) if token.text == one]
            if not same:
                known = ", ".join(repr(token.label) for token in tokens[:40])
                raise ValueError(f"{what}: no token reads {one!r}. The tokens are {known}.")
            found.update(same)
        elif isinstance(one, bool) or not isinstance(one, int | np.integer):
            raise TypeError(f"{what} must hold places or labels of tokens, not {one!r}.")
        elif not 0 <= one < len(tokens):
            raise IndexError(f"{what}: there is no token {one}; they are 0 to {len(tokens) - 1}.")
        else:
            found.add(int(one))
    if not found:
        raise ValueError(f"{what} names no token: give at least one.")
    return sorted(found)


def _named(tokens: Sequence[Token], places: Sequence[int]) -> str:
    names = [f"{tokens[i].label} ({i})" for i in places]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
