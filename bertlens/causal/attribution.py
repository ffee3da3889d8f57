"""Attribution patching: effects of all heads from one gradient (Nanda 2023; Syed et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.capture import Call, HeadEdit
from bertlens.capture.edits import EditedCall, Method, mean_over_positions
from bertlens.capture.interrupts import protected
from bertlens.causal.effects import EffectInfo, Effects, first_of
from bertlens.causal.metrics import (
    EMBEDDING,
    NEXT_TOKEN,
    NEXT_TOKEN_LOG_PROBABILITY,
    Metric,
    MetricFunction,
    TextInputs,
    checked,
    metric_of,
    text_inputs,
    texts_of,
)
from bertlens.causal.patching import check_lengths, pair_of
from bertlens.causal.runs import Runs, as_matrix, check_method, runs
from bertlens.corpus.sources import sources
from bertlens.corpus.stream import RunSummary
from bertlens.scores.head_scores import HeadScores
from bertlens.scores.statistics import RunningStats
from bertlens.text.text_model import TextModel


@protected
def attribution(
    lens: TextModel,
    texts: Iterable[Any],
    metric: MetricFunction | Metric | None = None,
    *,
    method: Method = "zero",
    kind: str | None = None,
    truncate: bool = True,
    progress: bool = True,
) -> Effects:
    """Each head's effect to first order: the gradient by its output times what ablation changes.

    The approximation of `effects` by one forward and one backward pass a text: the sum over
    positions of dM/dz (z' - z), with z the head's output before the output projection and z' what
    `method` makes of it.

        >>> names = bl.causal.attribution(classifier, ["Good.", "Bad."], progress=False).unit
        >>> names
        'probability'

    Args:
        texts, method, kind, truncate, progress: as in `effects`.
        metric: as in `effects`. Of language models it is by default the log-probability of the
            text's own next tokens, as a divergence from the plain output has no gradient there.

    Raises:
        ValueError: the metric is a distance from the plain output; or no text could be counted.
        InterventionError: the model's heads cannot be edited.
    """
    check_method(method)
    measured = metric_of(lens, metric)
    if measured is NEXT_TOKEN:
        measured = NEXT_TOKEN_LOG_PROBABILITY
    if measured.is_distance:
        more = " Pass metric=, a function of the model's outputs." if measured is EMBEDDING else ""
        raise ValueError(
            f"{measured.description.capitalize()} is smallest at the plain output itself, where "
            f"its gradient is 0.{more}"
        )
    info = EffectInfo(
        "attribution",
        f"Change of {measured.description} when the head alone is ablated ({method}), to first "
        "order: gradient times difference.",
        measured.unit,
        measured.notable,
    )
    summary, stats, values = RunSummary(), RunningStats((info,)), []
    found = texts_of(lens, sources(lens, texts), measured, summary, truncate=truncate)
    from tqdm.auto import tqdm

    try:
        with first_of(found) as (first, rest), tqdm(unit="text", disable=not progress) as bar:
            if first is not None:
                with runs(lens, first, kind=kind, gradients=True) as held:
                    for text in rest:
                        value, change = _of_text(held, text, measured, method)
                        stats = stats.merged(_stats(info, change, held.heads))
                        values.append(value)
                        summary.counted += 1
                        bar.update(summary.texts - bar.n)
    except KeyboardInterrupt:
        summary.partial = True
    if stats.texts is None:
        if summary.partial:
            raise KeyboardInterrupt
        raise ValueError(f"No text could be counted: {summary}.")
    score = stats.scores()["attribution"]
    fields = {name: getattr(score, name) for name in HeadScores.__dataclass_fields__}
    return Effects(**fields, coverage=summary, metric=float(np.mean(values)))


@protected
def patching_attribution(
    lens: TextModel,
    clean: Any,
    corrupted: Any,
    metric: MetricFunction | None = None,
    *,
    kind: str | None = None,
) -> HeadScores:
    """`patching` of outputs to first order, at the corrupted text (Nanda 2023).

    The gradient of the metric by each head's output in the corrupted run, times the clean output
    minus the corrupted one, normalised as `patching` is.

    Args:
        clean, corrupted, metric, kind: as in `patching`.

    Raises:
        ValueError, InterventionError: as in `patching`.
    """
    texts = [text_inputs(lens, text, index=i) for i, text in enumerate((clean, corrupted))]
    check_lengths(*texts)
    with runs(lens, texts[0], kind=kind, gradients=True) as held:
        with torch.no_grad():
            pair = pair_of(lens, held, texts, metric)
        seen = _Outputs(held.kind)
        out = held.plain(pair.corrupted, seen)
        value = checked(pair.measure(out), 1)[0]
        slopes = seen.slopes(value)
        change = [
            slopes[layer][head].mul(pair.outputs[layer][head] - seen.heads(layer)[head]).sum()
            for layer, head in held.all_heads
        ]
        values = np.array([float(one) for one in change]) / pair.between
    return HeadScores(
        "patching_attribution",
        as_matrix(values, held.heads),
        unit="share restored",
        description=f"How much of {pair.described} comes back when the head's output is taken from "
        "the clean text, to first order: gradient times difference.",
        baseline=0.0,
    )


class _Outputs:
    """Keeps each layer's head outputs in the graph."""

    def __init__(self, kind: str) -> None:
        self._kinds = {kind} | ({"self", "encoder"} if kind in ("self", "encoder") else set())
        self.outputs: dict[int, Tensor] = {}
        self.calls: dict[int, Call] = {}

    def __call__(self, kind: str, layer: int, call: Call, output: Tensor) -> Tensor | None:
        if kind not in self._kinds:
            return None
        if not output.requires_grad:
            # Frozen parameters: the graph begins here.
            output = output.detach().requires_grad_()
        self.outputs[layer], self.calls[layer] = output, call
        return output

    def heads(self, layer: int) -> Tensor:
        """One text's outputs [head, from, value_dim]."""
        return self._split(layer, self.outputs[layer].detach())

    def slopes(self, value: Tensor) -> dict[int, Tensor]:
        """The gradient by each layer's outputs, [head, from, value_dim]."""
        if not value.requires_grad:
            raise TypeError(
                "The metric does not come from the model's outputs by differentiable operations."
            )
        layers = sorted(self.outputs)
        found = torch.autograd.grad(value, [self.outputs[i] for i in layers], allow_unused=True)
        return {
            layer: self._split(
                layer, torch.zeros_like(self.outputs[layer]) if slope is None else slope
            )
            for layer, slope in zip(layers, found, strict=True)
        }

    def _split(self, layer: int, output: Tensor) -> Tensor:
        n_heads = self.calls[layer].query.shape[1]
        return output[0].reshape(output.shape[1], n_heads, -1).transpose(0, 1)


def _of_text(
    held: Runs, text: TextInputs, metric: Metric, method: Method
) -> tuple[float, NDArray[np.float64]]:
    """The metric, and each head's change of it to first order."""
    with torch.no_grad():
        plain = held.plain(text)
    measure = metric.measure(text, plain)
    seen = _Outputs(held.kind)
    value = checked(measure(held.plain(text, seen)), 1)[0]
    slopes = seen.slopes(value)
    change = []
    with torch.no_grad():
        for layer, n in enumerate(held.heads):
            own = seen.heads(layer)
            ablated = _ablated(held.kind, layer, own, seen.calls[layer], method)
            change += [float((slopes[layer][h] * (ablated[h] - own[h])).sum()) for h in range(n)]
    return float(value.detach()), np.array(change)


def _ablated(kind: str, layer: int, own: Tensor, call: Call, method: Method) -> Tensor:
    """What ablation makes of one text's head outputs [head, from, value_dim]."""
    if method == "zero":
        return torch.zeros_like(own)
    if method == "mean":
        return mean_over_positions(own, None).expand_as(own)
    edits = tuple(HeadEdit(kind, layer, head, "uniform") for head in range(len(own)))
    plain = {name: getattr(call, name) for name in Call.__dataclass_fields__}
    output = EditedCall(**plain, edits=edits).eager()[0]
    return output[0].reshape(output.shape[1], len(own), -1).transpose(0, 1)


def _stats(info: EffectInfo, change: NDArray[np.float64], heads: tuple[int, ...]) -> RunningStats:
    matrix = as_matrix(change, heads)
    layers = tuple(
        np.stack([matrix[layer, :n], matrix[layer, :n] ** 2])[:, None]
        for layer, n in enumerate(heads)
    )
    return RunningStats((info,), layers, np.array([[1.0], [np.nan]]))
