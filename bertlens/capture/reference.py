"""The attentions that a model itself returns in eager mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from bertlens.capture.forward import use_eager
from bertlens.capture.hooks import attention_fields, kind_of_field, tensors_in, watched
from bertlens.capture.plan import Listed, Place
from bertlens.capture.random_numbers import seed
from bertlens.capture.submodel import call_body


@dataclass
class EagerReference:
    """A pass in eager mode.

    Attributes:
        kinds: kind -> its layers' tensors, as the model lists them.
        lists: kind -> the output and the indices in it where they are listed.
        places: id of a tensor -> the innermost place that returned it inside a tuple.
        kept: tensors, so that their ids stay their own.
        outputs: what the model returned.
    """

    kinds: dict[str, list[Tensor]] = field(default_factory=dict)
    lists: dict[str, Listed] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    kept: list[Tensor] = field(default_factory=list)
    outputs: Any = None

    def read(self, outputs: Any) -> None:
        """Take the lists of attentions out of a model's outputs."""
        self.outputs = outputs
        for name, tensors in attention_fields(outputs).items():
            # Pooling models look at different numbers of tokens: each is a kind of its own.
            sizes = list(dict.fromkeys(tensor.shape[-2:] for tensor in tensors))
            for i, size in enumerate(sizes):
                kind = kind_of_field(name) + (f" {i}" if len(sizes) > 1 else "")
                indices = tuple(n for n, t in enumerate(tensors) if t.shape[-2:] == size)
                self.kinds[kind] = [tensors[n] for n in indices]
                self.lists[kind] = Listed(name, indices)


def eager_reference_of(body: nn.Module, inputs: Mapping[str, Any]) -> EagerReference:
    """Run the model in eager mode, inside `preserve_state`, and read what it lists."""
    eager = EagerReference()

    def see(path: str, output: Any) -> None:
        for steps, tensor in tensors_in(output):
            if steps and tensor.dim() >= 4:
                eager.places.setdefault(id(tensor), Place(path, steps))
                eager.kept.append(tensor)

    use_eager(body)
    seed()
    try:
        with watched(body, see):
            outputs = call_body(body, inputs, output_attentions=True)
    except (TypeError, ValueError, NotImplementedError):
        seed()
        return EagerReference(outputs=call_body(body, inputs))  # a family that has no such option
    eager.read(outputs)
    return eager


def calls_torch_attention(body: nn.Module, inputs: Mapping[str, Any]) -> bool:
    """Whether a pass calls torch's own attention function, whatever module it is in."""
    with _AttentionCalls() as calls:
        call_body(body, inputs)
    return bool(calls.seen)


class _AttentionCalls(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        names = ("scaled_dot_product_attention", "multi_head_attention_forward")
        if getattr(func, "__name__", "") in names:
            self.seen = True
        return func(*args, **(kwargs or {}))


def same(tensor: Tensor, expected: Tensor) -> bool:
    """Whether two tensors hold the same weights, up to the rounding of their dtype."""
    if tensor.shape != expected.shape:
        return False
    tolerance = 1e-6 if tensor.dtype in (torch.float32, torch.float64) else 2e-2
    return torch.allclose(tensor.float(), expected.float(), atol=tolerance, rtol=0, equal_nan=True)


def agree(outputs: Any, expected: Any) -> bool:
    """Whether two passes of a model gave the same, as far as both gave it."""
    theirs = {steps: tensor for steps, tensor in tensors_in(expected) if _is_output(steps, tensor)}
    pairs = [
        (tensor, theirs[steps])
        for steps, tensor in tensors_in(outputs)
        if steps in theirs and theirs[steps].shape == tensor.shape
    ]
    return bool(pairs) and all(_close(mine, own) for mine, own in pairs)


def _is_output(steps: tuple[Any, ...], tensor: Tensor) -> bool:
    return tensor.is_floating_point() and not any("attention" in str(step) for step in steps)


def _close(tensor: Tensor, expected: Tensor) -> bool:
    tolerance = 1e-4 if tensor.dtype in (torch.float32, torch.float64) else 5e-2
    own = expected.float()
    finite = own[own.isfinite()].abs()
    scale = float(finite.max()) if finite.numel() else 1.0
    return torch.allclose(
        tensor.float(), own, atol=tolerance * max(scale, 1e-6), rtol=0, equal_nan=True
    )
