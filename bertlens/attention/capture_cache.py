"""A pass of a model whose tensors live within the bound of `memory`, and the same pass again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from bertlens.attention import memory
from bertlens.attention.sources import Weights
from bertlens.capture import (
    Fingerprint,
    Layer,
    Projected,
    Replay,
    Stored,
    StoredLayer,
    fingerprint,
    model_lock,
)
from bertlens.errors import ModelChangedError, OutOfReachError

Floats = NDArray[np.float32]


class CaptureCache:
    """A pass of a model, whose tensors live within the bound of `memory`.

    Args:
        replay: the pass, which runs at once; again when something is needed that was dropped or
            not stored, if the model has not changed since.
        exact: store eager's weights instead of queries and keys.
        keep: store too what queries, keys and value norms are made from, and never drop anything.
        since: of the model, if the pass repeats one that was made before.

    Raises:
        ModelChangedError: the model has changed since `since`.
    """

    def __init__(
        self,
        replay: Replay,
        *,
        exact: bool = False,
        keep: bool = False,
        since: Fingerprint | None = None,
    ) -> None:
        self.kept = keep
        self._replay = replay
        self._exact = exact
        self._since = since
        self._calls: Stored | None = None
        self._made: tuple[object, Weights] | None = None
        self._lengths: dict[tuple[str, int], list[Floats] | str] = {}
        self._lock = threading.RLock()
        self._stored: Stored | None = None
        with model_lock(replay.model):
            stored = self.stored()
            if keep:
                self._keep_all(stored)

    def made(self, key: object, make: Callable[[], Weights]) -> Weights:
        """The weights `make` returns; the newest are kept, as a view asks head after head."""
        with self._lock:
            made = self._made
            if made is None or made[0] != key:
                weights = make()
                weights.setflags(write=False)
                self._made = made = (key, weights)
        self._note_use()
        return made[1]

    def stored(self) -> Stored:
        """What the pass left, made anew if it was dropped.

        Raises:
            ModelChangedError: it was dropped, and the model has changed since.
        """
        with self._lock:
            stored = self._stored
            if stored is None:
                with self.unchanged():
                    stored = self._replay.store(exact=self._exact)
                self._stored = stored
                self._since = stored.fingerprint
        self._note_use()
        return stored

    @contextmanager
    def unchanged(self) -> Iterator[Replay]:
        """Hold the model as it was when the pass was made; what runs inside sees the same model.

        Raises:
            ModelChangedError: it has changed since.
        """
        with model_lock(self._replay.model):
            if self._since is not None:
                changes = self._since.changes(fingerprint(self._replay.model))
                if changes:
                    raise ModelChangedError(
                        "This needs the model to run again as it was when the lens was called, and "
                        f"since then {' and '.join(changes)} changed. To keep an attention "
                        "whatever becomes of the model, call lens(text, keep=True). "
                        "bl.memory.set_limit(bytes) says how much is kept without it."
                    )
            yield self._replay

    def has_calls(self, kind: str) -> bool:
        """Whether queries and keys are there without running the model again."""
        stored = self._stored
        if stored is not None and all(isinstance(x, StoredLayer) for x in stored.kinds[kind]):
            return True
        return self._calls is not None

    def calls(self, kind: str) -> list[Layer]:
        """Layers with queries and keys; where only weights were stored, the model runs again.

        Raises:
            OutOfReachError: the family keeps queries and keys to itself.
            ModelChangedError: the model would have to run again, and has changed since.
        """
        calls = self._calls
        if calls is not None:
            return calls.kinds[kind]
        layers = self.stored().kinds[kind]
        if all(isinstance(layer, StoredLayer) for layer in layers):
            return layers
        with self._lock, self.unchanged() as replay:
            replay.check(kind)
            self._calls = calls = replay.store(eager=True)
        self._note_use()
        return calls.kinds[kind]

    def value_lengths(self, kind: str, text: int) -> list[Floats]:
        """||f(x_j)|| of each layer's values for a text of the batch, [head, to] each.

        Raises:
            OutOfReachError: the family keeps values to itself.
            ModelChangedError: as `calls`.
        """
        lengths = self._lengths.get((kind, text))
        if isinstance(lengths, str):
            raise OutOfReachError(lengths)
        if lengths is not None:
            return lengths
        lengths = []

        def measure(_: int, projected: Projected) -> None:
            lengths.append(np.linalg.norm(projected.values.numpy(), axis=-1))

        with self.unchanged() as replay:
            replay.project(kind, measure, text=text)
        return lengths

    def _keep_all(self, stored: Stored) -> None:
        """Store what queries, keys and value norms are made from."""
        for kind, layers in stored.kinds.items():
            try:
                self.calls(kind)
                for text in range(layers[0].n_texts):
                    self._lengths[kind, text] = self.value_lengths(kind, text)
            except OutOfReachError as error:
                for text in range(layers[0].n_texts):
                    self._lengths[kind, text] = str(error)

    def close(self) -> None:
        """Drop the tensors, unless they are to be kept."""
        if not self.kept:
            self.drop()
            memory.note_drop(self)

    def drop(self) -> None:
        """Let go of the tensors, without a lock: whoever uses them holds them."""
        self._stored = self._made = self._calls = None

    def _note_use(self) -> None:
        stored, calls, made = self._stored, self._calls, self._made
        n_bytes = sum(part.n_bytes for part in (stored, calls) if part is not None)
        memory.note_use(self, n_bytes + (0 if made is None else made[1].nbytes))

    @property
    def holds_tensors(self) -> bool:
        return self._stored is not None
