"""Borrow a person's model for a forward pass and give it back as it was."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from bertlens.capture.submodel import base_of

_locks: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
_locks_guard = threading.Lock()

CHANGED_BY_A_PASS = (
    "training",
    "attention_type",
    "_compiled_call_impl",
    "forward",
    "_output_capturing_hooks_installed",
)
"""Attributes that a pass may set: among them transformers' note that its hooks are in place."""


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
def preserve_state(model: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Hold the model in eval mode, without gradients unless asked; restore it whatever happens.

    Every module's own training flag, hooks and submodules, and every config's attention
    implementation come back, also after an exception or a KeyboardInterrupt.
    """
    with model_lock(model):
        modules = [_Kept(module) for module in model.modules()]
        configs = attention_configs(model)
        implementations = [(c, c._attn_implementation_internal) for c in configs]
        try:
            for kept in modules:
                kept.quieten()
            with torch.set_grad_enabled(gradients):
                yield
        finally:
            for kept in modules:
                kept.restore()
            for config, implementation in implementations:
                config._attn_implementation_internal = implementation


class _Kept:
    """What a forward pass may change of a module, besides the numbers in its buffers.

    transformers installs hooks of its own the first time attentions are asked for, and BigBird
    exchanges its attention modules when a text is short.
    """

    __slots__ = ("_children", "_hooks", "_names", "_own", "module")

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        own = vars(module)
        self._own = {name: own[name] for name in CHANGED_BY_A_PASS if name in own}
        self._names = tuple(own)
        self._hooks = tuple(module._forward_hooks)
        self._children = tuple(module._modules.items())

    def quieten(self) -> None:
        """Eval mode, and no call that was compiled.

        Not by `eval()`: a person's module may override it, and may mix modes on purpose. What
        torch.compile made of a call knows nothing of hooks and other attention functions.
        """
        own = vars(self.module)
        own["training"] = False
        if own.get("_compiled_call_impl") is not None:
            own["_compiled_call_impl"] = None
        uncompiled = getattr(own.get("forward"), "_torchdynamo_orig_callable", None)
        if uncompiled is not None:
            own["forward"] = uncompiled

    def restore(self) -> None:
        own = vars(self.module)
        for name in CHANGED_BY_A_PASS:
            if name in self._own:
                own[name] = self._own[name]
            else:
                own.pop(name, None)
        if len(own) != len(self._names):  # some models note a thing in passing
            for name in [n for n in own if n not in self._names]:
                del own[name]
        hooks, children = self.module._forward_hooks, self.module._modules
        if len(hooks) != len(self._hooks):
            for number in [n for n in hooks if n not in self._hooks]:
                del hooks[number]
        if tuple(children.items()) != self._children:
            children.clear()
            children.update(self._children)


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Random numbers drawn inside are the same each time and leave the person's as they were."""
    cpu, cuda = torch.get_rng_state(), torch.cuda.get_rng_state_all() if _cuda_started() else []
    seed()
    try:
        yield
    finally:
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)


def seed() -> None:
    """Begin random numbers anew, inside `random_state_kept`."""
    # torch.manual_seed would also note a seed for a CUDA that starts later.
    torch.default_generator.manual_seed(0)
    if _cuda_started():
        torch.cuda.manual_seed_all(0)


def _cuda_started() -> bool:
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return started
