"""How a weight comes about: queries, keys, and scores before the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bertlens.attention.captured import CapturedWeights, Own
from bertlens.attention.derived import at_token_level
from bertlens.attention.maps import checked_index
from bertlens.capture import Call, part, scores_before_softmax
from bertlens.errors import OutOfReachError

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class ScoreParts:
    """The parts of a head's scores before the softmax; float32.

    total = dot * scale + cap + position_bias + mask + other. weights = softmax(total) over each
    row; with a sink, softmax over the row and the sink, which then takes its share.

    Attributes:
        total: [from, to].
        dot: the sum over dimensions of query times key, [from, to].
        scale: what the dot product is multiplied with.
        cap: what the model's soft cap takes away, [from, to], or None.
        position_bias: what the model adds for the distance, [from, to], or None.
        mask: what hides tokens, a very large negative number or -inf, [from, to], or None.
        other: what else the family's function does to a score, [from, to], or None.
        sink: [from], or None.
    """

    total: Floats
    dot: Floats
    scale: float
    cap: Floats | None
    position_bias: Floats | None
    mask: Floats | None
    other: Floats | None
    sink: Floats | None


def captured(attention: Attention, what: str) -> CapturedWeights:
    """The capture behind an attention.

    Raises:
        OutOfReachError: there is none: the weights were given or derived.
    """
    source = attention.source
    if attention.measure != "weights" or not isinstance(source, CapturedWeights):
        raise OutOfReachError(
            f"{what} are not to be had here: these are {attention.measure} without a pass of a "
            "model behind them. Ask the attention that a Lens made of a text."
        )
    return source


def queries(attention: Attention, layer: int, head: int | None = None) -> Floats:
    """Queries as they meet the keys: see `Attention.queries`."""
    call, source = _call(attention, layer)
    return _of_heads(call.query[source.text][:, source.own[0]], call, head)


def keys(attention: Attention, layer: int, head: int | None = None) -> Floats:
    """Keys as they meet the queries: see `Attention.keys`."""
    call, source = _call(attention, layer)
    return _of_heads(call.key[source.text][:, source.own[1]], call, head)


def scores(attention: Attention, layer: int, head: int | None = None) -> Floats:
    """Scores before the softmax: see `Attention.scores_before_softmax`."""
    call, source = _call(attention, layer)
    total = _crop(scores_before_softmax(call, source.text).total, source.own)
    return total if head is None else total[checked_index(head, len(total), "head")]


def score_parts(
    attention: Attention,
    layer: int,
    head: int,
    *,
    row: int | None = None,
    column: int | None = None,
) -> ScoreParts:
    """What the scores of a head are made of: see `Attention.score_parts`.

    Args:
        row, column: only the scores of this query, or of this key; others are not worked out.
    """
    call, source = _call(attention, layer)
    head = checked_index(head, call.query.shape[1], "head")
    rows, columns = source.own
    if row is not None:
        call, rows = part(call, [_own(row, rows, call.query.shape[-2])]), slice(None)
    if column is not None:
        key = _own(column, columns, call.key.shape[-2])
        call, columns = part(call, None, [key]), slice(None)
    made = scores_before_softmax(call, source.text)

    def of_head(given: Tensor | None) -> Floats | None:
        if given is None:
            return None
        own: Floats = _crop(given.expand(made.total.shape), (rows, columns))[head]
        return own

    return ScoreParts(
        _crop(made.total, (rows, columns))[head],
        _crop(made.dot, (rows, columns))[head],
        made.scale,
        of_head(made.cap),
        of_head(made.position_bias),
        of_head(made.mask),
        of_head(made.other),
        None if made.sink is None else made.sink.numpy()[head][rows],
    )


def _own(index: int, own: Own, n: int) -> int:
    """The place in the batch of one of the text's own tokens."""
    if isinstance(own, slice):
        return checked_index(index, n, "token")
    return own[checked_index(index, len(own), "token")]


def _call(attention: Attention, layer: int) -> tuple[Call, CapturedWeights]:
    source = captured(at_token_level(attention, "Queries and keys"), "Queries and keys")
    return source.call(checked_index(layer, attention.n_layers, "layer")), source


def _of_heads(states: Tensor, call: Call, head: int | None) -> Floats:
    """Queries or keys [key_heads, tokens, dim], of a head or of all; grouped keys repeat."""
    n_heads = call.query.shape[1]
    group = n_heads // states.shape[0]
    if head is not None:
        states = states[checked_index(head, n_heads, "head") // group]
    made: Floats = states.float().cpu().numpy()
    return made.copy() if head is not None else made.repeat(group, axis=0)


def _crop(scores: Tensor, own: tuple[Own, Own]) -> Floats:
    rows, columns = own
    return np.asarray(scores.numpy()[:, rows][:, :, columns])
