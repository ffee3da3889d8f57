"""What is left as ever more heads are ablated (Michel et al. 2019, Figure 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bertlens.capture import HeadEdit
from bertlens.capture.edits import Method
from bertlens.capture.interrupts import protected
from bertlens.causal.effects import first_of
from bertlens.causal.metrics import Metric, MetricFunction, TextInputs, metric_of, texts_of
from bertlens.causal.runs import Head, Runs, check_method, runs
from bertlens.corpus.sources import sources
from bertlens.corpus.stream import RunSummary
from bertlens.errors import require
from bertlens.scores.head_scores import HeadScores
from bertlens.scores.statistics import student
from bertlens.text.text_model import TextModel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PruningCurve:
    """A metric by the number of heads that are ablated.

    Attributes:
        name: of the metric.
        pruned: how many heads are ablated at each point, [points].
        order: the heads in the order in which they are ablated.
        values: the metric, mean over texts, [points].
        low, high: a 95% interval over texts, [points]; NaN for one text.
        random: the same in random orders, [orders, points].
        coverage: counts of texts processed, truncated and skipped, by reason.
    """

    name: str
    pruned: NDArray[np.int64]
    order: tuple[Head, ...]
    values: Floats
    low: Floats
    high: Floats
    random: Floats
    coverage: RunSummary

    def to_frame(self) -> pd.DataFrame:
        """A pandas table, one row a point: pruned, value, low, high, and of the random orders the
        mean, lowest and highest.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        require("pandas", "analysis")
        import pandas as pd

        columns: dict[str, Any] = {
            "pruned": self.pruned,
            self.name: self.values,
            "low": self.low,
            "high": self.high,
        }
        if len(self.random):
            columns["random"] = self.random.mean(0)
            columns["random_lowest"] = self.random.min(0)
            columns["random_highest"] = self.random.max(0)
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """The metric by the share of heads pruned, random orders beside it with their spread.

        Args:
            ax: matplotlib axes to draw into; new ones by default.
            style: of the line.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        require("matplotlib", "analysis")
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.figure(figsize=(5, 3.5), layout="constrained").subplots()
        share = 100 * self.pruned / max(1, len(self.order))
        ax.plot(share, self.values, **{"color": "#0b5fa5", "marker": "o", "ms": 3, **style},
                label="by order")  # fmt: skip
        if not np.isnan(self.low).all():
            ax.fill_between(share, self.low, self.high, color="#0b5fa5", alpha=0.15, lw=0)
        if len(self.random):
            ax.plot(share, self.random.mean(0), color="#6b6b6b", ls="--", label="random order")
            lowest, highest = self.random.min(0), self.random.max(0)
            ax.fill_between(share, lowest, highest, color="#6b6b6b", alpha=0.2, lw=0)
        ax.set_xlabel("heads pruned (%)")
        ax.set_ylabel(self.name.replace("_", " "))
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        return (
            f"<PruningCurve of {self.name}: {len(self.pruned)} points, {self.values[0]:.4g} with "
            f"all heads, {self.values[-1]:.4g} with {self.pruned[-1]} pruned>"
        )


@protected
def pruning_curve(
    lens: TextModel,
    texts: Iterable[Any],
    metric: MetricFunction | Metric | None = None,
    order: HeadScores | Sequence[Head] | None = None,
    *,
    greedy: bool = False,
    method: Method = "zero",
    points: int = 13,
    random: int = 5,
    seed: int = 0,
    kind: str | None = None,
    batch_size: int | None = None,
    truncate: bool = True,
    progress: bool = True,
) -> PruningCurve:
    """A metric as ever more heads are ablated (Michel et al. 2019, Figure 3).

    Args:
        texts, method, kind, batch_size, truncate, progress: as in `effects`.
        metric: as in `effects`.
        order: any HeadScores, whose least notable heads go first; or heads in the order in which
            they go.
        greedy: choose as the next head the one whose ablation changes the metric least; about
            half the square of the number of heads in passes a text.
        points: how many numbers of heads are tried, evenly from none to all.
        random: how many random orders are run beside it.
        seed: of the random orders.

    Raises:
        ValueError: neither or both of `order` and `greedy`, an order of another model, or no text
            could be counted.
        InterventionError: the model's heads cannot be ablated.
    """
    check_method(method)
    if (order is None) == (not greedy):
        raise ValueError("Give either order=, any HeadScores, or greedy=True.")
    if points < 2:
        raise ValueError(f"points must be at least 2, not {points}.")
    measured = metric_of(lens, metric)
    summary = RunSummary()
    found = texts_of(lens, sources(lens, texts), measured, summary, truncate=truncate)
    with first_of(found) as (first, rest):
        if first is None:
            raise ValueError(f"No text could be counted: {summary}.")
        with runs(lens, first, kind=kind, rows=batch_size) as held:
            if greedy:
                # Every choice looks at all texts, so they are kept.
                texts_kept = list(rest)
                chosen = _greedy(held, texts_kept, measured, method, progress)
                rest = iter(texts_kept)
            else:
                chosen = _ordered(order, held.all_heads)
            rng = np.random.default_rng(seed)
            orders = [chosen]
            orders += [[chosen[i] for i in rng.permutation(len(chosen))] for _ in range(random)]
            counts = np.unique(np.linspace(0, len(chosen), points).round().astype(np.int64))
            values = _values(held, rest, measured, method, orders, counts, summary, progress)
    mean = values.mean(0)
    half = np.full(mean.shape, np.nan)
    if len(values) > 1:
        half = student(len(values) - 1) * values.std(0, ddof=1) / np.sqrt(len(values))
    return PruningCurve(
        measured.name,
        counts,
        tuple(chosen),
        mean[0],
        (mean - half)[0],
        (mean + half)[0],
        mean[1:],
        summary,
    )


def _ordered(order: Any, heads: list[Head]) -> list[Head]:
    """Heads in the order in which they are ablated, the least notable first."""
    if isinstance(order, HeadScores):
        given = [(best.layer, best.head) for best in reversed(order.ranked())]
        known = set(given)
        # What has no value says nothing of the head: it goes first.
        given = [head for head in heads if head not in known] + given
    else:
        given = [(int(layer), int(head)) for layer, head in order]
    if isinstance(order, HeadScores) and set(given) != set(heads):
        raise ValueError(
            f"The order is of {order.n_layers} layers x {order.n_heads} heads, and this model has "
            "others. Score the heads of this model."
        )
    wrong = [head for head in given if head not in set(heads)]
    if wrong or len(set(given)) != len(given) or not given:
        raise ValueError(f"The order must list heads of this model, each once; got {wrong[:3]}.")
    return given


def _values(
    held: Runs,
    texts: Iterable[TextInputs],
    metric: Metric,
    method: Method,
    orders: list[list[Head]],
    counts: NDArray[np.int64],
    summary: RunSummary,
    progress: bool,
) -> Floats:
    """The metric of every text, [text, order, point]."""
    from tqdm.auto import tqdm

    edits = {head: HeadEdit(held.kind, *head, method) for head in orders[0]}
    rows = [[edits[head] for head in heads[:n]] for heads in orders for n in counts]
    values = []
    try:
        for text in tqdm(texts, unit="text", disable=not progress):
            measure = metric.measure(text, held.plain(text))
            values.append(held.measured(text, rows, measure).reshape(len(orders), len(counts)))
            summary.counted += 1
    except KeyboardInterrupt:
        summary.partial = True
        if not values:
            raise
    return np.stack(values)


def _greedy(
    held: Runs, texts: list[TextInputs], metric: Metric, method: Method, progress: bool
) -> list[Head]:
    """Heads in the order of least change, given those that went before."""
    from tqdm.auto import tqdm

    edits = {head: HeadEdit(held.kind, *head, method) for head in held.all_heads}
    measures = [metric.measure(text, held.plain(text)) for text in texts]
    both = list(zip(texts, measures, strict=True))
    plain = np.mean([held.measured(text, [[]], measure)[0] for text, measure in both])
    gone: list[Head] = []
    left = list(held.all_heads)
    with tqdm(total=len(left), unit="head", disable=not progress) as bar:
        while left:
            rows = [[edits[h] for h in (*gone, head)] for head in left]
            values = [held.measured(text, rows, measure) for text, measure in both]
            found = np.mean(values, 0)
            best = left[int(np.abs(found - plain).argmin())]
            gone.append(best)
            left.remove(best)
            bar.update()
    return gone
