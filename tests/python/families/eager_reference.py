"""What a family's own eager attention says, seen without any of bertlens's code.

Two references: the tensors that the model's outputs list, and what the eager attention functions of
the family's file return while the model runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tests.python.families.forward_inputs import forward

EAGER = "eager_attention_forward"


@dataclass(frozen=True)
class EagerReference:
    """Weights of one eager pass of a fresh model.

    Attributes:
        listed: what the outputs list, by the name of the output: [batch, heads, from, to] a layer.
        returned: what the eager attention functions returned, in the order of their calls.
        others: names of lists whose tensors have other axes: weights of points sampled from a
            picture, or, of some vision models, what their attention modules put out.
    """

    listed: dict[str, list[Tensor]] = field(default_factory=dict)
    returned: list[Tensor] = field(default_factory=list)
    others: tuple[str, ...] = ()


def eager_pass(model: nn.Module, inputs: dict[str, Tensor]) -> EagerReference:
    """Run a model that was made with eager attention."""
    _outputs(model, inputs)  # BigBird exchanges its modules in its first pass
    returned: list[Tensor] = []
    try:
        with _recorded(model, returned):
            outputs = _outputs(model, inputs, output_attentions=True)
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        # A family without the option.
        returned.clear()
        with _recorded(model, returned):
            outputs = _outputs(model, inputs)
    lists = _lists(outputs)
    listed = {name: layers for name, layers in lists.items() if layers[0].dim() == 4}
    return EagerReference(listed, returned, tuple(sorted(lists.keys() - listed.keys())))


def _outputs(model: nn.Module, inputs: dict[str, Tensor], **options: Any) -> Any:
    torch.manual_seed(0)
    with torch.no_grad():
        return forward(model, inputs, **options)


@contextmanager
def _recorded(model: nn.Module, returned: list[Tensor]) -> Iterator[None]:
    """Keep the weights that the eager functions beside the model's classes return."""
    files = {cls.__module__ for module in model.modules() for cls in type(module).__mro__}
    own = {name: getattr(sys.modules.get(name), EAGER, None) for name in files}
    functions = {name: function for name, function in own.items() if function is not None}
    try:
        for name, function in functions.items():
            setattr(sys.modules[name], EAGER, _keeping(function, returned))
        yield
    finally:
        for name, function in functions.items():
            setattr(sys.modules[name], EAGER, function)


def _keeping(function: Callable[..., Any], returned: list[Tensor]) -> Callable[..., Any]:
    def keep(*args: Any, **kwargs: Any) -> Any:
        output, weights = function(*args, **kwargs)
        if isinstance(weights, Tensor):
            returned.append(weights.float())
        return output, weights

    return keep


def _lists(outputs: Any) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = {}
    if not isinstance(outputs, Mapping):
        return found
    for name, value in outputs.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{inner}": layers for inner, layers in _lists(value).items()}
        elif name.endswith("attentions") and isinstance(value, tuple) and value:
            found[name] = [layer.float() for layer in value if isinstance(layer, Tensor)]
    return {name: layers for name, layers in found.items() if layers}
