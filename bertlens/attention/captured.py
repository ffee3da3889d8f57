"""Weights that are made from a capture when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import numpy as np

from bertlens.attention.capture_cache import CaptureCache, Floats
from bertlens.attention.sources import Weights
from bertlens.capture import Call, Layer, Projected, StoredLayer, part

Own: TypeAlias = list[int] | slice


class CapturedWeights:
    """A source of weights over one kind of attention of one text of a capture.

    Heads that a layer lacks, where others have more, are NaN.

    Args:
        text: index of the text in its batch.
        rows, columns: which tokens of the padded batch are the text's own; all by default.
    """

    def __init__(
        self,
        capture: CaptureCache,
        kind: str,
        *,
        text: int = 0,
        rows: Sequence[int] | None = None,
        columns: Sequence[int] | None = None,
    ) -> None:
        self._capture = capture
        self._kind = kind
        self._text = text
        self._own = (rows, columns)
        layers = capture.stored().kinds[kind]
        self._n_layers = len(layers)
        self._n_heads = max(layer.n_heads for layer in layers)

    @property
    def n_layers(self) -> int:
        return self._n_layers

    @property
    def n_heads(self) -> int:
        return self._n_heads

    def stored_layer(self, layer: int) -> Layer:
        """What a layer's weights are made from."""
        return self._capture.stored().kinds[self._kind][layer]

    def call(self, layer: int) -> Call:
        """The attention function's call of a layer: queries, keys, mask and options.

        Raises:
            OutOfReachError: the family keeps queries and keys to itself.
            ModelChangedError: the model would have to run again, and has changed since.
        """
        found = self._capture.calls(self._kind)[layer]
        assert isinstance(found, StoredLayer)
        return found.call

    def project(
        self, visit: Callable[[int, Projected], None], *, layers: Collection[int] | None = None
    ) -> None:
        """Run the model again and show what each layer's heads write, see `Replay.project`.

        Raises:
            ModelChangedError: the model has changed since the capture.
        """
        with self._capture.unchanged() as replay:
            replay.project(self._kind, visit, text=self._text, layers=layers)

    def value_lengths(self) -> list[Floats]:
        """||f(x_j)|| of each layer's values, [head, to] each; see `CaptureCache.value_lengths`."""
        columns = self.own[1]
        return [own[:, columns] for own in self._capture.value_lengths(self._kind, self._text)]

    @property
    def text(self) -> int:
        """Index of the text in the batch that was captured."""
        return self._text

    @property
    def own(self) -> tuple[Own, Own]:
        """Which rows and columns of the batch are the text's own."""
        rows, columns = self._own
        return slice(None) if rows is None else list(rows), (
            slice(None) if columns is None else list(columns)
        )

    @property
    def opened(self) -> bool:
        """Whether queries and keys are there without running the model again."""
        return self._capture.has_calls(self._kind)

    def rows(self, layer: int, rows: Sequence[int]) -> Weights:
        """Weights [head, row, to] of some tokens that attend; others are not made."""
        found = self.stored_layer(layer)
        if not isinstance(found, StoredLayer):
            return self.layer(layer)[:, list(rows)]
        own, columns = self.own
        chosen = list(rows) if isinstance(own, slice) else [own[row] for row in rows]
        made = StoredLayer(part(found.call, chosen)).weights()[self._text]
        return self._all_heads(made.numpy()[:, :, columns])

    def layer(self, layer: int) -> Weights:
        key = (self._kind, self._text, layer)
        return self._capture.made(key, lambda: self._weights(layer))

    def _weights(self, layer: int) -> Weights:
        weights: Weights = self.stored_layer(layer).weights()[self._text].numpy()
        rows, columns = self._own
        if rows is not None:
            weights = weights[:, rows]
        if columns is not None:
            weights = weights[:, :, columns]
        return self._all_heads(weights)

    def _all_heads(self, weights: Weights) -> Weights:
        missing = self._n_heads - len(weights)
        if not missing:
            return weights
        absent = np.full((missing, *weights.shape[1:]), np.nan, np.float32)
        return np.concatenate([weights, absent])

    def close(self) -> None:
        self._capture.close()

    @property
    def holds_tensors(self) -> bool:
        return self._capture.holds_tensors
