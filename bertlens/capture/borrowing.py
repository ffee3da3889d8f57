"""Borrow a person's model for a forward pass and give it back as it was."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

_locks: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
_locks_guard = threading.Lock()


def model_lock(model: nn.Module) -> threading.RLock:
    """The one lock of a model: every forward pass that changes its settings holds it."""
    with _locks_guard:
        return _locks.setdefault(model, threading.RLock())


def attention_configs(model: nn.Module) -> list[Any]:
    """Every config object in the model that names an attention implementation, once each."""
    found: dict[int, Any] = {}
    for module in model.modules():
        config = getattr(module, "config", None)
        if config is not None and hasattr(config, "_attn_implementation_internal"):
            found.setdefault(id(config), config)
    return list(found.values())


@contextmanager
def borrowed(model: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Hold the model in eval mode, without gradients unless asked; restore it whatever happens.

    Every module's own training flag and every config's attention implementation come back, also
    after an exception or a KeyboardInterrupt.
    """
    with model_lock(model):
        modes = [(module, module.training) for module in model.modules()]
        configs = attention_configs(model)
        implementations = [(c, c._attn_implementation_internal) for c in configs]
        try:
            # Not model.eval(): a person's module may override it, and may mix modes on purpose.
            for module, _ in modes:
                module.training = False
            with torch.set_grad_enabled(gradients):
                yield
        finally:
            for module, training in modes:
                module.training = training
            for config, implementation in implementations:
                config._attn_implementation_internal = implementation
