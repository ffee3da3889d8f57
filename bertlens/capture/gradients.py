"""How a loss changes with every attention weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

from bertlens.capture.attention_function import Call, fast_output, tapped
from bertlens.capture.edited_model import EditedModel, without_edits
from bertlens.capture.edits import EdgeEdit, HeadEdit, PatchEdit
from bertlens.capture.interrupts import interruptible, protected
from bertlens.capture.prepared import prepare
from bertlens.capture.state import preserve_state
from bertlens.capture.submodel import base_of, unwrapped
from bertlens.errors import InterventionError, NoAttentionError

Loss = Callable[[Any, dict[str, Tensor]], Tensor]
"""Takes the model and its inputs, returns one number to take gradients of."""


@protected
def gradients(
    model: nn.Module, inputs: Mapping[str, Any], loss: Loss
) -> tuple[list[Tensor], list[Tensor]]:
    """Each layer's weights and the gradient of a loss by them, [batch, heads, from, to].

    The model runs in eval mode with eager attention; gradients of its parameters are neither
    needed nor touched. Of an encoder-decoder the encoder's layers are returned.

    Raises:
        NoAttentionError: the model does not ask transformers for its attention function, or asks
            for another number of calls than it has layers.
        TypeError: the loss is not one number, or does not come from the model.
    """
    prepared = prepare(model, inputs)
    body, plan = prepared.body, prepared.plan
    kind = plan.kinds[0]
    tapped_ids = {id(body.get_submodule(path)) for path, of in plan.taps.items() if of == kind}
    if not tapped_ids:
        raise NoAttentionError(
            f"{type(body).__name__} computes its attention without transformers' attention "
            "interface, so no gradient can be taken at its weights. Load a model of another family."
        )
    layers: list[Tensor] = []
    editor = None
    if isinstance(model, EditedModel):
        if any(not isinstance(e, EdgeEdit) and _sets_weights(e) for e in model.edits):
            raise InterventionError(
                "No gradient can be taken at the weights of a head that is uniform or patched. "
                'Ablate it by method="zero" or "mean".'
            )
        editor = model.editor(inputs)
    plain = without_edits(model)

    def keep(call: Call) -> Tensor:
        if id(call.module) not in tapped_ids:
            return fast_output(call)
        if not call.query.requires_grad:
            # Frozen parameters: the graph begins here.
            call.query = call.query.detach().requires_grad_()
        if editor is not None:
            call = editor.edited(kind, len(layers) % plan.layers[kind], call)
        output, weights = call.eager()
        layers.append(weights)
        return output

    with preserve_state(unwrapped(model), gradients=True), tapped(base_of(model), keep):
        value = interruptible(loss, plain, dict(inputs))
        if not isinstance(value, Tensor) or value.numel() != 1:
            shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise TypeError(f"The loss must be one number in a tensor, got {shape}.")
        if not layers or not value.requires_grad:
            raise TypeError(
                "The loss does not come from the model: it must call the model passed to it, and "
                "neither detach the outputs nor switch gradients off."
            )
        if len(layers) != plan.layers[kind]:
            raise NoAttentionError(
                f"The attention function was called {len(layers)} times for {plan.layers[kind]} "
                "layers: let the loss call the model once, and on one picture or sound."
            )
        gradients_ = interruptible(torch.autograd.grad, value, layers, allow_unused=True)
    # What the loss does not depend on has no influence.
    return [weights.detach() for weights in layers], [
        torch.zeros_like(weights) if gradient is None else gradient
        for weights, gradient in zip(layers, gradients_, strict=True)
    ]


def _sets_weights(edit: HeadEdit | PatchEdit) -> bool:
    return isinstance(edit, PatchEdit) or edit.method == "uniform"


def has_masked_lm_head(model: nn.Module) -> bool:
    """Whether the model predicts masked tokens."""
    return type(unwrapped(model)).__name__.endswith("ForMaskedLM")


def masked_lm_class(model: nn.Module) -> str | None:
    """The class of this family that predicts masked tokens, if it has one."""
    family = getattr(getattr(unwrapped(model), "config", None), "model_type", "")
    name: str | None = MODEL_FOR_MASKED_LM_MAPPING_NAMES.get(family)
    return name
