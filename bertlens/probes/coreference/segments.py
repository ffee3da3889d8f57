"""Documents cut to what a model sees at once: whole sentences, packed until a segment is full."""

from __future__ import annotations

from collections.abc import Sequence

from bertlens.errors import AnnotationError
from bertlens.probes.coreference.documents import Document
from bertlens.probes.treebanks.encoded import encode_words
from bertlens.probes.treebanks.pooling import word_tokens
from bertlens.text.encoding import Encoding
from bertlens.text.text_model import TextModel

MAX_TOKENS = 510
"""Wordpieces of a segment by default, special tokens not counted: what BERT takes."""


def word_lengths(lens: TextModel, document: Document) -> list[int]:
    """How many tokens each word of a document has.

    Raises:
        AnnotationError: a word has none.
    """
    lengths: list[int] = []
    for start, end in document.sentences:
        where = f"{document.name}, sentence at word {start}"
        encoding = encode_words(lens, document.words[start:end], where)
        lengths += [len(tokens) for tokens in word_tokens(encoding)]
    return lengths


def segments(
    sentences: Sequence[tuple[int, int]], lengths: Sequence[int], most: int, name: str = "document"
) -> list[tuple[int, int]]:
    """[start, end) words of each segment: sentences in order, as many as fit.

    Args:
        sentences: [start, end) each.
        lengths: tokens of each word.
        most: tokens of a segment. A longer sentence is cut at words.
        name: of the document, for errors.

    Raises:
        AnnotationError: a single word is longer than a segment.
    """
    found: list[tuple[int, int]] = []
    start, used = 0, 0
    for begin, end in sentences:
        size = sum(lengths[begin:end])
        if used and used + size > most:
            found.append((start, begin))
            start, used = begin, 0
        for word in range(begin, end):
            if lengths[word] > most:
                raise AnnotationError(
                    f"{name}: word {word} has {lengths[word]} tokens and a segment holds {most}. "
                    "Pass a larger max_tokens."
                )
            if used + lengths[word] > most:
                found.append((start, word))
                start, used = word, 0
            used += lengths[word]
    if used:
        found.append((start, sentences[-1][1]))
    return found


def most_tokens(lens: TextModel, wanted: int | None, special: int) -> int:
    """How many tokens a segment may have, special ones not counted.

    Raises:
        ValueError: less than one, or more than the model takes.
    """
    limit = None if lens.max_tokens is None else lens.max_tokens - special
    if wanted is None:
        return MAX_TOKENS if limit is None else min(MAX_TOKENS, limit)
    if wanted < 1 or (limit is not None and wanted > limit):
        bound = "" if limit is None else f" and at most {limit}, which is what the model takes"
        raise ValueError(f"max_tokens must be at least 1{bound}; got {wanted}.")
    return wanted


def special_tokens(lens: TextModel) -> int:
    """How many special tokens the tokenizer puts around a text."""
    encoding: Encoding = lens.encode(words=["a"])
    return sum(token.special for token in encoding.tokens)
