"""How much memory captured queries, keys and weights may take; public as `bertlens.memory`.

Captures are dropped in the order in which they were last used. What was dropped is captured again
when it is needed, if the model has not changed since; else `ModelChangedError`. Captures made with
`keep=True` are never dropped and do not count against the limit.

>>> import bertlens as bl
>>> bl.memory.set_limit(512 * 2**20)  # bytes
>>> bl.memory.used() <= 512 * 2**20
True
>>> bl.memory.set_limit(bl.memory.DEFAULT_LIMIT)
"""

from __future__ import annotations

import operator
import threading
import weakref
from collections import OrderedDict, deque
from typing import NamedTuple, Protocol

DEFAULT_LIMIT = 2**30
"""Bytes that captured tensors may take unless `set_limit` says else, on all devices together."""


class Holder(Protocol):
    """What holds captured tensors."""

    kept: bool

    def drop(self) -> None:
        """Let go of the tensors; takes no lock, as it is called from any thread."""
        ...


class _Entry(NamedTuple):
    holder: weakref.ref[Holder]
    n_bytes: int
    bounded: bool


_limit = DEFAULT_LIMIT
_held: OrderedDict[int, _Entry] = OrderedDict()
_bounded = 0
_gone: deque[int] = deque()
"""Keys of holders that the garbage collector took, which may happen at any line below."""

_guard = threading.RLock()


def set_limit(n_bytes: int) -> None:
    """Bound the bytes of captured tensors, and drop the captures beyond it at once.

    The capture that was used last stays, however large it is: it is in use.

    Raises:
        TypeError, ValueError: not a number of bytes.
    """
    global _limit
    value = operator.index(n_bytes)
    if value < 0:
        raise ValueError(f"The limit is a number of bytes, at least 0, not {value}.")
    with _guard:
        _limit = value
        _drop_oldest()


def limit() -> int:
    """The bytes that captured tensors may take."""
    return _limit


def used() -> int:
    """The bytes that captured tensors take now, those made with `keep=True` included."""
    with _guard:
        _forget_gone()
        return sum(entry.n_bytes for entry in _held.values())


def note_use(holder: Holder, n_bytes: int) -> None:
    """Note that a capture of so many bytes was used, and drop the oldest beyond the limit."""
    global _bounded
    key = id(holder)
    with _guard:
        _forget(key)
        entry = _Entry(weakref.ref(holder, lambda _: _gone.append(key)), n_bytes, not holder.kept)
        _held[key] = entry
        _bounded += n_bytes * entry.bounded
        _drop_oldest()


def note_drop(holder: Holder) -> None:
    """Note that a capture holds no tensors any more."""
    with _guard:
        _forget(id(holder))


def _forget(key: int) -> None:
    global _bounded
    _forget_gone()
    entry = _held.pop(key, None)
    if entry is not None:
        _bounded -= entry.n_bytes * entry.bounded


def _forget_gone() -> None:
    global _bounded
    while _gone:
        entry = _held.pop(_gone.popleft(), None)
        if entry is not None:
            _bounded -= entry.n_bytes * entry.bounded


def _drop_oldest() -> None:
    _forget_gone()
    if _bounded <= _limit:
        return
    for key, entry in list(_held.items())[:-1]:
        if _bounded <= _limit:
            return
        holder = entry.holder()
        if entry.bounded and holder is not None:
            holder.drop()
            _forget(key)
