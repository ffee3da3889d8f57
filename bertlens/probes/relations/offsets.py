"""The positional baseline of a relation: the best fixed distance from dependent to head (4.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

OFFSETS: tuple[int, ...] = tuple(offset for offset in range(-10, 11) if offset)
"""Offsets that are tried: head minus dependent, in words."""


def checked_offsets(offsets: Sequence[int]) -> tuple[int, ...]:
    """The offsets to try, in the order in which ties are settled.

    Raises:
        ValueError: none, or 0, at which no word has its head.
    """
    found = tuple(sorted({int(offset) for offset in offsets}))
    if not found or 0 in found:
        raise ValueError(
            f"offsets must be whole numbers other than 0, such as (-2, 1); got {offsets!r}."
        )
    return found


def best_offset(distances: NDArray[np.int64], offsets: Sequence[int] = OFFSETS) -> int:
    """The offset at which most words have their head; the lowest of equals.

    A word near the edge whose offset falls outside the sentence is predicted no head, and so is
    never right.

    Args:
        distances: head minus dependent of the words of a relation.
    """
    counts = [int((distances == offset).sum()) for offset in offsets]
    return offsets[int(np.argmax(counts))]
