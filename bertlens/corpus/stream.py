"""Many texts through a model, as a stream: batches by length, progress, partial results.

Memory does not grow with the number of texts: a bounded window of them is tokenized ahead, sorted
by length, cut into batches and run, and each layer's weights live only while they are visited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from torch import Tensor

from bertlens import capture
from bertlens.capture.interrupts import protected
from bertlens.errors import EmptyTextError, TextTooLongError
from bertlens.text.batch import Batch, token_mask
from bertlens.text.encoding import Encoding
from bertlens.text.text_model import TextModel

Text: TypeAlias = str | tuple[Any, ...] | list[str] | Encoding
"""A string; a pair, as a tuple of two strings (or of two word lists); a list of words; or what
`Lens.encode` made of one of these."""

PREFETCH_BATCHES = 32
"""So many batches' worth of texts are tokenized ahead, so that texts of one length meet."""

MAX_WEIGHTS = 2**23
"""A batch's weights of one layer hold at most so many numbers (32 MB of float32) on a CPU, and
eight times as many elsewhere."""


@dataclass
class RunSummary:
    """Counts of texts processed, truncated and skipped, by reason.

    Attributes:
        texts: how many were read.
        counted: how many went through the model and into the result.
        truncated: how many of those were cut to what the model takes.
        skipped: how many were left out, by reason ("empty", "too long").
        examples: the places of the first few texts that were cut or skipped, by reason.
        partial: whether an interrupt ended the run before the last text.
    """

    texts: int = 0
    counted: int = 0
    truncated: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[int]] = field(default_factory=dict)
    partial: bool = False

    EXAMPLES = 10

    def note(self, reason: str, index: int) -> None:
        """Remember the place of a text that was cut or skipped."""
        places = self.examples.setdefault(reason, [])
        if len(places) < self.EXAMPLES:
            places.append(index)

    def skip(self, reason: str, index: int) -> None:
        """Count a text that was left out."""
        self.skipped[reason] += 1
        self.note(reason, index)

    def skip_unseen(self, reason: str, index: int) -> None:
        """Count a text that was left out before `stream` could count it as read."""
        self.texts += 1
        self.skip(reason, index)

    def truncate(self, index: int) -> None:
        """Count a text that was cut to what the model takes."""
        self.truncated += 1
        self.note("cut", index)

    @property
    def cut(self) -> int:
        """The former name of `truncated`."""
        return self.truncated

    def merged(self, other: RunSummary) -> RunSummary:
        """Both together; neither is changed."""
        both = {**self.examples}
        for reason, places in other.examples.items():
            both[reason] = [*both.get(reason, []), *places][: self.EXAMPLES]
        return RunSummary(
            self.texts + other.texts,
            self.counted + other.counted,
            self.truncated + other.truncated,
            self.skipped + other.skipped,
            both,
            self.partial or other.partial,
        )

    def __str__(self) -> str:
        parts = [f"{self.counted} of {self.texts} texts counted"]
        if self.truncated:
            parts.append(f"{self.truncated} cut to the model's limit")
        parts += [f"{n} skipped ({reason})" for reason, n in sorted(self.skipped.items())]
        if self.partial:
            parts.append("partial: interrupted")
        return ", ".join(parts)


Visit: TypeAlias = Callable[[int, Tensor, Batch], None]
"""Takes a layer's index, its weights [batch, heads, from, to] and the batch."""


def stream(
    lens: TextModel,
    texts: Iterable[Any],
    visit: Visit,
    *,
    commit: Callable[[Batch], None] = lambda batch: None,
    text_of: Callable[[Any], Text] = lambda item: item,
    layers: Collection[int] | None = None,
    batch_size: int | None = None,
    truncate: bool = True,
    progress: bool = True,
    total: int | None = None,
    start: int = 0,
    summary: RunSummary | None = None,
) -> RunSummary:
    """Run every text through the model and show each layer's weights to `visit`.

    The model is held a batch at a time, so that a widget on the same model gets its turn. An
    interrupt (Ctrl-C, the kernel's stop button) ends the run; what was committed stays counted and
    the coverage says that it is partial.

    Args:
        texts: any iterable, read once; `text_of` makes a Text of each item.
        visit: called for each batch and each of `layers`, in order; the weights are eager's, in the
            model's dtype on its device, and live only during the call.
        commit: called once a batch has been shown whole. Add to a result here rather than in
            `visit`, so that an interrupt leaves no batch half counted.
        layers: only these; all by default.
        batch_size: the most texts at once; by default 8 on a CPU and 32 elsewhere.
        truncate: cut texts that are too long, instead of skipping them; both are counted.
        progress: show a progress bar.
        total: how many texts there are, where `len(texts)` does not say.
        start: the place of the first text, where the texts are a part of a corpus.
        summary: to count into, where `texts` is a generator that counts what it leaves out; the
            same comes back.

    Raises:
        TypeError: an item is no text; the message says which.
        ValueError: a batch size below 1.
    """
    coverage = RunSummary() if summary is None else summary

    @protected
    def settle(batch: Batch) -> None:
        # Whole or not at all, also if Ctrl-C comes meanwhile.
        commit(batch)
        coverage.counted += len(batch)

    with _bar(texts, progress, total) as bar:
        try:
            found = batches(
                lens,
                texts,
                coverage,
                text_of=text_of,
                batch_size=batch_size,
                truncate=truncate,
                start=start,
            )
            for batch, inputs in found:
                run(lens, batch, inputs, visit, layers=layers)
                settle(batch)
                bar.update(coverage.counted + coverage.skipped.total() - bar.n)
            bar.update(coverage.texts - bar.n)
        except KeyboardInterrupt:
            coverage.partial = True
    return coverage


def run(
    lens: TextModel,
    batch: Batch,
    inputs: dict[str, Tensor],
    visit: Visit,
    *,
    layers: Collection[int] | None = None,
) -> None:
    """Run one batch through the model; see `stream`."""
    capture.stream(
        lens.model, inputs, lambda layer, weights: visit(layer, weights, batch), layers=layers
    )


def batches(
    lens: TextModel,
    texts: Iterable[Any],
    coverage: RunSummary,
    *,
    text_of: Callable[[Any], Text] = lambda item: item,
    batch_size: int | None = None,
    truncate: bool = True,
    start: int = 0,
) -> Iterator[tuple[Batch, dict[str, Tensor]]]:
    """Tokenized batches of texts of like length, with the model's inputs.

    Texts are taken from a window ahead, the longest of it first, and counted in `coverage`. The
    first one's place is `start`.
    """
    size = window_size(lens, batch_size) // PREFETCH_BATCHES
    heads = capture.most_heads(lens.model)
    source = enumerate(texts, start)
    while window := list(islice(source, PREFETCH_BATCHES * size)):
        found = list(encoded(lens, window, coverage, text_of=text_of, truncate=truncate))
        yield from _cut(lens, found, size, heads)


def window_size(lens: TextModel, batch_size: int | None) -> int:
    """How many texts are read ahead; a corpus cut at its multiples gives the same batches.

    Raises:
        ValueError: a batch size below 1.
    """
    if batch_size is None:
        batch_size = 8 if lens.device.type == "cpu" else 32
    if batch_size < 1:
        raise ValueError(f"The batch size must be at least 1, not {batch_size}.")
    return PREFETCH_BATCHES * batch_size


def encoded(
    lens: TextModel,
    texts: Iterable[tuple[int, Any]],
    coverage: RunSummary,
    *,
    text_of: Callable[[Any], Text] = lambda item: item,
    truncate: bool = True,
) -> Iterator[tuple[int, Any, Encoding]]:
    """(place, item, tokens) of every (place, item) that can be run, one at a time."""
    for index, item in texts:
        coverage.texts += 1
        try:
            yield index, item, encode_item(lens, text_of(item))
        except EmptyTextError:
            coverage.skip("empty", index)
        except TextTooLongError:
            if not truncate:
                coverage.skip("too long", index)
                continue
            coverage.truncate(index)
            yield index, item, encode_item(lens, text_of(item), truncate=True)
        except TypeError as error:
            raise TypeError(f"Text {index} of the corpus: {error}") from None


def encode_item(lens: TextModel, text: Text, *, truncate: bool = False) -> Encoding:
    """Tokenize a Text.

    Raises:
        TypeError: it is none.
        EmptyTextError, TextTooLongError: as in `Lens.encode`.
    """
    if isinstance(text, Encoding):
        return text
    if isinstance(text, str):
        return lens.encode(text, truncate=truncate)
    if isinstance(text, tuple) and len(text) == 2:
        first, second = text
        if isinstance(first, str) and isinstance(second, str):
            return lens.encode(first, second, truncate=truncate)
        if not isinstance(first, str) and not isinstance(second, str):
            return lens.encode(words=first, words_pair=second, truncate=truncate)
    if isinstance(text, list) and all(isinstance(word, str) for word in text):
        if not text:
            raise EmptyTextError("There are no words in the list.")
        return lens.encode(words=text, truncate=truncate)
    raise TypeError(
        "A text is a string, a tuple of two strings (a pair) or a list of strings (words); "
        f"got {text!r:.80}."
    )


def _cut(
    lens: TextModel, window: list[tuple[int, Any, Encoding]], batch_size: int, heads: int
) -> Iterator[tuple[Batch, dict[str, Tensor]]]:
    # The longest first: a batch that does not fit in memory shows at once, not after an hour.
    window.sort(key=lambda read: -len(read[2]))
    most = MAX_WEIGHTS if lens.device.type == "cpu" else 8 * MAX_WEIGHTS
    start = 0
    while start < len(window):
        longest = len(window[start][2])
        fits = max(1, min(batch_size, most // (heads * longest**2)))
        indices, items, encodings = zip(*window[start : start + fits], strict=True)
        mask = token_mask(encodings).to(lens.device)
        yield Batch(items, indices, encodings, mask), lens.tensors(encodings)
        start += fits


def _bar(texts: Iterable[Any], progress: bool, total: int | None) -> Any:
    from tqdm.auto import tqdm

    if total is None:
        try:
            total = len(texts)  # type: ignore[arg-type]
        except TypeError:
            total = None
    return tqdm(total=total, unit="text", disable=not progress)
