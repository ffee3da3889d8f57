"""A scan: the scores of every head over many texts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bertlens.corpus import stream
from bertlens.corpus.distances import DistanceCounter, HeadDistances, HeadMap
from bertlens.corpus.sources import CountedLines, Errors, sources
from bertlens.corpus.stream import RunSummary
from bertlens.scores.catalogue import BEHAVIOUR, Pattern, select
from bertlens.scores.head_scores import ScoreTable
from bertlens.scores.statistics import RunningStats, ScoreCollector
from bertlens.text.batch import Batch
from bertlens.text.text_model import TextModel

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted of some texts; what was counted of others can be added.

    Attributes:
        tally: of the surface patterns.
        distances: between heads, where they were asked for and a text was counted.
        coverage: what became of the texts.
    """

    tally: RunningStats
    distances: HeadDistances | None
    coverage: RunSummary

    def merged(self, other: Counted) -> Counted:
        """Both together; neither is changed.

        Raises:
            ValueError: they count different things.
        """
        both = self.distances or other.distances
        if self.distances is not None and other.distances is not None:
            both = self.distances.merged(other.distances)
        return Counted(self.tally.merged(other.tally), both, self.coverage.merged(other.coverage))


class Scan(ScoreTable):
    """Scores of every head over a corpus, by name.

    Values are unweighted means over texts (segments), each with its support and a 95% interval over
    texts.

    Attributes:
        coverage: what became of the texts: counted, cut, skipped and why.
        distances: between heads, or None where they were not asked for.
        model_name: of the model.
        dtype: in which the model computed; statistics are float32 or better always.
        counted: the sums behind the scores.
    """

    def __init__(self, counted: Counted, *, model_name: str = "", dtype: str = "float32") -> None:
        super().__init__(counted.tally.scores())
        self.counted = counted
        self.coverage = counted.coverage
        self.distances = counted.distances
        self.model_name = model_name
        self.dtype = dtype

    @property
    def partial(self) -> bool:
        """Whether an interrupt ended the scan before the last text."""
        return self.coverage.partial

    def merged(self, other: Scan) -> Scan:
        """This scan and one of other texts together, as if all had been scanned at once.

        Raises:
            ValueError: the two measure different scores, or models of different shapes.
        """
        return Scan(
            self.counted.merged(other.counted), model_name=self.model_name, dtype=self.dtype
        )

    def map(self, *, seed: int = 0) -> HeadMap:
        """The heads as points in the plane, with their behaviours (Figure 6).

        Raises:
            ValueError: distances were not asked for.
            MissingExtraError: scikit-learn is not installed.
        """
        if self.distances is None:
            raise ValueError("There are no distances: scan with distances=True.")
        labels = self[BEHAVIOUR].labels if BEHAVIOUR in self else None
        return self.distances.map(labels, seed=seed)

    def __repr__(self) -> str:
        return f"<Scan of {self.model_name} ({self.dtype}): {self.coverage}>\n{super().__repr__()}"


def scan(
    lens: TextModel,
    texts: Any,
    *,
    scores: Iterable[str] | None = None,
    tokens: Mapping[str, str | Collection[str]] | None = None,
    segments: int | None = None,
    distances: bool = False,
    truncate: bool = True,
    batch_size: int | None = None,
    progress: bool = True,
    engine: Literal["local", "ray"] = "local",
    workers: int = 2,
    column: str = "text",
    errors: Errors = "strict",
) -> Scan:
    """Score every head over many texts; see `Lens.scan`."""
    if engine not in ("local", "ray"):
        raise ValueError(f'engine must be "local" or "ray", not {engine!r}.')
    if engine == "local" and type(texts).__module__.startswith("ray."):
        raise TypeError('A Ray dataset is scanned with engine="ray".')
    patterns = select(scores, tokens)
    options = CountOptions(patterns, distances, truncate, batch_size)
    try:
        if engine == "ray":
            from bertlens.corpus.ray import count_by_ray

            counted = count_by_ray(
                lens,
                texts,
                options,
                segments=segments,
                workers=workers,
                column=column,
                progress=progress,
                errors=errors,
            )
        else:
            counted = count(
                lens,
                sources(lens, texts, segments, column=column, errors=errors),
                options,
                progress=progress,
                total=_length(texts, segments),
            )
    except Exception as error:
        partial = getattr(error, "partial", None)
        if isinstance(partial, Counted):
            made = Scan(partial, model_name=lens.name, dtype=lens.dtype)
            error.partial = made  # type: ignore[attr-defined]
        raise
    return Scan(counted, model_name=lens.name, dtype=lens.dtype)


@dataclass(frozen=True)
class CountOptions:
    """What to count, and how texts are batched; as in `Lens.scan`."""

    patterns: tuple[Pattern, ...]
    distances: bool = False
    truncate: bool = True
    batch_size: int | None = None


def count(
    lens: TextModel,
    texts: Iterable[Any],
    options: CountOptions,
    *,
    progress: bool = False,
    total: int | None = None,
    start: int = 0,
) -> Counted:
    """Count patterns over texts on this machine, as a stream; `start` is the first one's place."""
    counter = ScoreCollector(lens.tokenizer, options.patterns)
    apart = DistanceCounter() if options.distances else None

    def visit(layer: int, weights: Tensor, batch: Batch) -> None:
        counter.visit(layer, weights, batch)
        if apart is not None:
            apart.visit(layer, weights, batch)

    def commit(batch: Batch) -> None:
        if apart is not None:
            apart.commit(batch)
        counter.commit(batch)

    coverage = RunSummary()
    # Readers of files count the lines that they leave out.
    if isinstance(texts, CountedLines):
        texts = texts.counting(coverage)

    def counted() -> Counted:
        return Counted(counter.stats, apart.distances if apart is not None else None, coverage)

    try:
        stream.stream(
            lens,
            texts,
            visit,
            commit=commit,
            batch_size=options.batch_size,
            truncate=options.truncate,
            progress=progress,
            total=total,
            start=start,
            summary=coverage,
        )
    except Exception as error:
        # What was counted before a late fault is not lost.
        coverage.partial = True
        error.partial = counted()  # type: ignore[attr-defined]
        raise
    return counted()


def _length(texts: Any, segments: int | None) -> int | None:
    if segments is not None or isinstance(texts, str | os.PathLike):
        return None
    try:
        return len(texts)
    except TypeError:
        return None
