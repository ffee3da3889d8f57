"""Weights that are made from a capture when asked, with a bound on how many captures live."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable

from bertlens.attention import Weights
from bertlens.capture import StoredLayer

KEPT = 8
"""So many of the newest captures keep their tensors; older ones are captured anew when asked."""

_newest: OrderedDict[int, weakref.ref[Captured]] = OrderedDict()
_guard = threading.RLock()


class Captured:
    """A source of weights over stored queries and keys.

    Args:
        capture: runs the model on the text and returns its layers; called again when weights are
            wanted after the tensors were let go.
    """

    def __init__(self, capture: Callable[[], list[StoredLayer]]) -> None:
        self._capture = capture
        self._layers: list[StoredLayer] | None = None
        self._made: tuple[int, Weights] | None = None
        self._lock = threading.RLock()
        layers = self._stored()
        self._n_layers = len(layers)
        self._n_heads = max(layer.n_heads for layer in layers)

    @property
    def n_layers(self) -> int:
        return self._n_layers

    @property
    def n_heads(self) -> int:
        return self._n_heads

    def layer(self, layer: int) -> Weights:
        with self._lock:
            if self._made is None or self._made[0] != layer:
                weights = self._stored()[layer].weights()[0].numpy()
                weights.setflags(write=False)
                # One layer is kept: a view asks for several heads of a layer in a row.
                self._made = (layer, weights)
            return self._made[1]

    def close(self) -> None:
        with self._lock:
            self._layers = self._made = None
        with _guard:
            _newest.pop(id(self), None)

    @property
    def holds_tensors(self) -> bool:
        return self._layers is not None

    def _stored(self) -> list[StoredLayer]:
        with self._lock:
            if self._layers is None:
                self._layers = self._capture()
            layers = self._layers
        _touch(self)
        return layers


def _touch(source: Captured) -> None:
    """Note that `source` was used, and let the oldest beyond KEPT go."""
    key = id(source)
    with _guard:
        _newest[key] = weakref.ref(source, lambda _: _newest.pop(key, None))
        _newest.move_to_end(key)
        oldest = list(_newest.values())[:-KEPT]
    for reference in oldest:
        old = reference()
        if old is not None:
            old.close()
