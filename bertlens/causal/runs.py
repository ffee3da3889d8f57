"""One text run many times, each time with other heads edited, in batches of its copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from bertlens import capture
from bertlens.capture import EditedPass, HeadEdit, PatchEdit
from bertlens.capture.edits import Method
from bertlens.causal.metrics import Measure, TextInputs, checked
from bertlens.text.text_model import TextModel

MAX_TOKENS = 4096
"""Tokens of all copies that run together on a CPU; eight times as many elsewhere."""

Head = tuple[int, int]


class Runs:
    """One model's passes over copies of a text, each with edits of its own.

    Attributes:
        kind: of attention.
        heads: how many heads each layer of that kind has.
        rows: copies that run together at most, or None for as many as fit.
    """

    def __init__(
        self, lens: TextModel, run: EditedPass, kind: str, heads: tuple[int, ...], rows: int | None
    ) -> None:
        self._lens = lens
        self._run = run
        self.kind = kind
        self.heads = heads
        self.rows = rows

    @property
    def all_heads(self) -> list[Head]:
        """Every (layer, head), in order."""
        return [(layer, head) for layer, n in enumerate(self.heads) for head in range(n)]

    def plain(self, text: TextInputs, see: Any = None) -> Any:
        """The outputs without further edits."""
        return self._run(text.run, of=text.inputs, see=see)

    def measured(
        self, text: TextInputs, edits: Sequence[Sequence[HeadEdit | PatchEdit]], measure: Measure
    ) -> NDArray[np.float64]:
        """The measure of a pass of the text for each of `edits`, [len(edits)]."""
        values: list[NDArray[np.float64]] = []
        most = self._most(text)
        for start in range(0, len(edits), most):
            part = edits[start : start + most]
            placed = _by_row(part)
            outputs = self._run(_copies(text.run, len(part)), placed, of=text.inputs)
            found = checked(measure(outputs), len(part))
            values.append(found.detach().double().cpu().numpy())
        return np.concatenate(values) if values else np.zeros(0)

    def _most(self, text: TextInputs) -> int:
        tokens = max(tensor.shape[1] for tensor in text.run.values() if tensor.dim() > 1)
        fits = MAX_TOKENS // tokens * (1 if self._lens.device.type == "cpu" else 8)
        return max(1, fits if self.rows is None else min(fits, self.rows))


@contextmanager
def runs(
    lens: TextModel,
    sample: TextInputs,
    *,
    kind: str | None,
    rows: int | None = None,
    gradients: bool = False,
) -> Iterator[Runs]:
    """Hold the model for passes with edits; it is as it was afterwards.

    Args:
        sample: any text of the model.

    Raises:
        InterventionError: the model's heads cannot be edited, or it has no such kind.
        ValueError: fewer rows than one.
    """
    if rows is not None and rows < 1:
        raise ValueError(f"The batch size must be at least 1, not {rows}.")
    plain = capture.without_edits(lens.model)
    plan = capture.plan_for(plain, sample.inputs)
    kind = plan.kinds[0] if kind is None else kind
    capture.check_plan(plan, capture.unwrapped(plain), [HeadEdit(kind, 0, 0)])
    counts: dict[int, int] = {}

    def see(_: str, layer: int, output: Tensor, __: Tensor) -> None:
        counts[layer] = output.shape[2]

    capture.head_outputs(plain, sample.inputs, see, kind=kind)
    with capture.outputs_with_edits(lens.model, sample.inputs, gradients=gradients) as run:
        yield Runs(lens, run, kind, tuple(counts[layer] for layer in sorted(counts)), rows)


def check_method(method: str) -> None:
    """Raise a ValueError unless it is a way to ablate a head."""
    if method not in get_args(Method):
        raise ValueError(f'method must be "zero", "mean" or "uniform", not {method!r}.')


def _copies(inputs: Mapping[str, Any], n: int) -> dict[str, Any]:
    return {
        name: value.expand(n, *value.shape[1:]) if isinstance(value, Tensor) else value
        for name, value in inputs.items()
    }


def _by_row(
    edits: Sequence[Sequence[HeadEdit | PatchEdit]],
) -> list[HeadEdit | PatchEdit]:
    """One list for a batch: an edit that several rows share comes once, with their numbers."""
    rows: dict[int, list[int]] = {}
    kept: dict[int, HeadEdit | PatchEdit] = {}
    for row, own in enumerate(edits):
        for edit in own:
            rows.setdefault(id(edit), []).append(row)
            kept[id(edit)] = edit
    return [replace(edit, texts=tuple(rows[key])) for key, edit in kept.items()]


def as_matrix(values: NDArray[np.float64], heads: tuple[int, ...]) -> NDArray[np.float64]:
    """Values of all heads in order as [layer, head]; NaN where a layer has fewer heads."""
    matrix = np.full((len(heads), max(heads)), np.nan)
    start = 0
    for layer, n in enumerate(heads):
        matrix[layer, :n] = values[start : start + n]
        start += n
    return matrix
