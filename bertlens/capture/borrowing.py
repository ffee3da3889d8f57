"""Borrow a person's model for a forward pass and give it back as it was."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from bertlens.capture.bodies import base_of

_locks: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
_locks_guard = threading.Lock()

_HOOKED = "_output_capturing_hooks_installed"
"""transformers' own note on a model that its hooks are in place."""


def model_lock(model: nn.Module) -> threading.RLock:
    """The one lock of a model: every forward pass that changes its settings holds it.

    A model with a task head and its body share it, and so do wrappers around them.
    """
    with _locks_guard:
        return _locks.setdefault(base_of(model), threading.RLock())


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

    Every module's own training flag, hooks and submodules, and every config's attention
    implementation come back, also after an exception or a KeyboardInterrupt.
    """
    with model_lock(model):
        modules = [_Kept(module) for module in model.modules()]
        configs = attention_configs(model)
        implementations = [(c, c._attn_implementation_internal) for c in configs]
        try:
            # Not model.eval(): a person's module may override it, and may mix modes on purpose.
            for kept in modules:
                kept.module.training = False
                # What torch.compile made of a call knows nothing of hooks and other functions.
                if kept.compiled is not None:
                    kept.module._compiled_call_impl = None
            with torch.set_grad_enabled(gradients):
                yield
        finally:
            for kept in modules:
                kept.restore()
            for config, implementation in implementations:
                config._attn_implementation_internal = implementation


class _Kept:
    """What a forward pass may change of a module.

    transformers installs hooks of its own the first time attentions are asked for, and BigBird
    exchanges its attention modules when a text is short.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._own = {
            name: value
            for name, value in vars(module).items()
            if value is None or isinstance(value, bool | str)
        }
        self.compiled = module._compiled_call_impl
        self._hooks = tuple(module._forward_hooks)
        self._children = dict(module._modules)

    def restore(self) -> None:
        module = self.module
        if _HOOKED not in self._own:
            vars(module).pop(_HOOKED, None)
        vars(module).update(self._own)
        if self.compiled is not None:
            module._compiled_call_impl = self.compiled
        if tuple(module._forward_hooks) != self._hooks:
            for number in [n for n in module._forward_hooks if n not in self._hooks]:
                del module._forward_hooks[number]
        if module._modules != self._children:
            module._modules.clear()
            module._modules.update(self._children)


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Random numbers drawn inside are the same each time and leave the person's as they were."""
    with torch.random.fork_rng(devices=_cuda_devices()):
        torch.manual_seed(0)
        yield


def _cuda_devices() -> list[int]:
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return list(range(torch.cuda.device_count())) if started else []
