"""Edits applied to passes that the caller's own code makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.capture.attention_function import Call, eager_function, fast_output, tapped
from bertlens.capture.edited_model import EditedModel, check_plan, editor_of, without_edits
from bertlens.capture.edits import EdgeEdit, Edit, Editor
from bertlens.capture.interrupts import install, protect, protected, remove
from bertlens.capture.prepared import prepare
from bertlens.capture.random_numbers import random_state_kept
from bertlens.capture.state import attention_configs, model_lock, preserve_state
from bertlens.capture.submodel import base_of, call_body, unwrapped
from bertlens.errors import InterventionError


class LayerNumbers:
    """Which layer of which kind each module is, for passes that nobody counts.

    A module that serves several layers (ALBERT) gives them in turn.
    """

    def __init__(self, model: nn.Module, sample: Mapping[str, Any], edits: Sequence[Edit]) -> None:
        prepared = prepare(model, sample)
        check_plan(prepared.plan, prepared.body, edits)
        self._of: dict[int, tuple[str, list[int]]] = {}
        self._turn: dict[int, int] = {}
        prepared.run(self)

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        """Note a layer of the sample's pass."""
        self._of.setdefault(id(call.module), (kind, []))[1].append(layer)
        return fast_output(call)

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        """Kinds whose weights come without a call have no modules to note."""

    def next(self, module: nn.Module) -> tuple[str, int] | None:
        """The kind and layer of a module's next call; None where it is of no layer."""
        found = self._of.get(id(module))
        if found is None:
            return None
        kind, layers = found
        turn = self._turn.get(id(module), 0)
        self._turn[id(module)] = (turn + 1) % len(layers)
        return kind, layers[turn]


See = Callable[[str, int, Call, Tensor], Tensor | None]
"""Takes a kind, a layer, its call as edited and the call's output; may return another output."""


@contextmanager
def running(
    model: nn.Module,
    inputs: Mapping[str, Any] | None = None,
    *,
    editor: Editor | None = None,
    numbers: LayerNumbers | None = None,
    see: See | None = None,
) -> Iterator[None]:
    """Apply the edits of an EditedModel to whatever this thread runs on the model inside.

    The model's lock is held meanwhile; other threads that call the model without the lock run it
    unchanged. Training mode, dropout and gradients are the caller's own.

    Args:
        model: an EditedModel, or a model to which `editor` applies.
        inputs: of the pass, to find the tokens that knockouts name.
        editor, numbers: those of `model` by default.
        see: is shown every layer's output.

    Raises:
        InterventionError: the model is compiled or spread over devices by DataParallel, or has no
            sample of a text.
    """
    with model_lock(model):
        if isinstance(model, EditedModel):
            editor = editor or model.editor(inputs)
            if numbers is None:
                sample = model.sample if model.sample is not None else inputs
                if sample is None:
                    raise InterventionError(
                        "This model reads no text, so running() cannot find its layers. Call the "
                        "Lens with the inputs instead."
                    )
                numbers = LayerNumbers(model.model, sample, model.edits)
        assert editor is not None
        assert numbers is not None
        _refuse_compiled(without_edits(model))
        base = base_of(model)
        kept = [(c, c._attn_implementation_internal) for c in attention_configs(base)]
        try:
            with tapped(base, _sink(editor, numbers, see)):
                yield
        finally:
            for config, implementation in kept:
                config._attn_implementation_internal = implementation


def _sink(editor: Editor, numbers: LayerNumbers, see: See | None) -> Callable[[Call], Tensor]:
    def sink(call: Call) -> Tensor:
        place = numbers.next(call.module)
        if place is None:
            return _as_it_is(call)
        edited = editor.edited(*place, call)
        output = edited.eager()[0] if edited.edited else _as_it_is(call)
        if see is not None:
            replaced = see(*place, edited, output)
            output = output if replaced is None else replaced
        return output

    return sink


def _as_it_is(call: Call) -> Tensor:
    """The output of a call that nothing changes, with the dropout of training."""
    if call.options.get("dropout"):
        eager = eager_function(call.module)
        output, _ = eager(call.module, call.query, call.key, call.value, call.mask, **call.options)
        return output
    return fast_output(call)


def _refuse_compiled(model: nn.Module) -> None:
    parallel = isinstance(model, nn.DataParallel) and len(model.device_ids) > 1
    compiled = any(
        getattr(module, "_compiled_call_impl", None) is not None or hasattr(module, "_orig_mod")
        for module in model.modules()
    )
    if parallel or compiled:
        what = "spread over devices by DataParallel" if parallel else "compiled"
        raise InterventionError(
            f"The model is {what}, which runs past the edits. Call the Lens itself, which runs it "
            "uncompiled, or make the Lens of the model inside."
        )


class EditedPass:
    """Runs the whole model, its task head included, with edits; see `outputs_with_edits`."""

    def __init__(self, model: nn.Module, numbers: LayerNumbers) -> None:
        self._model = model
        self._whole = unwrapped(model)
        self._numbers = numbers

    @protected
    def __call__(
        self,
        inputs: Mapping[str, Any],
        edits: Sequence[Edit] = (),
        *,
        of: Mapping[str, Any] | None = None,
        see: See | None = None,
    ) -> Any:
        """The model's outputs.

        Args:
            inputs: of the pass.
            edits: besides those of an EditedModel.
            of: inputs that `inputs` are copies of, to find the tokens that knockouts name.
            see: as in `running`.
        """
        editor = editor_of(self._model, inputs if of is None else of, edits)
        with running(self._whole, editor=editor, numbers=self._numbers, see=see):
            return call_body(self._whole, inputs)


@contextmanager
def outputs_with_edits(
    model: nn.Module, sample: Mapping[str, Any], *, gradients: bool = False
) -> Iterator[EditedPass]:
    """Hold the model in eval mode for passes with edits; afterwards it is as it was.

    Args:
        sample: inputs with which the model runs, to find its layers.
        gradients: of outputs may be taken inside; those of parameters are not touched.
    """
    whole, plain = unwrapped(model), without_edits(model)
    draws = prepare(plain, sample).plan.draws
    with (
        model_lock(model),
        preserve_state(whole, gradients=gradients),
        random_state_kept(draws),
    ):
        yield EditedPass(model, LayerNumbers(plain, sample, ()))


@dataclass
class _HeadOutputs:
    """Shows the outputs of one kind's heads."""

    kind: str
    visit: Callable[[str, int, Tensor, Tensor], None]
    positions: Editor = field(default_factory=lambda: Editor(()))

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        output = fast_output(call)
        counted = self.positions.positions(kind, call)
        if kind == self.kind:
            heads = output.reshape(*output.shape[:2], call.query.shape[1], -1)
            if counted is None:
                counted = torch.ones(heads.shape[:2], dtype=torch.bool, device="cpu")
            self.visit(kind, layer, heads, counted)
        return output

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        """Kinds whose weights come without a call are not asked for: `check_plan` refuses them."""


def head_outputs(
    model: nn.Module,
    inputs: Mapping[str, Any],
    visit: Callable[[str, int, Tensor, Tensor], None],
    *,
    kind: str,
) -> None:
    """Run the model once; show `visit` the kind, the layer, its heads' outputs before the output
    projection [batch, from, head, value_dim], and which positions are not padding [batch, from].

    Raises:
        InterventionError: the heads' outputs are not available.
    """
    with model_lock(model):
        prepared = prepare(model, inputs)
        check_plan(prepared.plan, prepared.body, [EdgeEdit(kind, (), ())])
        prepared.run(_HeadOutputs(kind, visit))


class RunningEdits:
    """`running` for the caller's own code, with Ctrl-C held while it begins and ends."""

    def __init__(self, model: EditedModel) -> None:
        self._context = running(model)
        self._guard: Any = None

    def __enter__(self) -> None:
        self._guard = install()
        try:
            self._context.__enter__()
        except BaseException:
            remove(self._guard)
            raise
        if self._guard is not None and self._guard.pending:
            self.__exit__(None, None, None)

    def __exit__(self, *error: Any) -> None:
        try:
            self._context.__exit__(*error)
        finally:
            remove(self._guard)


protect(RunningEdits.__enter__, RunningEdits.__exit__)
