"""Attention out of a model: stored as queries and keys, or streamed a layer at a time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bertlens.capture.borrowing import borrowed
from bertlens.capture.interface import Call, fast_output, tapped
from bertlens.errors import NoAttentionError

Visit = Callable[[int, Tensor], None]
"""Takes a layer's index and its weights [batch, heads, from, to]."""


@dataclass
class StoredLayer:
    """What a layer's weights are made from, kept until they are asked for."""

    call: Call

    @property
    def n_heads(self) -> int:
        return self.call.query.shape[1]

    def weights(self) -> Tensor:
        """Weights [batch, heads, from, to], float32 on the CPU, made by the family's function."""
        call = self.call
        with torch.no_grad():
            # The output is not wanted: values one wide cost nothing.
            nothing = call.key.new_zeros((*call.key.shape[:-1], 1))
            _, weights = call.eager(nothing)
        return weights.float().cpu()


def store(model: nn.Module, inputs: Mapping[str, Any]) -> list[StoredLayer]:
    """Run the model once and keep each layer's queries, keys, mask and options.

    Raises:
        NoAttentionError: no layer asked transformers for an attention function.
    """
    layers: list[StoredLayer] = []

    def keep(call: Call) -> Tensor:
        output = fast_output(call)
        call.value = call.value.new_empty(0)
        layers.append(StoredLayer(call))
        return output

    _run(model, inputs, keep)
    if not layers:
        raise NoAttentionError(_unreachable(model))
    return layers


def stream(
    model: nn.Module,
    inputs: Mapping[str, Any],
    visit: Visit,
    *,
    layers: Collection[int] | None = None,
) -> int:
    """Run the model with the family's eager attention and show each layer's weights to `visit`.

    The weights [batch, heads, from, to], in the model's dtype on its device, live only during the
    call. Layers outside `layers` take the fast way. Returns how many layers there were.

    Raises:
        NoAttentionError: no layer asked transformers for an attention function.
    """
    count = 0

    def show(call: Call) -> Tensor:
        nonlocal count
        layer, count = count, count + 1
        if layers is not None and layer not in layers:
            return fast_output(call)
        output, weights = call.eager()
        visit(layer, weights)
        return output

    _run(model, inputs, show)
    if not count:
        raise NoAttentionError(_unreachable(model))
    return count


def _run(model: nn.Module, inputs: Mapping[str, Any], sink: Callable[[Call], Tensor]) -> None:
    body = without_head(model)
    accepted = inspect.signature(body.forward).parameters
    extra = {"use_cache": False} if "use_cache" in accepted else {}
    with borrowed(model), tapped(model, sink):
        body(**inputs, **extra)


def without_head(model: nn.Module) -> nn.Module:
    """The model without its task head: the same attention, and no logits to pay for."""
    return model.base_model if isinstance(model, PreTrainedModel) else model


def _unreachable(model: nn.Module) -> str:
    name = type(model).__name__
    if not any("attention" in type(module).__name__.lower() for module in model.modules()):
        return f"{name} has no attention, so there is nothing to look at. Load another model."
    return (
        f"{name} computes its attention without transformers' attention interface, and bertlens "
        "cannot read it. Load a model of another family."
    )
