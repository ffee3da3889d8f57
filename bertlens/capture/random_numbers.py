"""Torch's random numbers: left alone by models that draw none, else the same for every pass."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_keeping = threading.local()
_lock = threading.RLock()


def _renew() -> None:
    """In a forked child no other thread holds the generator."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


class Draws(TorchDispatchMode):
    """Notes whether an operation of this thread draws random numbers.

    Attributes:
        seen: whether one did.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = False

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        # Attention may drop out weights, and does not in eval mode.
        if "scaled_dot_product" not in str(function):
            self.seen |= torch.Tag.nondeterministic_seeded in function.tags
        return function(*args, **(kwargs or {}))


RandomState = tuple[Tensor, list[Tensor]]


def random_state() -> RandomState:
    """Where torch's generators are."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if _cuda_started() else []


def set_random_state(state: RandomState) -> None:
    """Put torch's generators back."""
    torch.set_rng_state(state[0])
    if state[1]:
        torch.cuda.set_rng_state_all(state[1])


@contextmanager
def random_state_kept(draws: bool = True) -> Iterator[None]:
    """Random numbers drawn inside are the same each time and leave the caller's as they were.

    Torch has one generator for all threads: what another thread draws meanwhile repeats later. So
    it is not touched for models whose pass draws nothing, which are nearly all.

    Args:
        draws: whether the model draws any.
    """
    if not draws:
        yield
        return
    with _lock:
        before = random_state()
        outer = getattr(_keeping, "active", False)
        _keeping.active = True
        seed()
        try:
            yield
        finally:
            _keeping.active = outer
            set_random_state(before)


def seed() -> None:
    """Begin random numbers anew, inside `random_state_kept`; elsewhere they are left alone."""
    if not getattr(_keeping, "active", False):
        return
    # torch.manual_seed would also note a seed for a CUDA that starts later.
    torch.default_generator.manual_seed(0)
    if _cuda_started():
        torch.cuda.manual_seed_all(0)


def _cuda_started() -> bool:
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return started
