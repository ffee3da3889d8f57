"""Attention for the page: maps as bytes, thumbnails, and exact rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.attention import Attention
from bertlens.attention.sources import Weights
from bertlens.widgets.requests.protocol import (
    LIMIT,
    Reply,
    Request,
    RequestError,
    handles,
    weights_of,
)

THUMBNAIL = 48
"""Most rows and columns of a thumbnail."""


def coded(weights: Weights) -> NDArray[np.uint8]:
    """Weights as round(255 * sqrt(weight)), which keeps small weights apart; any shape."""
    code = np.sqrt(weights)
    if np.isnan(code.sum()):
        # Heads that a layer lacks, or numbers that overflowed: nothing to draw.
        np.nan_to_num(code, copy=False, nan=0)
    code *= 255
    code += 0.5
    return code.astype(np.uint8)


def thumbnails(weights: Weights, side: int = THUMBNAIL) -> Weights:
    """Maps made small by the largest weight of each block, else thin diagonals would vanish.

    Args:
        weights: [..., from, to].
        side: most rows and columns of the result; smaller maps stay as they are.

    Returns:
        [..., rows, columns].
    """
    rows = _blocks(weights.shape[-2], side)
    columns = _blocks(weights.shape[-1], side)
    # Row blocks first: the maximum of whole rows is fast, and leaves little for the columns.
    small = np.stack([weights[..., a:b, :].max(-2) for a, b in pairwise(rows)], axis=-2)
    return np.maximum.reduceat(small, columns[:-1], axis=-1)


def renormalised(weights: Weights, special: NDArray[np.bool_]) -> Weights:
    """Weights without those to special tokens, each row divided by what is left.

    A row of which nothing is left is 0.

    Args:
        weights: [..., from, to].
        special: bool [to].
    """
    left = np.where(special, np.float32(0), weights)
    total = left.sum(-1, keepdims=True)
    return np.divide(left, np.where(total > 0, total, np.float32(1)))


@handles("block")
def block(request: Request) -> Reply:
    """{layer, heads, level} -> uint8 [heads, from, to]."""
    attention = _at_level(request)
    layer, heads = _layer_and_heads(request, attention)
    area = len(attention.tokens) * len(attention.to_tokens)
    if len(heads) > 1 and len(heads) * area > LIMIT:
        raise RequestError(
            f"{len(heads)} maps of {area} bytes are more than the {LIMIT} bytes of a reply: "
            f"ask for at most {max(1, LIMIT // area)} heads at once."
        )
    with weights_of(attention):
        weights = attention.weights(layer)
    return Reply(coded(_only(weights, heads)))


@handles("grid")
def grid(request: Request) -> Reply:
    """{layers, level} -> uint8 [layers, heads, rows, columns], at most 48 x 48 a head."""
    attention = _at_level(request)
    layers = request.indices("layers", attention.n_layers)
    size = min(THUMBNAIL, len(attention.tokens)) * min(THUMBNAIL, len(attention.to_tokens))
    most = max(1, LIMIT // (attention.n_heads * size))
    if not 0 < len(layers) <= most:
        raise RequestError(f"Ask for thumbnails of 1 to {most} layers at once, not {len(layers)}.")
    with weights_of(attention):
        small = [thumbnails(attention.weights(layer)) for layer in layers]
    return Reply(coded(np.stack(small)))


@handles("row")
def row(request: Request) -> Reply:
    """{layer, heads, index, side, level, special} -> float32 [heads, n], exact.

    `index` counts tokens or words. Side "from" gives its row, "to" its column; without an index,
    the mean over rows: the attention that each item receives.
    """
    attention = _at_level(request)
    layer, heads = _layer_and_heads(request, attention)
    side = request.choice("side", "from", "to")
    special = request.choice("special", "show", "hide", "renormalise")
    with weights_of(attention):
        weights = _only(attention.weights(layer), heads)
    if request.has("index"):
        n = len(attention.tokens if side == "from" else attention.to_tokens)
        index = request.index("index", n)
        if side == "from":
            weights = weights[:, index : index + 1, :]
    if special == "renormalise":
        weights = renormalised(weights, specials(attention))
    if not request.has("index"):
        return Reply(weights.mean(-2))
    return Reply(weights[:, 0, :] if side == "from" else weights[:, :, index])


def specials(attention: Attention) -> NDArray[np.bool_]:
    """Which columns are special tokens, bool [to]."""
    return np.array([token.special for token in attention.to_tokens])


def _at_level(request: Request) -> Attention:
    level = request.choice("level", "token", "word")
    return request.attention.to_words() if level == "word" else request.attention


def _layer_and_heads(request: Request, attention: Attention) -> tuple[int, list[int]]:
    layer = request.index("layer", attention.n_layers)
    heads = request.indices("heads", attention.n_heads)
    if not heads:
        raise RequestError("'heads' is empty: ask for at least one head.")
    return layer, heads


def _only(weights: Weights, heads: list[int]) -> Weights:
    """The maps of some heads, without a copy where they are neighbours."""
    if heads == list(range(heads[0], heads[0] + len(heads))):
        return weights[heads[0] : heads[0] + len(heads)]
    return weights[heads]


def _blocks(n: int, most: int) -> NDArray[Any]:
    """Bounds of at most `most` even blocks of n items."""
    blocks = min(n, most)
    return (np.arange(blocks + 1) * n + blocks - 1) // blocks
