"""Weights that are made from a capture when asked, with a bound on how many captures live."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

import numpy as np

from bertlens.attention.sources import Weights
from bertlens.capture import Call, Layer, Projected, Replay, Stored, StoredLayer, part
from bertlens.errors import OutOfReachError

Own: TypeAlias = list[int] | slice

KEPT = 8
"""So many of the newest captures keep their tensors; older ones are captured anew when asked."""

_newest: OrderedDict[int, weakref.ref[CaptureCache]] = OrderedDict()
_guard = threading.RLock()


class CaptureCache:
    """A pass of a model, whose tensors live while it is among the newest.

    Args:
        run: runs the model and returns what was stored; called again when weights are wanted after
            the tensors were let go.
        replay: the same pass again, for what was not stored.
    """

    def __init__(self, run: Callable[[], Stored], replay: Replay | None = None) -> None:
        self._run = run
        self._replay = replay
        self._again: CaptureCache | None = None
        self._stored: Stored | None = None
        self._made: tuple[object, Weights] | None = None
        self._lock = threading.RLock()

    def made(self, key: object, make: Callable[[], Weights]) -> Weights:
        """The weights `make` returns; the newest are kept, as a view asks head after head."""
        with self._lock:
            if self._made is None or self._made[0] != key:
                weights = make()
                weights.setflags(write=False)
                self._made = (key, weights)
            return self._made[1]

    def stored(self) -> Stored:
        """What the pass left, made anew if it was let go."""
        with self._lock:
            if self._stored is None:
                self._stored = self._run()
            stored = self._stored
        _touch(self)
        return stored

    @property
    def replay(self) -> Replay:
        """The same pass again.

        Raises:
            OutOfReachError: there is no way back to the model.
        """
        if self._replay is None:
            raise OutOfReachError(
                "This attention has no model behind it, so there are only weights to look at. "
                "Make it by calling a Lens on a text."
            )
        return self._replay

    def has_calls(self, kind: str) -> bool:
        """Whether queries and keys are there without running the model again."""
        with self._lock:
            stored, again = self._stored, self._again
        if stored is not None and all(isinstance(x, StoredLayer) for x in stored.kinds[kind]):
            return True
        return again is not None and again.holds_tensors

    def calls(self, kind: str) -> list[Layer]:
        """Layers with queries and keys; where only weights were stored, the model runs again.

        Raises:
            OutOfReachError: the family keeps queries and keys to itself.
        """
        layers = self.stored().kinds[kind]
        if all(isinstance(layer, StoredLayer) for layer in layers):
            return layers
        self.replay.check(kind)
        with self._lock:
            if self._again is None:
                self._again = CaptureCache(self.replay.store)
            again = self._again
        return again.stored().kinds[kind]

    def close(self) -> None:
        """Let go of the tensors."""
        with self._lock:
            self._stored = self._made = self._again = None
        with _guard:
            _newest.pop(id(self), None)

    @property
    def holds_tensors(self) -> bool:
        return self._stored is not None


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
        """
        found = self._capture.calls(self._kind)[layer]
        assert isinstance(found, StoredLayer)
        return found.call

    def project(
        self, visit: Callable[[int, Projected], None], *, layers: Collection[int] | None = None
    ) -> None:
        """Run the model again and show what each layer's heads write, see `Replay.project`."""
        self._capture.replay.project(self._kind, visit, text=self._text, layers=layers)

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


def _touch(capture: CaptureCache) -> None:
    """Note that `capture` was used, and let the oldest beyond KEPT go."""
    key = id(capture)
    with _guard:
        _newest[key] = weakref.ref(capture, lambda _: _newest.pop(key, None))
        _newest.move_to_end(key)
        oldest = list(_newest.values())[:-KEPT]
    for reference in oldest:
        old = reference()
        if old is not None:
            old.close()
