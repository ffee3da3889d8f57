"""Borrow a person's model for a forward pass and give it back as it was."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from bertlens.capture.submodel import base_of


class Lock:
    """A lock that its thread may take again, and that a forked child opens."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Open the lock, whoever held it."""
        self._lock = threading.RLock()

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_locks: weakref.WeakKeyDictionary[nn.Module, Lock] = weakref.WeakKeyDictionary()
_locks_guard = threading.Lock()

_HOOKS = (
    "_forward_hooks",
    "_forward_pre_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks_with_kwargs",
)

CHANGED_BY_A_PASS = (
    "training",
    "attention_type",
    "_compiled_call_impl",
    "forward",
    "_output_capturing_hooks_installed",
)
"""Attributes that a pass may set: among them transformers' note that its hooks are in place."""


def model_lock(model: nn.Module) -> Lock:
    """The one lock of a model: every forward pass that changes its settings holds it.

    A model with a task head and its body share it, and so do wrappers around them.
    """
    with _locks_guard:
        return _locks.setdefault(base_of(model), Lock())


def attention_configs(model: nn.Module) -> list[Any]:
    """Every config object in the model that names an attention implementation, once each."""
    found: dict[int, Any] = {}
    for module in model.modules():
        config = getattr(module, "config", None)
        if config is not None and hasattr(config, "_attn_implementation_internal"):
            found.setdefault(id(config), config)
    return list(found.values())


@dataclass
class _Borrowed:
    """A model in a pass, and what it is to be restored to.

    Attributes:
        thread: which thread runs it.
    """

    modules: list[_Kept]
    implementations: list[tuple[Any, Any]]
    thread: int

    def restore(self) -> None:
        for kept in self.modules:
            kept.restore()
        for config, implementation in self.implementations:
            config._attn_implementation_internal = implementation


_borrowed: weakref.WeakKeyDictionary[nn.Module, list[_Borrowed]] = weakref.WeakKeyDictionary()
_depths = threading.local()


@contextmanager
def preserve_state(model: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Hold the model in eval mode, without gradients unless asked; restore it whatever happens.

    Every module's own training flag, hooks and submodules, and every config's attention
    implementation come back, also after an exception or a KeyboardInterrupt. What an earlier pass
    left unrestored is put right first. Other threads that run the model meanwhile, such as a
    training step, see it in eval mode.
    """
    with model_lock(model):
        depths: dict[Any, int] = vars(_depths)
        stack = _borrowed.setdefault(model, [])
        depth = depths.get(id(model), 0)
        if stack and not depth:
            stack[0].restore()
            stack.clear()
        configs = attention_configs(model)
        own = _Borrowed(
            [_Kept(module) for module in model.modules()],
            [(c, c._attn_implementation_internal) for c in configs],
            threading.get_ident(),
        )
        stack.append(own)
        depths[id(model)] = depth + 1
        try:
            for kept in own.modules:
                kept.quieten()
            with torch.set_grad_enabled(gradients):
                yield
        finally:
            own.restore()
            if own in stack:
                stack.remove(own)
            if depth:
                depths[id(model)] = depth
            else:
                depths.pop(id(model), None)


def _renew() -> None:
    """In a forked child no other thread lives: its locks are open, and its models restored."""
    global _locks_guard
    _locks_guard = threading.Lock()
    here = threading.get_ident()
    for stack in list(_borrowed.values()):
        others = [own for own in stack if own.thread != here]
        if others and len(others) == len(stack):
            others[0].restore()
            stack.clear()
    held = [base_of(model) for model, stack in _borrowed.items() if stack]
    for model, lock in list(_locks.items()):
        if all(one is not model for one in held):
            lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


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
        self._hooks = [(name, tuple(getattr(module, name))) for name in _HOOKS]
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
        for name, before in self._hooks:
            hooks = getattr(self.module, name)
            if len(hooks) != len(before):
                for number in [n for n in hooks if n not in before]:
                    del hooks[number]
        children = self.module._modules
        if tuple(children.items()) != self._children:
            children.clear()
            children.update(self._children)
