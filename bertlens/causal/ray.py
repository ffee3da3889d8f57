"""Effects on several processes or machines: each holds a copy of the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from bertlens.causal.effects import Counted, Options, count
from bertlens.corpus.ray import running
from bertlens.corpus.stream import RunSummary
from bertlens.errors import BertlensError
from bertlens.scores.statistics import RunningStats
from bertlens.text.text_model import TextModel

TEXTS_AT_ONCE = 4
"""Texts of one task: each is run once for every head, so a few are enough."""


def effects_by_ray(
    lens: TextModel, texts: Iterable[Any], options: Options, *, workers: int, progress: bool
) -> Counted:
    """What `count` finds, by `workers` actors; see `effects`.

    Ray is started on this machine unless it runs already; what was started is stopped.

    Raises:
        MissingExtraError: Ray is not installed.
        ValueError: fewer workers than one.
    """
    total = Counted(
        RunningStats((options.info,)), RunningStats((options.metric_info,)), RunSummary()
    )
    with running(workers):
        try:
            for counted in _results(lens, texts, options, workers, progress):
                total = total.merged(counted)
        except KeyboardInterrupt:
            total.summary.partial = True
    return total


class Worker:
    """An actor: a model, and what to count with it."""

    def __init__(self, model: Any, tokenizer: Any, name: str, options: Options) -> None:
        self._lens = TextModel(model, tokenizer, name=name)
        self._options = options

    def count(self, start: int, texts: list[Any]) -> Counted | Exception:
        """Count some texts; a caller's mistake comes back, to be raised as what it is."""
        try:
            return count(self._lens, texts, self._options, start=start)
        except (BertlensError, TypeError, ValueError, IndexError) as error:
            return error


def _results(
    lens: TextModel, texts: Iterable[Any], options: Options, workers: int, progress: bool
) -> Iterator[Counted]:
    import ray
    from ray.util import ActorPool
    from tqdm.auto import tqdm

    actor: Any = ray.remote(num_cpus=1, num_gpus=int(lens.device.type == "cuda"))(Worker)
    model, tokenizer = ray.put(lens.model), ray.put(lens.tokenizer)
    actors = [actor.remote(model, tokenizer, lens.name, options) for _ in range(workers)]
    pool: Any = ActorPool(actors)
    waiting = _windows(texts)
    with tqdm(unit="text", disable=not progress) as bar:
        # A few tasks ahead of each actor, so that a stream of any length can be counted.
        for start, window in islice(waiting, 2 * workers):
            pool.submit(lambda a, v: a.count.remote(*v), (start, window))
        while pool.has_next():
            counted = pool.get_next_unordered()
            if isinstance(counted, Exception):
                raise counted
            for start, window in islice(waiting, 1):
                pool.submit(lambda a, v: a.count.remote(*v), (start, window))
            bar.update(counted.summary.texts)
            yield counted


def _windows(texts: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    source, start = iter(texts), 0
    while window := list(islice(source, TEXTS_AT_ONCE)):
        yield start, window
        start += len(window)
