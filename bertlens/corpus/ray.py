"""A scan on several processes or machines, by Ray Data.

Each actor holds a copy of the model and counts whole windows of texts with the same code, cut into
the same batches, as a scan on one machine. A window whose actor died is given to another, and its
counts come back once.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from bertlens.corpus.scan import Counted, CountOptions, count
from bertlens.corpus.sources import CountedLines, Errors, sources
from bertlens.corpus.stream import RunSummary, window_size
from bertlens.errors import BertlensError, require
from bertlens.scores.statistics import RunningStats
from bertlens.text.text_model import TextModel

MAX_WINDOWS = 512
"""So many windows are handed to Ray at a time, so that a stream of any length can be counted."""


def count_by_ray(
    lens: TextModel,
    texts: Any,
    options: CountOptions,
    *,
    segments: int | None = None,
    workers: int = 2,
    column: str = "text",
    progress: bool = True,
    errors: Errors = "strict",
) -> Counted:
    """Count patterns over texts by `workers` actors; see `Lens.scan`.

    Ray is started on this machine unless it runs already; what was started is stopped.

    Args:
        texts: as in `Lens.scan`, or a Ray dataset whose texts are in `column`.

    Raises:
        MissingExtraError: Ray is not installed.
        ValueError: fewer workers than one.
    """
    with running(workers):
        from ray.data import Dataset

        if isinstance(texts, Dataset):
            names = texts.columns() or []
            if column not in names:
                raise ValueError(
                    f"The dataset has no column {column!r}; it has {', '.join(map(repr, names))}."
                )
            texts = (row[column] for row in texts.iter_rows())
        found = sources(lens, texts, segments, column=column, errors=errors)
        summary = RunSummary()
        if isinstance(found, CountedLines):
            found = found.counting(summary)
        total = Counted(RunningStats(options.patterns), None, summary)
        try:
            for counted in _results(lens, found, options, workers, progress):
                total = total.merged(counted)
        except KeyboardInterrupt:
            total = replace(total, coverage=replace(total.coverage, partial=True))
        except Exception as error:
            partial = replace(total, coverage=replace(total.coverage, partial=True))
            error.partial = partial  # type: ignore[attr-defined]
            raise
    return total


@contextmanager
def running(workers: int) -> Iterator[None]:
    """Ray runs inside; it is started on this machine unless it runs already, and then stopped.

    Raises:
        MissingExtraError: Ray is not installed.
        ValueError: fewer workers than one.
    """
    require("ray", "ray")
    import ray

    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}.")
    started = not ray.is_initialized()
    if started:
        ray.init(include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    try:
        yield
    finally:
        if started:
            ray.shutdown()


class Worker:
    """An actor: a model, and what to count with it."""

    def __init__(self, model: Any, tokenizer: Any, name: str, options: CountOptions) -> None:
        import ray

        self._lens = TextModel(ray.get(model), ray.get(tokenizer), name=name)
        self._options = options

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Count windows; a row holds a window's place and its texts, pickled.

        A person's mistake comes back in place of counts, so that it can be raised as what it is.
        """
        results = []
        for start, texts in zip(rows["start"], rows["texts"], strict=True):
            made: Counted | Exception
            try:
                made = count(self._lens, pickle.loads(texts), self._options, start=int(start))
            except (BertlensError, TypeError, ValueError) as error:
                made = error
            results.append(pickle.dumps(made))
        return {"counted": np.array(results, dtype=object)}


def _results(
    lens: TextModel, texts: Iterable[Any], options: CountOptions, workers: int, progress: bool
) -> Iterator[Counted]:
    """What was counted of each window, in the order in which the windows are done."""
    import ray
    from tqdm.auto import tqdm

    # Held here to the end: an actor that is started anew fetches them again.
    model, tokenizer = ray.put(lens.model), ray.put(lens.tokenizer)
    ray.data.DataContext.get_current().enable_progress_bars = False
    windows = _windows(texts, window_size(lens, options.batch_size))
    with _quiet("ray.data"), tqdm(unit="text", disable=not progress) as bar:
        while rows := list(islice(windows, MAX_WINDOWS)):
            done = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                Worker,
                fn_constructor_args=(model, tokenizer, lens.name, options),
                batch_size=1,
                compute=ray.data.ActorPoolStrategy(size=min(workers, len(rows))),
                num_cpus=1,
                num_gpus=1 if lens.device.type == "cuda" else None,
            )
            for row in done.iter_rows():
                counted: Counted | Exception = pickle.loads(row["counted"])
                if isinstance(counted, Exception):
                    raise counted
                bar.update(counted.coverage.texts)
                yield counted


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """Only warnings of a logger, for a while."""
    found = logging.getLogger(logger)
    level = found.level
    found.setLevel(logging.WARNING)
    try:
        yield
    finally:
        found.setLevel(level)


def _windows(texts: Iterable[Any], size: int) -> Iterator[dict[str, Any]]:
    source = iter(texts)
    start = 0
    while window := list(islice(source, size)):
        yield {"start": start, "texts": pickle.dumps(window)}
        start += len(window)
