"""Norms of weighted, transformed values: how much of a token a head writes (Kobayashi 2020).

Kobayashi et al. 2020, "Attention is Not Only a Weight", equation 6: a head's output for token i is
the sum over j of A_ij f(x_j) with f(x) = (x W_V + b_V) W_O, where W_O is the head's slice of the
output projection; ||A_ij f(x_j)|| says how long each summand is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.derived import at_token_level, derived
from bertlens.attention.maps import checked_index
from bertlens.attention.query_key import captured
from bertlens.attention.sources import DerivedWeights, WeightSource
from bertlens.capture import Projected

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention

Floats = NDArray[np.float32]

CAVEAT = (
    "Value norms (Kobayashi 2020): the length of the vector that each token adds to a head's "
    "output. Vectors of one row can point apart and cancel, and what later layers make of the sum "
    "is not in it: a long vector is no proof of an effect on the model's decision."
)


def value_norms(weights: Floats, values: Floats) -> Floats:
    """||A_ij f(x_j)|| for every head.

    A weight is not negative, so the norm of the weighted vector is the weight times its norm.

    Args:
        weights: A, [head, from, to].
        values: f(x), [head, to, hidden].

    Returns:
        float32 [head, from, to], in the units of the hidden states.
    """
    return np.asarray(weights * np.linalg.norm(values, axis=-1)[:, None, :])


def block_output(weights: Floats, values: Floats, bias: Floats) -> Floats:
    """What the attention block writes: the sum over heads and tokens of A_ij f(x_j), and b_O.

    Args:
        weights: A, [head, from, to].
        values: f(x), [head, to, hidden].
        bias: b_O, [hidden]; no head's share.

    Returns:
        float32 [from, hidden].
    """
    return np.asarray(np.einsum("hij,hjd->id", weights, values) + bias)


class Norms(DerivedWeights):
    """A source of value norms: weights times the norms of the values that they weigh.

    Args:
        source: of the weights.
        lengths: ||f(x_j)|| of each layer, [head, to].
    """

    def __init__(self, source: WeightSource, lengths: Sequence[Floats]) -> None:
        super().__init__(source)
        self._lengths = lengths

    def layer(self, layer: int) -> Floats:
        norms = self._times(layer, self._source.layer(layer))
        norms.setflags(write=False)
        return norms

    def rows(self, layer: int, rows: Sequence[int]) -> Floats:
        return self._times(layer, self._source.rows(layer, rows))

    def _times(self, layer: int, weights: Floats) -> Floats:
        lengths = self._lengths[layer]
        missing = len(weights) - len(lengths)
        return weights * np.pad(lengths, ((0, missing), (0, 0)))[:, None, :]


def value_norms_of(attention: Attention) -> Attention:
    """Value norms of a text's attention: see `Attention.value_norms`."""
    if attention.level == "word":
        return value_norms_of(at_token_level(attention, "Value norms")).to_words()
    source = captured(attention, "Value norms")
    norms = Norms(source, source.value_lengths())
    return derived(attention, norms, "value norms", CAVEAT, value_norms_of)


def transformed_values(attention: Attention, layer: int) -> tuple[Floats, Floats, Floats]:
    """f(x) [head, to, hidden], b_O [hidden], and the block's output [from, hidden] of a layer.

    The model runs once more; the output is what its projection gave in that pass.

    Raises:
        IndexError, TypeError: no such layer.
        OutOfReachError: the family keeps values, or what is made of them, out of reach.
        ModelChangedError: the model has changed since the text was run through it.
    """
    source = captured(at_token_level(attention, "Values"), "Values")
    layer = checked_index(layer, attention.n_layers, "layer")
    rows, columns = source.own
    found: list[tuple[Floats, Floats, Floats]] = []

    def keep(_: int, projected: Projected) -> None:
        values, output = projected.values.numpy(), projected.output.numpy()
        found.append((values[:, columns], projected.bias.numpy(), output[rows]))

    source.project(keep, layers=[layer])
    return found[0]
