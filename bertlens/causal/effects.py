"""What changes in a model's output when one head is ablated (Michel et al. 2019, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import numpy as np

from bertlens.capture import HeadEdit
from bertlens.capture.edits import Method
from bertlens.capture.interrupts import protected
from bertlens.causal.metrics import Metric, MetricFunction, metric_of, texts_of
from bertlens.causal.runs import Runs, as_matrix, check_method, runs
from bertlens.corpus.sources import sources
from bertlens.corpus.stream import RunSummary
from bertlens.scores.head_scores import HeadScores, Notable
from bertlens.scores.statistics import RunningStats
from bertlens.text.text_model import TextModel


@dataclass(frozen=True, eq=False, repr=False)
class Effects(HeadScores):
    """How much a metric changes when a head alone is ablated, mean over texts.

    Attributes:
        coverage: counts of texts processed, truncated and skipped, by reason.
        metric: the metric's value without ablation, mean over texts.
    """

    coverage: RunSummary = field(default_factory=RunSummary)
    metric: float = float("nan")

    @property
    def partial(self) -> bool:
        """Whether an interrupt ended it before the last text."""
        return self.coverage.partial


@dataclass(frozen=True)
class EffectInfo:
    """What the score of an effect is called and means."""

    name: str
    description: str
    unit: str
    notable: Notable


@dataclass
class Counted:
    """Sums over texts; `of_metric` holds the metric itself, as one head of one layer."""

    stats: RunningStats
    of_metric: RunningStats
    summary: RunSummary

    def merged(self, other: Counted) -> Counted:
        """Both together."""
        return Counted(
            self.stats.merged(other.stats),
            self.of_metric.merged(other.of_metric),
            self.summary.merged(other.summary),
        )


def effects(
    lens: TextModel,
    texts: Iterable[Any],
    method: Method = "zero",
    metric: MetricFunction | Metric | None = None,
    *,
    kind: str | None = None,
    batch_size: int | None = None,
    truncate: bool = True,
    progress: bool = True,
    engine: Literal["local", "ray"] = "local",
    workers: int = 2,
) -> Effects:
    """How much a metric changes when each head alone is ablated, with a 95% interval over texts.

    Every text runs once as it is and once for each head, in batches of its copies.

        >>> scores = bl.causal.effects(lens, ["I went to the store."], progress=False)
        >>> scores.values.shape
        (6, 12)

    Args:
        texts: as in `Lens.scan`; of an encoder-decoder that writes, pairs of source and target.
        method: "zero", "mean" or "uniform", as in `Lens.ablate`.
        metric: a function of the model's outputs for a batch that returns one number a text,
            [batch]; with a second argument it is given the text's index too, to look up a gold
            label. By default: of classifiers the probability of the label predicted; of language
            models the KL divergence of the next-token distributions; of masked LMs the
            log-probability of the original tokens at 15% of positions that are masked; of models
            without a head the cosine distance of the mean-pooled embedding.
        kind: of attention; by default the model's first.
        batch_size: copies of a text that run together at most.
        truncate: cut texts that are too long, instead of skipping them.
        progress: show a progress bar.
        engine, workers: "ray" for several processes, as in `Lens.scan`.

    Returns:
        The metric with the head ablated minus the metric without, mean over texts. Ctrl-C ends it
        early with what was counted, and `partial` is True.

    Raises:
        InterventionError: the model's heads cannot be ablated.
        TypeError: an item is no text, or the metric returns another shape.
        ValueError: no text could be counted.
    """
    check_method(method)
    if engine not in ("local", "ray"):
        raise ValueError(f'engine must be "local" or "ray", not {engine!r}.')
    measured = metric_of(lens, metric)
    options = Options(method, measured, kind, batch_size, truncate)
    found = sources(lens, texts)
    if engine == "ray":
        from bertlens.causal.ray import effects_by_ray

        counted = effects_by_ray(lens, found, options, workers=workers, progress=progress)
    else:
        total = len(found) if isinstance(found, Sized) else None
        counted = count(lens, found, options, progress=progress, total=total)
    if counted.stats.texts is None:
        if counted.summary.partial:
            raise KeyboardInterrupt
        raise ValueError(f"No text could be counted: {counted.summary}.")
    score = counted.stats.scores()["effect"]
    mean = counted.of_metric.scores()["metric"].values[0, 0]
    return Effects(
        **{name: getattr(score, name) for name in HeadScores.__dataclass_fields__},
        coverage=counted.summary,
        metric=float(mean),
    )


@dataclass(frozen=True)
class Options:
    """How effects are counted; as in `effects`."""

    method: Method
    metric: Metric
    kind: str | None = None
    batch_size: int | None = None
    truncate: bool = True

    @property
    def info(self) -> EffectInfo:
        metric = self.metric
        return EffectInfo(
            "effect",
            f"Change of {metric.description} when the head alone is ablated ({self.method}).",
            metric.unit,
            metric.notable,
        )

    @property
    def metric_info(self) -> EffectInfo:
        return EffectInfo("metric", self.metric.description, self.metric.unit, self.metric.notable)


@protected
def count(
    lens: TextModel,
    texts: Iterable[Any],
    options: Options,
    *,
    progress: bool = False,
    total: int | None = None,
    start: int = 0,
) -> Counted:
    """Effects over texts on this machine, a text at a time; `start` is the first one's place."""
    from tqdm.auto import tqdm

    summary = RunSummary()
    counted = Counted(RunningStats((options.info,)), RunningStats((options.metric_info,)), summary)
    found = texts_of(lens, texts, options.metric, summary, truncate=options.truncate, start=start)
    bar = tqdm(total=total, unit="text", disable=not progress)
    try:
        with bar, first_of(found) as (first, rest):
            if first is None:
                return counted
            with runs(lens, first, kind=options.kind, rows=options.batch_size) as held:
                for text in rest:
                    stats, value = _of_text(held, text, options)
                    counted.stats = counted.stats.merged(stats)
                    counted.of_metric = counted.of_metric.merged(value)
                    summary.counted += 1
                    bar.update(summary.texts - bar.n)
    except KeyboardInterrupt:
        summary.partial = True
    return counted


@contextmanager
def first_of(found: Iterator[Any]) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The first item, or None, and an iterator over all."""
    first = next(found, None)
    yield first, chain([] if first is None else [first], found)


def _of_text(held: Runs, text: Any, options: Options) -> tuple[RunningStats, RunningStats]:
    plain = held.plain(text)
    measure = options.metric.measure(text, plain)
    value = held.measured(text, [[]], measure)[0]
    edits = [[HeadEdit(held.kind, layer, head, options.method)] for layer, head in held.all_heads]
    change = held.measured(text, edits, measure) - value
    matrix = as_matrix(change, held.heads)
    layers = tuple(
        np.stack([matrix[layer, :n], matrix[layer, :n] ** 2])[:, None]
        for layer, n in enumerate(held.heads)
    )
    one = np.array([[1.0], [np.nan]])
    own = (np.array([[[value]], [[value**2]]]),)
    return (
        RunningStats((options.info,), layers, one),
        RunningStats((options.metric_info,), own, one.copy()),
    )
