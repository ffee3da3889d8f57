"""Guesses on several processes or machines, by Ray Data: each runs whole windows of sentences."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertlens.corpus.ray import running
from bertlens.corpus.stream import RunSummary, window_size
from bertlens.errors import BertlensError
from bertlens.probes.relations.guesses import Guesses, guess, nothing_picked, word_starts
from bertlens.probes.treebanks.encoded import SentenceOptions
from bertlens.probes.treebanks.treebank import Sentence, Treebank
from bertlens.text.text_model import TextModel


def guess_by_ray(
    lens: TextModel,
    treebank: Treebank,
    options: SentenceOptions,
    *,
    self_attention: bool = False,
) -> Guesses:
    """What `guess` finds, by `workers` actors that each hold a copy of the model.

    Ray is started on this machine unless it runs already; what was started is stopped.

    Args:
        options, self_attention: as in `guess`.

    Raises:
        MissingExtraError: Ray is not installed.
        ValueError: fewer workers than one.
        AnnotationError, TextTooLongError: as `guess` raises.
    """
    coverage = RunSummary()
    picked: NDArray[np.int16] | None = None
    starts = word_starts(treebank)
    with running(options.workers):
        try:
            for first, found in _results(lens, treebank, options, self_attention):
                coverage = coverage.merged(_moved(found.coverage, first))
                if not found.coverage.counted:
                    continue
                if picked is None:
                    picked = nothing_picked(starts, *found.picked.shape[2:])
                at = int(starts[first])
                picked[:, at : at + found.picked.shape[1]] = found.picked
        except KeyboardInterrupt:
            coverage.partial = True
    if picked is None:
        picked = nothing_picked(starts, 1, 1)
    return Guesses(treebank, picked, self_attention, coverage, lens.name)


class Guesser:
    """An actor: a model, and how to guess."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        name: str,
        options: SentenceOptions,
        self_attention: bool,
    ) -> None:
        import ray

        self._lens = TextModel(ray.get(model), ray.get(tokenizer), name=name)
        self._options = replace(options, engine="local", progress=False)
        self._self_attention = self_attention

    def __call__(self, rows: dict[str, Any]) -> dict[str, Any]:
        """Guess windows; a row holds a window's first sentence's place and its sentences."""
        results = []
        for window in rows["sentences"]:
            sentences: list[Sentence] = pickle.loads(window)
            made: Guesses | Exception
            try:
                made = guess(
                    self._lens, sentences, self._options, self_attention=self._self_attention
                )
            except (BertlensError, TypeError, ValueError) as error:
                # Raised here it would come back wrapped, and logged once for each window.
                made = error
            results.append(pickle.dumps(made))
        return {"start": rows["start"], "guesses": np.array(results, dtype=object)}


def _results(
    lens: TextModel, treebank: Treebank, options: SentenceOptions, self_attention: bool
) -> Iterator[tuple[int, Guesses]]:
    import ray
    from tqdm.auto import tqdm

    model, tokenizer = ray.put(lens.model), ray.put(lens.tokenizer)
    ray.data.DataContext.get_current().enable_progress_bars = False
    size = window_size(lens, options.batch_size)
    rows = [
        {"start": start, "sentences": pickle.dumps(list(treebank[start : start + size]))}
        for start in range(0, len(treebank), size)
    ]
    done = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        Guesser,
        fn_constructor_args=(model, tokenizer, lens.name, options, self_attention),
        batch_size=1,
        concurrency=min(options.workers, len(rows)),
        num_cpus=1,
        num_gpus=1 if lens.device.type == "cuda" else None,
    )
    with tqdm(total=len(treebank), unit="sentence", disable=not options.progress) as bar:
        for row in done.iter_rows():
            found: Guesses | Exception = pickle.loads(row["guesses"])
            if isinstance(found, Exception):
                raise found
            bar.update(len(found.treebank))
            yield int(row["start"]), found


def _moved(coverage: RunSummary, start: int) -> RunSummary:
    """The same, with the places of sentences counted from the treebank's first."""
    examples = {
        reason: [start + place for place in places] for reason, places in coverage.examples.items()
    }
    return replace(coverage, examples=examples)
