"""Annotated words as tokens: which sentences the model can take, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from torch import Tensor

from bertlens.corpus import stream
from bertlens.corpus.stream import Batch, RunSummary
from bertlens.errors import AnnotationError, EmptyTextError, TextTooLongError
from bertlens.probes.treebanks.treebank import Errors, Sentence, Treebank, checked_errors
from bertlens.text.encoding import Encoding, encode
from bertlens.text.text_model import TextModel

Long: TypeAlias = Literal["skip", "cut", "error"]

AT_ONCE = 32
"""Sentences are short: so many at once take less time than `Lens.scan`'s batches of long texts."""


@dataclass(frozen=True, slots=True)
class EncodedSentence:
    """A sentence's first words as the model reads them: all of them, unless it had to be cut.

    Attributes:
        index: its place in the treebank.
        encoding: its tokens.
        n_words: how many words the encoding has, special tokens not counted.
    """

    index: int
    encoding: Encoding
    n_words: int


def encode_sentences(
    lens: TextModel,
    sentences: Iterable[Sentence],
    coverage: RunSummary,
    *,
    long: Long = "skip",
    errors: Errors = "raise",
) -> Iterator[EncodedSentence]:
    """Tokenize sentences word by word, one at a time; what is left out is counted in `coverage`.

    Args:
        long: a sentence of more tokens than the model takes is left out ("skip"), loses its last
            words ("cut"), or is an "error".
        errors: a word without a token of its own is an error ("raise"), or its sentence is left
            out ("skip").

    Raises:
        TextTooLongError, AnnotationError: see above; the sentence is named.
        ValueError: another value of `long` or `errors`.
    """
    checked_errors(errors)
    if long not in ("skip", "cut", "error"):
        raise ValueError(f'long must be "skip", "cut" or "error", not {long!r}.')
    return _encoded(lens, sentences, coverage, long, errors)


def _encoded(
    lens: TextModel, sentences: Iterable[Sentence], coverage: RunSummary, long: Long, errors: Errors
) -> Iterator[EncodedSentence]:
    limit = lens.max_tokens
    for index, sentence in enumerate(sentences):
        coverage.texts += 1
        where = sentence.source or f"sentence {index}"
        try:
            encoding = encode_words(lens, sentence.words, where)
        except AnnotationError:
            if errors == "raise":
                raise
            coverage.skip("a word without tokens", index)
            continue
        n_words = len(sentence)
        if limit is not None and len(encoding) > limit:
            if long == "error":
                raise TextTooLongError(
                    f'{where} has {len(encoding)} tokens and the model takes {limit}. Pass long="'
                    'skip" to leave such sentences out, or long="cut" to cut their last words.'
                )
            n_words = whole_words(encoding, limit)
            if long == "skip" or not n_words:
                coverage.skip("too long", index)
                continue
            coverage.cut += 1
            coverage.note("cut", index)
            encoding = encode_words(lens, sentence.words[:n_words], where)
        yield EncodedSentence(index, encoding, n_words)


class Collector(Protocol):
    """Takes a layer of a batch at a time, and the batch once it was shown whole."""

    def visit(self, layer: int, weights: Tensor, batch: Batch) -> None: ...

    def commit(self, batch: Batch) -> None: ...


def sweep_sentences(
    lens: TextModel,
    treebank: Treebank,
    collector: Collector,
    *,
    long: Long = "skip",
    errors: Errors = "raise",
    batch_size: int | None = AT_ONCE,
    progress: bool = True,
) -> RunSummary:
    """Run the sentences that the model can take, and show each layer's weights to `collector`.

    Args:
        long, errors: as in `encode_sentences`, which says what is raised.
        batch_size: the most sentences at once; None is as in `Lens.scan`.
        progress: show a progress bar.

    Returns:
        What became of the sentences; a batch's items are EncodedSentence.
    """
    coverage = RunSummary()
    swept = stream.stream(
        lens,
        encode_sentences(lens, treebank, coverage, long=long, errors=errors),
        collector.visit,
        commit=collector.commit,
        text_of=lambda sentence: sentence.encoding,
        batch_size=batch_size,
        progress=progress,
        total=len(treebank),
    )
    coverage.counted, coverage.partial = swept.counted, swept.partial
    return coverage


def encode_words(lens: TextModel, words: Sequence[str], where: str) -> Encoding:
    """The tokens of words, however many; every word has one.

    Raises:
        AnnotationError: a word gives no token.
    """
    try:
        encoding = encode(lens.tokenizer, list(words))
        found = {word.index for word in encoding.words}
    except EmptyTextError:
        found = set()
    missing = [i for i in range(len(words)) if i not in found]
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
