"""The calls that a module makes in one forward, put together to its layer's one call.

Models that pack several pictures or sounds into one row call the attention function once for each,
all in one forward of a module; models that share a layer call it once in each of many forwards. So
layers are counted by forwards, not by calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.capture.attention_function import Call
from bertlens.capture.layouts import check_dense
from bertlens.errors import NoAttentionError

Layer = Callable[[str, Call], Tensor]
"""Takes a module's path and its layer's call, returns the attention output."""

Doubt = Callable[[str, Call, str], None]
"""Takes a module's path, a call, and why it is not certain to be a layer of its own."""


@dataclass
class _Forward:
    """A forward of a module that is going on.

    Attributes:
        tokens: how many positions it was given, over the whole batch; None if unknown.
        whole: how many calls took all of them.
        parts: the calls that took some of them.
    """

    tokens: int | None
    whole: int = 0
    parts: list[Call] = field(default_factory=list)


class Forwards:
    """Hands every layer's one call to `layer`, as it is made or when the module is done.

    Args:
        paths: id of a module -> its path in the model.
        layer: takes a layer's call.
        doubt: takes calls that may not be a layer's only call; unless it raises, `layer`
            gets those that can be shown at all.
    """

    def __init__(self, paths: Mapping[int, str], layer: Layer, doubt: Doubt) -> None:
        self._paths = paths
        self._layer = layer
        self._doubt = doubt
        self._open: dict[int, _Forward] = {}
        self._outside: set[str] = set()
        self._masks: dict[Any, Tensor] = {}
        self._thread = threading.get_ident()

    def call(self, call: Call) -> Tensor:
        """Take a call of the attention function; returns its output."""
        path = self._paths.get(id(call.module), "")
        forward = self._open.get(id(call.module))
        if forward is None or forward.tokens is None:
            if path in self._outside:
                self._doubt(path, call, "they come from outside of its forward")
            self._outside.add(path)
            return self._layer(path, call)
        if call.query.shape[0] * call.query.shape[-2] < forward.tokens:
            forward.parts.append(call)
            return call.eager()[0]
        forward.whole += 1
        if forward.whole > 1:
            self._doubt(path, call, "several of one layer take all positions")
        return self._layer(path, call)

    @contextmanager
    def watching(self, body: nn.Module, watched: Collection[str] | None = None) -> Iterator[None]:
        """Watch the modules at `watched`, or all; the hooks go away whatever happens."""
        handles = []
        for path, module in body.named_modules():
            if watched is None or path in watched:
                before = module.register_forward_pre_hook(self._begins, with_kwargs=True)
                handles += [before, module.register_forward_hook(self._ends)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _begins(self, module: nn.Module, args: tuple[Any, ...], named: Any = None) -> None:
        if threading.get_ident() != self._thread:
            return  # another thread uses the same model
        first = [*args[:1], (named or {}).get("hidden_states")]
        states = next((x for x in first if isinstance(x, Tensor) and x.dim() > 1), None)
        tokens = None if states is None else states.shape[:-1].numel()
        self._open[id(module)] = _Forward(tokens)

    def _ends(self, module: nn.Module, _: Any, __: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        forward = self._open.pop(id(module), None)
        if forward is None or not forward.parts:
            return
        path, first = self._paths.get(id(module), ""), forward.parts[0]
        why = _why_not_one(forward)
        if why:
            self._doubt(path, first, why)
        if len(forward.parts) == 1:
            self._layer(path, first)
        elif not why:
            self._layer(path, self._joined(forward.parts))

    def _joined(self, parts: Sequence[Call]) -> Call:
        """Consecutive parts of a sequence as one call: each looks at itself only."""
        lengths = tuple(part.query.shape[-2] for part in parts)
        check_dense(sum(lengths))
        query = torch.cat([part.query for part in parts], dim=-2)
        key = torch.cat([part.key for part in parts], dim=-2)
        value = torch.cat([part.value for part in parts], dim=-2)
        masks = [part.mask for part in parts]
        unmasked = all(mask is None for mask in masks)
        as_before = (lengths, query.dtype, query.device)
        if unmasked and as_before in self._masks:
            mask = self._masks[as_before]
        else:
            mask = _block_diagonal(lengths, masks, query)
        if unmasked:
            self._masks[as_before] = mask  # one for all layers
        return replace(parts[0], query=query, key=key, value=value, mask=mask)


def _block_diagonal(lengths: Sequence[int], masks: Sequence[Tensor | None], like: Tensor) -> Tensor:
    """An additive mask [batch or 1, heads or 1, tokens, tokens] that keeps each part to itself."""
    outer = next((mask.shape[:2] for mask in masks if mask is not None), torch.Size((1, 1)))
    n = sum(lengths)
    # What eager's own masks hold: a weight of exactly 0 after the softmax.
    joined = like.new_full((*outer, n, n), torch.finfo(like.dtype).min)
    at = 0
    for length, mask in zip(lengths, masks, strict=True):
        block = slice(at, at + length)
        joined[:, :, block, block] = 0 if mask is None else mask[..., :length]
        at += length
    return joined


def _why_not_one(forward: _Forward) -> str:
    """Why parts are not certain to be one layer's, cut between tokens; empty if they are."""
    parts = forward.parts
    first = parts[0]
    tokens = sum(part.query.shape[-2] for part in parts) * first.query.shape[0]
    if len(parts) == 1 and first.key.shape[0] * first.key.shape[-2] == forward.tokens:
        return ""  # a few queries of its own look at all positions, as pooling heads do
    if forward.whole or tokens != forward.tokens:
        return f"they take {tokens} of {forward.tokens} positions"
    if any(part.query.shape[-2] != part.key.shape[-2] for part in parts):
        return "their queries and keys differ in number"
    if not all(_consecutive([getattr(p, name) for p in parts]) for name in ("query", "key")):
        return "they are not consecutive parts of one sequence"
    if any(_differ(first, part) for part in parts[1:]):
        return "they differ in more than the tokens they take"
    return ""


def _consecutive(parts: Sequence[Tensor]) -> bool:
    """Whether tensors [.., tokens, dim] are views of one tensor, each beginning where one ends."""
    first, at = parts[0], parts[0].storage_offset()
    for part in parts:
        if (
            part.untyped_storage().data_ptr() != first.untyped_storage().data_ptr()
            or part.shape[:-2] != first.shape[:-2]
            or part.stride() != first.stride()
            or part.storage_offset() != at
        ):
            return False
        at += part.shape[-2] * part.stride(-2)
    return True


def _differ(one: Call, other: Call) -> bool:
    """Whether calls differ in options, or in a mask that cannot be put into a block."""
    if one.options.keys() != other.options.keys() or (one.mask is None) != (other.mask is None):
        return True
    for name, value in one.options.items():
        theirs = other.options[name]
        if value is not theirs and (isinstance(value, Tensor) or value != theirs):
            return True
    for call in (one, other):
        if call.mask is not None and (
            call.mask.dim() != 4
            or call.mask.shape[-2] != call.query.shape[-2]
            or call.mask.shape[:2] != one.mask.shape[:2]  # type: ignore[union-attr]
        ):
            return True
    return False


def refused(path: str, call: Call, why: str) -> None:
    """A Doubt for a model whose layers were certain when it was first looked at.

    Raises:
        NoAttentionError: always.
    """
    raise NoAttentionError(
        f"{type(call.module).__name__} ({path}) calls its attention function in a way that cannot "
        f"be put together to one layer: {why}. Give one picture or sound at a time."
    )
