"""Ctrl-C held back while a model's state is set up and restored.

Python raises KeyboardInterrupt between any two instructions of the main thread, also inside the
code that puts a model's settings back. A protected function holds the signal while it runs; it is
delivered as soon as the model itself runs (`interruptible`), or when the function is done.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from functools import wraps
from types import CodeType, FrameType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_protected: set[CodeType] = set()
_open: set[CodeType] = set()


class Guard:
    """Stands in for the SIGINT handler that was there."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self.handler = handler
        self.pending = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        innermost = frame
        while frame is not None:
            if frame.f_code in _open:
                break
            if frame.f_code in _protected:
                self.pending = True
                return
            frame = frame.f_back
        self.handler(number, innermost)

    def deliver(self) -> None:
        """Call the handler if a signal came meanwhile."""
        if self.pending:
            self.pending = False
            self.handler(signal.SIGINT, None)


def protected(function: Callable[P, T]) -> Callable[P, T]:
    """A function during which Ctrl-C waits, but for what it runs by `interruptible`."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        guard = install()
        try:
            return function(*args, **options)
        finally:
            remove(guard)

    protect(function, call)
    return call


def install() -> Guard | None:
    """Hold Ctrl-C from here on, while protected code runs; None where that is done already, or
    where no Python handler takes it."""
    if threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or isinstance(handler, Guard):
        return None
    guard = Guard(handler)
    signal.signal(signal.SIGINT, guard)
    return guard


def remove(guard: Guard | None) -> None:
    """Put the handler back that `install` found, and deliver what came meanwhile."""
    if guard is None:
        return
    installed: object = signal.getsignal(signal.SIGINT)
    if installed is guard:
        signal.signal(signal.SIGINT, guard.handler)
    guard.deliver()


def interruptible(function: Callable[..., T], *args: Any, **options: Any) -> T:
    """Call a function that Ctrl-C may end, inside a protected one."""
    guard = (
        signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread()
        else None
    )
    if isinstance(guard, Guard):
        guard.deliver()
    return function(*args, **options)


def protect(*functions: Any) -> None:
    """Count these functions as protected where a guard is installed already."""
    _protected.update(f.__code__ for f in functions)


_open.add(interruptible.__code__)
protect(install, remove)
