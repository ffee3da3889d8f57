"""One token's query against every key, and one pair of tokens in every head, for the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bertlens.attention.attention import Attention
from bertlens.attention.captured import CapturedWeights
from bertlens.attention.derived import at_token_level
from bertlens.attention.query_key import ScoreParts, score_parts
from bertlens.widgets.requests.protocol import Reply, Request, handles, model_of, weights_of
from bertlens.widgets.requests.scores import payload

PARTS = ("cap", "position_bias", "mask", "other")
"""The parts of a score that not every model has."""


@handles("inside")
def inside(request: Request) -> Reply:
    """{layer, head, index, side} -> float32 [n, dim + 3 + parts], a row a token of the other side.

    Columns are the token's key (its query, for side "to"), the dot product, the score before the
    softmax, the weight, and the parts named in `parts`. `own` is the vector of the token asked
    about, `scale` what dot products are multiplied with, `sink` the score of the row's sink or
    null.
    """
    attention = at_token_level(request.selection.attention, "Queries and keys")
    layer = request.index("layer", attention.n_layers)
    head = request.index("head", attention.n_heads)
    side = request.choice("side", "from", "to")
    here = side == "from"
    index = request.index("index", len(attention.tokens if here else attention.to_tokens))
    with _opened(attention):
        parts = score_parts(attention, layer, head, **{"row" if here else "column": index})
        queries, keys = attention.queries(layer, head), attention.keys(layer, head)
        if here:
            weights = attention.rows(layer, [index])[head, 0]
        else:
            weights = attention.weights(layer, head)[:, index]
    own, others = (queries[index], keys) if here else (keys[index], queries)
    named = [name for name in PARTS if getattr(parts, name) is not None]
    columns = [parts.dot, parts.total, weights, *(getattr(parts, name) for name in named)]
    made = np.column_stack([others, *(column.ravel() for column in columns)])
    return Reply(
        made.astype(np.float32),
        {
            "own": own.tolist(),
            "scale": parts.scale,
            "parts": named,
            "sink": _sink(parts, here),
        },
    )


@handles("between")
def between(request: Request) -> Reply:
    """{from, to, level, keep} -> {score}: each head's weight from one item to another.

    With `keep` the score joins those that can colour the grid, until the text changes.
    """
    attention = request.selection.attention
    if request.choice("level", "token", "word") == "word":
        attention = attention.to_words()
    row = request.index("from", len(attention.tokens))
    column = request.index("to", len(attention.to_tokens))
    with weights_of(attention):
        score = attention.find_heads(row, column)
    if request.has("keep"):
        request.selection.choices.keep(score)
    return Reply(content={"score": payload(score.name, score) | {"pair": True}})


def _sink(parts: ScoreParts, here: bool) -> float | None:
    return float(parts.sink[0]) if here and parts.sink is not None else None


@contextmanager
def _opened(attention: Attention) -> Iterator[None]:
    """Queries and keys are at hand inside, or the model is held to get them; else BusyError."""
    source = attention.source
    if isinstance(source, CapturedWeights) and source.opened:
        yield
        return
    with model_of(attention):
        yield
