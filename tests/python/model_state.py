"""All that a capture could leave behind in a model."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn


def state(model: nn.Module) -> dict[str, Any]:
    """Implementation, modes, config, hooks, modules, gradients and attributes of a model."""
    config: Any = getattr(model, "config", None)
    return {
        "implementation": getattr(config, "_attn_implementation", None),
        "modes": {name: module.training for name, module in model.named_modules()},
        "config": copy.deepcopy(config.to_dict()) if hasattr(config, "to_dict") else None,
        "hooks": {
            name: (list(module._forward_hooks), list(module._forward_pre_hooks))
            for name, module in model.named_modules()
        },
        "modules": {name: id(module) for name, module in model.named_modules()},
        "attributes": {name: sorted(vars(module)) for name, module in model.named_modules()},
        "gradients": {
            name: (p.requires_grad, None if p.grad is None else p.grad.clone())
            for name, p in model.named_parameters()
        },
        "grad_enabled": torch.is_grad_enabled(),
    }


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Names of what is not as it was."""
    return [name for name in before if not _same(before[name], after[name])]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return type(one) is type(other) and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
