"""A registered attention function that hands what it sees to whoever is capturing.

transformers looks an attention function up by name in its `AttentionInterface` and a mask function
in its `AttentionMaskInterface`. bertlens registers one pair for each implementation that a model
may have been loaded with. On the thread that captures, the pair gives eager's mask and calls the
capturing function; on every other thread it is the implementation that was there before.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from bertlens.capture.state import attention_configs

Attend = Callable[..., tuple[Tensor, Tensor | None]]

_EAGER = "eager_attention_forward"


@dataclass
class Call:
    """One call of an attention function, with everything that decides its weights.

    Attributes:
        module: the attention module that called.
        query: [batch, heads, from, head_dim].
        key: [batch, key_heads, to, head_dim].
        value: [batch, key_heads, to, value_dim].
        mask: eager's additive mask, broadcastable to [batch, heads, from, to], or None.
        options: the other keyword arguments (scaling, position_bias, softcap, ...).
    """

    module: nn.Module
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    options: dict[str, Any] = field(default_factory=dict)

    edited: ClassVar[bool] = False
    """Whether its heads do something else than the model's own."""

    def eager(self, value: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The family's own eager function: output and weights [batch, heads, from, to]."""
        # Dropout belongs to training and would make rows that do not sum to one.
        options = {**self.options, "dropout": 0.0}
        output, weights = eager_function(self.module)(
            self.module,
            self.query,
            self.key,
            self.value if value is None else value,
            self.mask,
            **options,
        )
        assert weights is not None
        return output, weights

    def sdpa(self) -> Tensor:
        """The output by torch's scaled dot-product attention; raises where that refuses."""
        options = {**self.options, "dropout": 0.0, "is_causal": False}
        output: Tensor
        output, _ = ALL_ATTENTION_FUNCTIONS["sdpa"](
            self.module, self.query, self.key, self.value, self.mask, **options
        )
        return output


def part(call: Call, rows: Sequence[int] | None, columns: Sequence[int] | None = None) -> Call:
    """The same call for some queries and keys only; None takes all.

    Scores of what is left are those of the whole; weights are only while all keys are left. The
    values, which no weight depends on, are left out.
    """
    n_from, n_to = call.query.shape[-2], call.key.shape[-2]

    def cut(option: Any) -> Any:
        # Masks and position biases are [batch or 1, heads or 1, from or 1, to].
        if not isinstance(option, Tensor) or option.dim() != 4 or option.shape[-1] != n_to:
            return option
        if rows is not None and option.shape[-2] == n_from:
            option = option[:, :, list(rows)]
        return option if columns is None else option[..., list(columns)]

    return replace(
        call,
        query=call.query if rows is None else call.query[:, :, list(rows)],
        key=call.key if columns is None else call.key[:, :, list(columns)],
        value=call.value[:0],
        mask=cut(call.mask),
        options={name: cut(value) for name, value in call.options.items()},
    )


Sink = Callable[[Call], Tensor]
"""Takes a call, returns the attention output."""

_active = threading.local()
_names: dict[str | None, str] = {}
_names_guard = threading.Lock()


def eager_function(module: nn.Module) -> Attend:
    """The eager attention function that the module's forward names, or the one of its class's file.

    Raises:
        LookupError: there is none.
    """
    # A forward may be inherited, with its file's function, and a file may have two of them.
    forward = inspect.unwrap(type(module).forward)
    named = getattr(getattr(forward, "__code__", None), "co_names", ())
    names = [name for name in named if name.endswith(_EAGER)]
    files = [sys.modules.get(cls.__module__) for cls in type(module).__mro__]
    spaces = [getattr(forward, "__globals__", {}), *(vars(f) for f in files if f is not None)]
    for name in (*names, _EAGER):
        for space in spaces:
            if name in space:
                return space[name]  # type: ignore[no-any-return]
    raise LookupError(f"{type(module).__name__} has no eager attention function beside it")


def registered_name(original: str | None) -> str:
    """The name under which `original` can be captured; registers it the first time."""
    with _names_guard:
        if original not in _names:
            # transformers checks names for "sdpa", "flash" and "flex_attention": use a number.
            name = f"bertlens_capture_{len(_names)}"
            AttentionInterface.register(name, _attention_for(original))
            AttentionMaskInterface.register(name, _mask_for(original))
            _names[original] = name
        return _names[original]


def _attention_for(original: str | None) -> Attend:
    def attend(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None = None,
        **options: Any,
    ) -> tuple[Tensor, Tensor | None]:
        sink: Sink | None = getattr(_active, "sink", None)
        if sink is None:
            function = ALL_ATTENTION_FUNCTIONS.get_interface(
                original or "eager", eager_function(module)
            )
            return function(module, query, key, value, attention_mask, **options)  # type: ignore[no-any-return]
        return sink(Call(module, query, key, value, attention_mask, options)), None

    return attend


def _mask_for(original: str | None) -> Callable[..., Any]:
    def mask(*args: Any, **kwargs: Any) -> Any:
        if getattr(_active, "sink", None) is not None or original in (None, "eager"):
            return eager_mask(*args, **kwargs)
        if original in ALL_MASK_ATTENTION_FUNCTIONS:
            return ALL_MASK_ATTENTION_FUNCTIONS[original](*args, **kwargs)
        return None

    return mask


@contextmanager
def tapped(model: nn.Module, sink: Sink) -> Iterator[None]:
    """Send every attention call of this thread to `sink`; inside `preserve_state`, which restores.

    Calls of the same model on other threads go to the implementation that was there.
    """
    for config in attention_configs(model):
        config._attn_implementation_internal = registered_name(config._attn_implementation_internal)
    outer = getattr(_active, "sink", None)
    _active.sink = sink
    try:
        yield
    finally:
        _active.sink = outer


_sdpa_agrees: dict[tuple[Attend, type, frozenset[str]], bool] = {}


def fast_output(call: Call) -> Tensor:
    """The call's output by SDPA where SDPA computes the same as the family's eager function.

    Soft caps, sinks and whatever a new family adds are found by comparing both once for each
    kind of module and set of options.
    """
    if call.edited:
        return call.eager()[0]
    names = frozenset(name for name, value in call.options.items() if value is not None)
    kind = (eager_function(call.module), type(call.module), names)
    if kind not in _sdpa_agrees:
        expected, _ = call.eager()
        try:
            output = call.sdpa()
        except (ValueError, TypeError, RuntimeError):
            _sdpa_agrees[kind] = False
        else:
            tolerance = 2e-5 if expected.dtype == torch.float32 else 2e-2
            scale = expected.abs().max().clamp(min=1e-6)
            _sdpa_agrees[kind] = bool((output - expected).abs().max() <= tolerance * scale)
            if _sdpa_agrees[kind]:
                return output
        return expected
    return call.sdpa() if _sdpa_agrees[kind] else call.eager()[0]
