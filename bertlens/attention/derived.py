"""Attention made from attention: the same tokens, other numbers, explored like a head."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.sources import DenseWeights, WeightSource

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention


def derived(
    attention: Attention,
    source: WeightSource,
    measure: str,
    caveat: str,
    again: Callable[[Attention], Attention],
) -> Attention:
    """The same text with numbers of another source; the caveat is shown among its notes.

    Args:
        again: derives the same of another text's attention.
    """
    made = attention.with_source(source)
    made.only_kind()
    made.measure = measure
    made.derive = again
    made.notes = (*attention.notes, caveat)
    return made


def dense(maps: NDArray[np.float64]) -> DenseWeights:
    """A source of maps [layer, head, from, to]."""
    return DenseWeights(np.ascontiguousarray(maps, dtype=np.float32))


def at_token_level(attention: Attention, what: str) -> Attention:
    """The attention between tokens that a word-level one was made of.

    Raises:
        ValueError: words all the way down: there are no tokens behind them.
    """
    if attention.level != "word":
        return attention
    if attention.of_tokens is None:
        raise ValueError(f"{what} are made between tokens; ask before to_words().")
    return attention.of_tokens


def check_weights(attention: Attention, what: str) -> None:
    """Make sure that these are a model's own weights between the tokens of one text.

    Raises:
        ValueError: they are derived already, or rows and columns are different tokens.
    """
    if attention.measure != "weights":
        raise ValueError(
            f"{what} needs a model's own weights, and these are {attention.measure}. "
            "Ask the attention that they were made from."
        )
    if attention.to_tokens is not attention.tokens:
        raise ValueError(
            f"{what} follows tokens through the layers, and in attention of kind "
            f"{attention.kind_name!r} rows and columns are different tokens. Ask another kind: "
            "att.kind(name)."
        )
