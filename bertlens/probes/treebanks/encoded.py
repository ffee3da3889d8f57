"""Annotated words as tokens: which sentences the model can take, and counts of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from torch import Tensor

from bertlens.corpus import stream
from bertlens.corpus.stream import RunSummary
from bertlens.errors import AnnotationError, EmptyTextError, TextTooLongError
from bertlens.probes.treebanks.treebank import Errors, Sentence, Treebank, checked_errors
from bertlens.text.batch import Batch
from bertlens.text.encoding import Encoding, encode
from bertlens.text.text_model import TextModel

Long: TypeAlias = Literal["skip", "cut", "error"]

BATCH_SIZE = 32
"""Sentences at once: they are short, so more than `Lens.scan` takes of long texts."""


@dataclass(frozen=True)
class SentenceOptions:
    """How sentences go through the model.

    Attributes:
        long: a sentence of more tokens than the model takes is left out ("skip"), loses its last
            words ("cut"), or is an "error".
        errors: a word without a token of its own is an error ("raise"), or its sentence is left
            out ("skip").
        batch_size: the maximum number of sentences at once; None is as in `Lens.scan`.
        progress: show a progress bar.
        engine: "local", or "ray" for several processes or machines.
        workers: how many copies of the model Ray runs.

    Raises:
        ValueError: another value of `long`, `errors` or `engine`.
    """

    long: Long = "skip"
    errors: Errors = "raise"
    batch_size: int | None = BATCH_SIZE
    progress: bool = True
    engine: Literal["local", "ray"] = "local"
    workers: int = 2

    def __post_init__(self) -> None:
        checked_errors(self.errors)
        if self.long not in ("skip", "cut", "error"):
            raise ValueError(f'long must be "skip", "cut" or "error", not {self.long!r}.')
        if self.engine not in ("local", "ray"):
            raise ValueError(f'engine must be "local" or "ray", not {self.engine!r}.')


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence's words as tokens: all of them, unless it had to be truncated.

    Attributes:
        index: its place in the treebank.
        encoding: its tokens.
        n_words: how many words the encoding has, special tokens not counted.
    """

    index: int
    encoding: Encoding
    n_words: int


def encode_sentences(
    lens: TextModel, sentences: Iterable[Sentence], summary: RunSummary, options: SentenceOptions
) -> Iterator[EncodedSentence]:
    """Tokenize sentences word by word, one at a time; `summary` counts those left out or truncated.

    Raises:
        TextTooLongError, AnnotationError: see SentenceOptions; the sentence is named.
    """
    limit = lens.max_tokens
    for index, sentence in enumerate(sentences):
        where = sentence.source or f"sentence {index}"
        try:
            encoding = encode_words(lens, sentence.words, where)
        except AnnotationError:
            if options.errors == "raise":
                raise
            summary.skip_unseen("a word without tokens", index)
            continue
        n_words = len(sentence)
        if limit is not None and len(encoding) > limit:
            if options.long == "error":
                raise TextTooLongError(
                    f'{where} has {len(encoding)} tokens and the model takes {limit}. Pass long="'
                    'skip" to leave such sentences out, or long="cut" to cut their last words.'
                )
            n_words = whole_words(encoding, limit)
            if options.long == "skip" or not n_words:
                summary.skip_unseen("too long", index)
                continue
            summary.truncate(index)
            encoding = encode_words(lens, sentence.words[:n_words], where)
        yield EncodedSentence(index, encoding, n_words)


class Collector(Protocol):
    """Takes a layer of a batch at a time, and the batch once all its layers were visited."""

    def visit(self, layer: int, weights: Tensor, batch: Batch) -> None: ...

    def commit(self, batch: Batch) -> None: ...


def stream_sentences(
    lens: TextModel, treebank: Treebank, collector: Collector, options: SentenceOptions
) -> RunSummary:
    """Run the sentences that the model can take, and show each layer's weights to `collector`.

    Returns:
        The counts of sentences by outcome; a batch's items are EncodedSentence.

    Raises:
        TextTooLongError, AnnotationError: as `encode_sentences`.
    """
    summary = RunSummary()
    return stream.stream(
        lens,
        encode_sentences(lens, treebank, summary, options),
        collector.visit,
        commit=collector.commit,
        text_of=lambda sentence: sentence.encoding,
        batch_size=options.batch_size,
        progress=options.progress,
        total=len(treebank),
        summary=summary,
    )


def encode_words(lens: TextModel, words: Sequence[str], where: str) -> Encoding:
    """The tokens of words, however many; every word has one.

    Raises:
        AnnotationError: a word gives no token.
    """
    try:
        encoding = encode(lens.tokenizer, list(words))
        indices = {word.index for word in encoding.words}
    except EmptyTextError:
        indices = set()
    missing = [i for i in range(len(words)) if i not in indices]
    if missing:
        i = missing[0]
        raise AnnotationError(
            f"{where}: word {i + 1} ({words[i]!r}) gives no token of this model. "
            'Take it out of the sentence, or pass errors="skip" to leave such sentences out.'
        )
    return encoding


def whole_words(encoding: Encoding, limit: int) -> int:
    """How many of the first words fit whole into `limit` tokens, special tokens included."""
    special = sum(token.special for token in encoding.tokens)
    fitting, used = 0, special
    for word in encoding.words:
        if word.index is None:
            continue
        used += len(word.tokens)
        if used > limit:
            break
        fitting += 1
    return fitting
