"""Value norms as the page draws them: as shares, where the model's own units have no bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bertlens.attention.attention import Attention
from bertlens.attention.derived import derived
from bertlens.attention.sources import DerivedWeights, Weights

SCALE = (
    "Value norms are drawn as shares of the head's largest sum of a row; Python gives them in the "
    "units of the hidden states: att.weights(layer, head, norm='value')."
)


class Shares(DerivedWeights):
    """Norms divided by the head's largest sum of a row, so that they lie in 0 to 1 as weights do.

    Rows of a head stay comparable; heads do not, as one that writes little would hardly be seen.
    """

    def layer(self, layer: int) -> Weights:
        norms = self._source.layer(layer)
        largest = norms.sum(-1).max(-1)[:, None, None]
        shares: Weights = norms / np.maximum(largest, np.float32(1e-30))
        return shares


def drawn(attention: Attention, norm: str | None) -> Attention:
    """What the page draws of an attention: itself, or its value norms as shares.

    Raises:
        OutOfReachError: value norms are asked for and there are none.
    """
    if norm == "value" and attention.measure == "weights":
        return _shares(attention.normed)
    return _shares(attention) if attention.measure == "value norms" else attention


def _shares(norms: Attention) -> Attention:
    again: Callable[[Attention], Attention] = norms.derive or (lambda other: other)
    return derived(norms, Shares(norms.source), norms.measure, SCALE, again)
