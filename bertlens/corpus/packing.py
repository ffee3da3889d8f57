"""Segments as the paper made them: `[CLS] A [SEP] B [SEP]`, packed with sentences until full."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bertlens.text.tokenizing import tokenizing

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# A sentence ends after . ! ? or their East Asian kin, with quotes or brackets that close after it.
_ENDS = re.compile(r"""(?<=[.!?…])["'”’)\]]*\s+|(?<=[。！？])["”’」』）]*""")
_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|[A-Z])\.$")


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph, cut after full stops, question and exclamation marks.

    A plain rule that knows titles and initials but no other abbreviation: what hangs on it is only
    where a segment is cut.
    """
    found, start = [], 0
    for end in _ENDS.finditer(paragraph):
        if _ABBREVIATED.search(paragraph[start : end.start()]):
            continue
        found.append(paragraph[start : end.end()].strip())
        start = end.end()
    found.append(paragraph[start:].strip())
    return [sentence for sentence in found if sentence]


def packed(
    tokenizer: PreTrainedTokenizerBase, paragraphs: Iterable[Any], size: int = 128
) -> Iterator[str | tuple[str, str]]:
    """Pairs of texts that fill `size` tokens as far as whole sentences do (paper section 3).

    Sentences are taken in order, across paragraphs, until the next would not fit; the run is cut
    into A and B after the sentence that leaves them most alike in length. A sentence longer than a
    segment is cut at words into pieces that fit. A run of one sentence is a single text.

    Args:
        paragraphs: strings; an empty one ends a document, and no segment crosses it.
        size: the most tokens of a segment, delimiters included.

    Raises:
        TypeError: a paragraph is no string.
        ValueError: no token fits between the delimiters.
    """
    room = size - tokenizer.num_special_tokens_to_add(pair=True)
    if room < 2:
        raise ValueError(f"Segments of {size} tokens leave no room for text; take more.")
    run: list[tuple[str, int]] = []
    for number, paragraph in enumerate(paragraphs):
        if not isinstance(paragraph, str):
            kind = type(paragraph).__name__
            raise TypeError(
                f"segments= packs paragraphs: text {number} must be a string, not {kind}."
            )
        if not paragraph.strip():
            yield from _cut(run)
            run = []
        for piece, length in _pieces(tokenizer, paragraph, room):
            if run and sum(n for _, n in run) + length > room:
                yield from _cut(run)
                run = []
            run.append((piece, length))
    yield from _cut(run)


def _pieces(
    tokenizer: PreTrainedTokenizerBase, paragraph: str, room: int
) -> Iterator[tuple[str, int]]:
    """Sentences with their length in tokens, the long ones cut at words."""
    for sentence in sentences(paragraph):
        length = _length(tokenizer, sentence)
        if length <= room:
            yield sentence, length
            continue
        piece, so_far = "", 0
        for word in sentence.split():
            longer = f"{piece} {word}".strip()
            length = _length(tokenizer, longer)
            if piece and length > room:
                yield piece, so_far
                piece, so_far = word, _length(tokenizer, word)
            else:
                piece, so_far = longer, length
        yield piece, so_far


def _length(tokenizer: PreTrainedTokenizerBase, text: str) -> int:
    # A space before, as the text has it inside a segment: byte-level BPE counts it.
    with tokenizing(tokenizer):
        return len(tokenizer(" " + text, add_special_tokens=False, verbose=False)["input_ids"])


def _cut(run: list[tuple[str, int]]) -> Iterator[str | tuple[str, str]]:
    if not run:
        return
    if len(run) == 1:
        yield run[0][0]
        return
    lengths = [n for _, n in run]
    total = sum(lengths)
    cut = min(range(1, len(run)), key=lambda i: (abs(total - 2 * sum(lengths[:i])), i))
    texts = [text for text, _ in run]
    yield " ".join(texts[:cut]), " ".join(texts[cut:])
