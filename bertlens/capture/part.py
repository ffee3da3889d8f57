"""A call of an attention function cut down to some of its queries and keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from bertlens.capture.attention_function import Call


def part(call: Call, rows: Sequence[int] | None, columns: Sequence[int] | None = None) -> Call:
    """The same call for some queries and keys only; None takes all.

    Scores of what is left are those of the whole; weights are only while all keys are left. The
    values, which no weight depends on, are left out.
    """
    n_from, n_to = call.query.shape[-2], call.key.shape[-2]

    def cut(given: Any) -> Any:
        # Masks and position biases are [batch or 1, heads or 1, from or 1, to].
        if not isinstance(given, Tensor) or given.dim() != 4 or given.shape[-1] != n_to:
            return given
        if rows is not None and given.shape[-2] == n_from:
            given = given[:, :, list(rows)]
        return given if columns is None else given[..., list(columns)]

    return replace(
        call,
        query=call.query if rows is None else call.query[:, :, list(rows)],
        key=call.key if columns is None else call.key[:, :, list(columns)],
        value=call.value[:0],
        mask=cut(call.mask),
        options={name: cut(value) for name, value in call.options.items()},
    )
