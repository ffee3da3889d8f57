"""Attention mixed over heads and layers: means, and rollout (Abnar & Zuidema 2020)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.derived import at_token_level, check_weights, dense, derived

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention

Over = Literal["heads", "layers", "all"]

ROLLOUT_CAVEAT = (
    "Attention rollout (Abnar & Zuidema 2020): the weights of all layers so far multiplied, heads "
    "averaged, half of each step left to the residual stream. Every head counts the same and "
    "values and feed-forward layers are left out: it says where a token's information can have "
    "come from, not what decided the model's output."
)
MEAN_CAVEAT = (
    "A mean of attention maps (Vaswani 2017 has eight heads so that they can differ): heads that "
    "do opposite things blur into one map that no head shows."
)


def residual(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """A = 1/2 mean over heads of W + 1/2 I (Abnar & Zuidema 2020, section 3).

    Rows are brought to sum to one before, which matters only where a family's sink takes a share.

    Args:
        weights: W, [head, n, n].

    Returns:
        float64 [n, n]; rows sum to one.
    """
    mean: NDArray[np.float64] = weights.mean(0, dtype=np.float64)
    mean /= mean.sum(-1, keepdims=True)
    return 0.5 * mean + 0.5 * np.eye(len(mean))


def rollout(layers: Iterable[NDArray[np.float32]]) -> NDArray[np.float64]:
    """R_l = A_l R_(l-1), with R_0 = A_0 (Abnar & Zuidema 2020, section 3.1).

    Args:
        layers: weights [head, n, n] of each layer, the first one first.

    Returns:
        float64 [layer, n, n]: from a token at the layer's output to a token of the input; rows sum
        to one.
    """
    rolled: list[NDArray[np.float64]] = []
    for layer in layers:
        step = residual(layer)
        rolled.append(step @ rolled[-1] if rolled else step)
    return np.stack(rolled)


def mean(layers: Iterable[NDArray[np.float32]], over: Over) -> NDArray[np.float64]:
    """Mean over heads, over layers, or over both; the axis stays, with length one.

    Args:
        layers: weights [head, from, to] of each layer.

    Returns:
        float64 [layer, 1, from, to], [1, head, from, to] or [1, 1, from, to].

    Raises:
        ValueError: `over` is none of "heads", "layers" and "all".
    """
    if over not in ("heads", "layers", "all"):
        raise ValueError(f'over must be "heads", "layers" or "all", not {over!r}.')
    if over == "layers":
        total, count = np.zeros(()), 0
        for layer in layers:
            total, count = total + layer, count + 1
        return np.asarray(total / count)[None]
    heads = np.stack([layer.mean(0, dtype=np.float64, keepdims=True) for layer in layers])
    return heads if over == "heads" else heads.mean(0, keepdims=True)


def layers_of(attention: Attention) -> Iterator[NDArray[np.float32]]:
    """Weights [head, from, to], a layer at a time: all at once can be large."""
    return (attention.weights(layer) for layer in range(attention.n_layers))


def attention_rollout(attention: Attention) -> Attention:
    """Rollout of a text's attention, [layer, 1, n, n]: see `Attention.rollout`."""
    if attention.level == "word":
        return attention_rollout(at_token_level(attention, "Rollouts")).to_words()
    check_weights(attention, "Rollout")
    maps = rollout(layers_of(attention))[:, None]
    return derived(attention, dense(maps), "rollout", ROLLOUT_CAVEAT, attention_rollout)


def mean_of(attention: Attention, over: Over) -> Attention:
    """Means of a text's attention: see `Attention.mean`."""
    maps = mean(layers_of(attention), over)
    before = attention.derive

    def again(other: Attention) -> Attention:
        return mean_of(other if before is None else before(other), over)

    measure = "mean" if attention.measure == "weights" else attention.measure
    return derived(attention, dense(maps), measure, MEAN_CAVEAT, again)
