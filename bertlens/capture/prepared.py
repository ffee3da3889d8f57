"""A model made ready for a pass: which part runs, and how its attention is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn

from bertlens.capture.calibration import forget, plan_of
from bertlens.capture.edited_model import EditedModel, check_plan, without_edits
from bertlens.capture.forward import Receiver, run
from bertlens.capture.interrupts import protected
from bertlens.capture.plan import CapturePlan
from bertlens.capture.random_numbers import random_state_kept
from bertlens.capture.state import preserve_state
from bertlens.capture.submodel import body_of, body_without_head, refuse_virtual_tokens, unwrapped
from bertlens.errors import BertlensError


@dataclass(frozen=True)
class PreparedModel:
    """A model and the inputs of one pass.

    Attributes:
        model: as it was passed in, with wrappers and task head.
        body: the part of it that runs.
        inputs: by name, on the model's device.
        plan: how the attention of `body` is reached.
    """

    model: nn.Module
    body: nn.Module
    inputs: Mapping[str, Any]
    plan: CapturePlan

    @protected
    def run(self, receiver: Receiver) -> Any:
        """One pass without side effects; its attention goes to `receiver`. Returns the outputs.

        Raises:
            BertlensError: the model has other layers than when its plan was made.
        """
        with self.borrowed():
            return self.run_borrowed(receiver)

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        """Hold the model's state for a pass, and restore it whatever happens."""
        # ViLT and ViTMAE select patches at random: the same ones each time a pass is repeated.
        with preserve_state(unwrapped(self.model)), random_state_kept(self.plan.draws):
            yield

    def run_borrowed(self, receiver: Receiver) -> Any:
        """As `run`, inside `borrowed`."""
        editor = None
        if isinstance(self.model, EditedModel) and self.model.edits:
            part = self.model.sample is not None
            check_plan(self.plan, self.body, self.model.edits, part=part)
            editor = self.model.editor(self.inputs)
        outputs, layers = run(self.body, self.inputs, self.plan, receiver, editor)
        if layers != dict(self.plan.layers):
            forget(self.body)
            raise BertlensError(
                f"{type(self.body).__name__} showed {layers} layers where "
                f"{dict(self.plan.layers)} were expected. If you changed the model since, try "
                "again."
            )
        return outputs


@protected
def prepare(model: nn.Module, inputs: Mapping[str, Any], *, answer: bool = True) -> PreparedModel:
    """Find the part of the model that these inputs run, and the way to its attention.

    Args:
        answer: run a task head whose answer can be shown.

    Raises:
        NoAttentionError: there is no attention, or none that can be reached.
        TypeError: the inputs hold a cache of keys and values.
    """
    if inputs.get("past_key_values") is not None:
        raise TypeError(
            "inputs= holds past_key_values, which the pass would change, and whose tokens are not "
            "known. Leave it out and give the whole text's input_ids."
        )
    refuse_virtual_tokens(without_edits(model))
    body = body_of(model, inputs) if answer else body_without_head(model, inputs)
    return PreparedModel(model, body, inputs, plan_of(model, body, inputs))


def plan_for(model: nn.Module, inputs: Mapping[str, Any]) -> CapturePlan:
    """How the model's attention is reached on such inputs."""
    return prepare(model, inputs).plan
