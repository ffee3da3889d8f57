"""A model that is the caller's own but for edits of its heads, on the thread that runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn
from torch.utils.weak import WeakIdKeyDictionary

from bertlens.capture.edits import EdgeEdit, Edit, Editor, Places, same_kind
from bertlens.capture.plan import TIERS, CapturePlan
from bertlens.capture.submodel import unwrapped
from bertlens.errors import InterventionError

_places: WeakIdKeyDictionary = WeakIdKeyDictionary()
"""A batch's ids -> for each EdgeEdit by its number, its tokens in each text."""


class EditedModel(nn.Module):
    """The caller's model with edits; parameters and modules are shared, and nothing is changed.

    Called like the model itself, it runs with the edits on the calling thread only. Captures of it
    apply the edits by themselves.

    Args:
        model: the caller's model, or another EditedModel, whose edits come first.
        edits: what its heads do otherwise.
        sample: inputs with which it runs, to find its layers.
    """

    def __init__(
        self, model: nn.Module, edits: Sequence[Edit], sample: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.model: nn.Module = without_edits(model)
        before: tuple[Edit, ...] = model.edits if isinstance(model, EditedModel) else ()
        self.edits: tuple[Edit, ...] = (*before, *edits)
        self.sample = sample

    @property
    def config(self) -> Any:
        return getattr(unwrapped(self.model), "config", None)

    def locate(
        self, inputs: Mapping[str, Any], places: Mapping[int, Sequence[Places | None]]
    ) -> None:
        """Note where the tokens that knockouts name are in the texts of `inputs`."""
        if places:
            _places[inputs["input_ids"]] = dict(places)

    def editor(self, inputs: Mapping[str, Any] | None = None) -> Editor:
        """What applies the edits to one pass of `inputs`."""
        return editor_of(self, inputs)

    def forward(self, *args: Any, **named: Any) -> Any:
        from bertlens.capture.running import running  # which prepares passes, as captures do

        with running(self, named):
            return self.model(*args, **named)


def editor_of(
    model: nn.Module, inputs: Mapping[str, Any] | None, edits: Sequence[Edit] = ()
) -> Editor:
    """What applies a model's own edits, and `edits` after them, to a pass of `inputs`."""
    own = model.edits if isinstance(model, EditedModel) else ()
    ids = None if inputs is None else inputs.get("input_ids")
    places = None if ids is None else _places.get(ids)  # type: ignore[no-untyped-call]
    return Editor((*own, *edits), places)


def without_edits(model: nn.Module) -> nn.Module:
    """The caller's model itself."""
    return model.model if isinstance(model, EditedModel) else model


def check_plan(
    plan: CapturePlan, body: nn.Module, edits: Sequence[Edit], *, part: bool = False
) -> None:
    """Make sure that edits can be applied to the kinds and layers that they name.

    Args:
        part: only a part of the model runs, such as the encoder alone of an encoder-decoder; kinds
            that it does not have are left out.

    Raises:
        InterventionError: a kind is not there, or its heads' outputs are not reached.
        IndexError: there is no such layer.
    """
    kinds = {same_kind(kind): kind for kind in plan.layers}
    for edit in edits:
        kind = kinds.get(same_kind(edit.kind))
        if kind is None:
            if part:
                continue
            raise InterventionError(
                f"{type(body).__name__} has no attention of kind {edit.kind!r} on these inputs; it "
                f"has {' and '.join(map(repr, plan.kinds))}."
            )
        tier = plan.tier(kind)
        if tier != 1:
            raise InterventionError(
                f"The heads of {type(body).__name__} cannot be edited: its attention is read from "
                f"{TIERS[tier]}, so the output of a single head is not available. Models on "
                "transformers' attention interface (BERT, RoBERTa, GPT-2, LLaMA, T5 and most "
                "others) can be."
            )
        n_layers = plan.layers[kind]
        layers = edit.layers or () if isinstance(edit, EdgeEdit) else (edit.layer,)
        for layer in layers:
            if not 0 <= layer < n_layers:
                raise IndexError(f"The model has layers 0 to {n_layers - 1}, not {layer}.")
