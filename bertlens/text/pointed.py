"""Tokens of a text as a caller names them: by index, by label, or several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from bertlens.text.tokens import Token

Pointed: TypeAlias = int | str | Iterable[int | str]
"""A token by its index; or every token that reads so, by label or else by piece; or several."""


def pointed(tokens: Sequence[Token], given: Pointed, what: str) -> list[int]:
    """Indices of the tokens that a caller means, each once, in order.

    Raises:
        IndexError: no token has this index.
        ValueError: no token has this label, or none is given.
        TypeError: neither indices nor labels.
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
