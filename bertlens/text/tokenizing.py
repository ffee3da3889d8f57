"""Calls of a tokenizer: one at a time, and its own settings come back."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_locks: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def _renew() -> None:
    """In a forked child no thread holds a lock any more."""
    global _guard
    _guard = threading.Lock()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def gives_offsets(tokenizer: Any) -> bool:
    """Whether a tokenizer says which characters each token is of."""
    # mistral-common's backend has no `is_fast`.
    return bool(getattr(tokenizer, "is_fast", False))


@contextmanager
def tokenizing(tokenizer: Any) -> Iterator[None]:
    """Hold the tokenizer for a call.

    Truncation and padding are state of a fast tokenizer, which every call sets anew: two threads
    would cut each other's texts, and the caller's own `enable_truncation` would be lost.
    """
    with _guard:
        lock = _locks.setdefault(tokenizer, threading.RLock())
    backend = getattr(tokenizer, "backend_tokenizer", None)
    with lock:
        truncation = getattr(backend, "truncation", None)
        padding = getattr(backend, "padding", None)
        try:
            yield
        finally:
            if backend is not None:
                _restore(backend, truncation, padding)


def _restore(backend: Any, truncation: dict[str, Any] | None, padding: Any) -> None:
    if getattr(backend, "truncation", None) != truncation:
        if truncation is None:
            backend.no_truncation()
        else:
            backend.enable_truncation(**truncation)
    if getattr(backend, "padding", None) != padding:
        if padding is None:
            backend.no_padding()
        else:
            backend.enable_padding(**padding)
