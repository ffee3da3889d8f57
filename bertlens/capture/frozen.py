"""A call of an attention function, independent of what becomes of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from bertlens.capture.attention_function import Call


def frozen(call: Call) -> Call:
    """The same call with copies of what it shares with the model.

    Weights are made from it later, and eager functions read the module's settings and, in families
    with sinks, its parameters. Queries and keys are made anew in each pass and stay as they are.
    """
    module = call.module
    own = [*module._parameters.values(), *module._buffers.values()]
    shared = {_storage(tensor) for tensor in own if tensor is not None}

    def apart(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if isinstance(value, nn.Parameter) or _storage(value) in shared:
            return value.detach().clone()
        return value

    # copy.copy fails on parametrized modules.
    twin = object.__new__(type(module))
    twin.__dict__.update(vars(module))
    twin.__dict__["_parameters"] = {name: apart(own) for name, own in module._parameters.items()}
    twin.__dict__["_buffers"] = {name: apart(own) for name, own in module._buffers.items()}
    return replace(
        call,
        module=twin,
        mask=apart(call.mask),
        options={name: apart(value) for name, value in call.options.items()},
    )


def _storage(tensor: Tensor) -> int:
    """What tensors that share memory have in common; a tensor's own number where it has none."""
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except (RuntimeError, NotImplementedError):  # subclasses without storage of their own
        return id(tensor)
