"""How a weight comes about: queries, keys, and scores before the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bertlens.attention import checked_index
from bertlens.capture import Call, Scores, scores_before_softmax
from bertlens.captured import Captured
from bertlens.derived import at_token_level
from bertlens.errors import OutOfReachError

if TYPE_CHECKING:
    from bertlens.attention import Attention

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


def captured(attention: Attention, what: str) -> Captured:
    """The capture behind an attention.

    Raises:
        OutOfReachError: there is none: the weights were given or derived.
    """
    source = attention._source
    if attention.measure != "weights" or not isinstance(source, Captured):
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
    _, source = _call(attention, layer)
    total = _crop(_scores(attention, layer).total, source)
    return total if head is None else total[checked_index(head, len(total), "head")]


def score_parts(attention: Attention, layer: int, head: int) -> ScoreParts:
    """What the scores of a head are made of: see `Attention.score_parts`."""
    call, source = _call(attention, layer)
    made = _scores(attention, layer)
    head = checked_index(head, call.query.shape[1], "head")
    shape = made.total.shape

    def part(given: Tensor | None) -> Floats | None:
        return None if given is None else _crop(given.expand(shape), source)[head]

    return ScoreParts(
        _crop(made.total, source)[head],
        _crop(made.dot, source)[head],
        made.scale,
        part(made.cap),
        part(made.position_bias),
        part(made.mask),
        part(made.other),
        None if made.sink is None else made.sink.numpy()[head][source.own[0]],
    )


def _call(attention: Attention, layer: int) -> tuple[Call, Captured]:
    source = captured(at_token_level(attention, "Queries and keys"), "Queries and keys")
    return source.call(checked_index(layer, attention.n_layers, "layer")), source


def _scores(attention: Attention, layer: int) -> Scores:
    call, source = _call(attention, layer)
    return scores_before_softmax(call, source.text)


def _of_heads(states: Tensor, call: Call, head: int | None) -> Floats:
    """Queries or keys [key_heads, tokens, dim], of a head or of all; grouped keys repeat."""
    n_heads = call.query.shape[1]
    group = n_heads // states.shape[0]
    if head is not None:
        states = states[checked_index(head, n_heads, "head") // group]
    made: Floats = states.float().cpu().numpy()
    return made.copy() if head is not None else made.repeat(group, axis=0)


def _crop(scores: Tensor, source: Captured) -> Floats:
    rows, columns = source.own
    return np.asarray(scores.numpy()[:, rows][:, :, columns])
