"""Positions of a model that are no text, and ids that are: tokens to show for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bertlens.errors import EmptyTextError
from bertlens.text.encoding import Encoding, encode
from bertlens.text.generated import continued
from bertlens.text.tokens import Token, Word

Side = tuple[tuple[Token, ...], tuple[Word, ...]]
"""Tokens that attend or are attended to, and their words."""


@dataclass(frozen=True)
class Placeholders:
    """Ids that stand for positions of a picture or sound within a text.

    Attributes:
        what: "image" or "sound".
        grids: (rows, columns) of each run of such ids, as far as the inputs say.
    """

    what: str
    grids: tuple[tuple[int, int], ...] = ()


def labelled(labels: Sequence[str], special: Collection[int] = ()) -> Side:
    """Positions under these labels, each a word of its own.

    Args:
        special: places of those that are no part of the picture or sound.
    """
    tokens, words = [], []
    for i, label in enumerate(labels):
        tokens.append(Token(label, label, None, None, i, 0, i in special))
        words.append(Word(label, (i,), 0, i in special, None if i in special else i))
    return tuple(tokens), tuple(words)


def numbered(n: int) -> Side:
    """Positions of which nothing is known, by number."""
    return labelled([str(i) for i in range(n)])


def of_image(rows: int, columns: int, before: Sequence[str] = ()) -> Side:
    """An image's patches by row and column, as in "image 3,7", after special positions."""
    patches = [f"image {row},{column}" for row in range(rows) for column in range(columns)]
    return labelled([*before, *patches], range(len(before)))


def of_sound(n: int, seconds: float) -> Side:
    """Frames of a sound by the second at which each begins."""
    return labelled([f"{i * seconds:.2f} s" for i in range(n)])


def of_ids(
    tokenizer: Any,
    ids: Sequence[int],
    segments: Sequence[int] | None = None,
    placeholders: dict[int, Placeholders] | None = None,
) -> Encoding:
    """Ids as the tokens and words that the tokenizer reads them as.

    Args:
        segments: 0 for each token of the first text and then 1 for the second's.
        placeholders: ids that stand for a picture or sound.
    """
    split = len(ids)
    if segments is not None and set(segments) == {0, 1}:
        first = list(segments).index(1)
        split = first if 0 not in segments[first:] else split
    bare = list(tokenizer("", verbose=False)["input_ids"])
    parts = [_parted(list(part), bare, i) for i, part in enumerate((ids[:split], ids[split:]))]
    placeholders = placeholders or {}
    encoding = _read_again(tokenizer, ids, [own for _, own, _ in parts], placeholders)
    if encoding is None:
        encoding = Encoding(inputs={}, tokens=(), words=(), text="")
        for segment, (before, own, after) in enumerate(parts):
            encoding = _with_specials(tokenizer, encoding, before, segment)
            if own:
                encoding = continued(
                    tokenizer, encoding, own, segment=segment, special=placeholders
                )
            encoding = _with_specials(tokenizer, encoding, after, segment)
    return _with_places(encoding, ids, placeholders) if placeholders else encoding


def _parted(
    ids: list[int], bare: list[int], segment: int
) -> tuple[list[int], list[int], list[int]]:
    """What the tokenizer put before a text, the text, and what it put after it.

    The text is without these, so that it gives the same ids again.
    """
    start = int(segment == 0 and bool(ids) and bool(bare) and ids[0] == bare[0])
    end = len(ids) - int(len(ids) > start and bool(bare) and ids[-1] == bare[-1])
    return ids[:start], ids[start:end], ids[end:]


def _read_again(
    tokenizer: Any, ids: Sequence[int], parts: Sequence[list[int]], placeholders: Collection[int]
) -> Encoding | None:
    """The text of these ids, tokenized: labels and words as for any text; None if ids differ."""
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    texts = [str(tokenizer.decode(part, **options)) for part in parts if part]
    try:
        encoding = encode(tokenizer, *texts)
    except (EmptyTextError, TypeError):
        return None
    if encoding.inputs["input_ids"] != list(ids):
        return None
    lone = all(
        len(encoding.words[token.word].tokens) == 1
        for number, token in zip(ids, encoding.tokens, strict=True)
        if number in placeholders
    )
    return encoding if lone else None


def _with_specials(
    tokenizer: Any, encoding: Encoding, ids: Sequence[int], segment: int
) -> Encoding:
    for piece in map(str, tokenizer.convert_ids_to_tokens(list(ids))):
        token = Token(piece, piece, None, None, len(encoding.words), segment, True)
        word = Word(piece, (len(encoding.tokens),), segment, True, None)
        encoding = replace(
            encoding, tokens=(*encoding.tokens, token), words=(*encoding.words, word)
        )
    return encoding


def _with_places(
    encoding: Encoding, ids: Sequence[int], placeholders: dict[int, Placeholders]
) -> Encoding:
    """The same with the labels of pictures and sounds; they are no special tokens."""
    tokens, words = list(encoding.tokens), list(encoding.words)
    for own in placeholders.values():
        runs = _runs(ids, lambda i, own=own: placeholders.get(i) == own)  # type: ignore[misc]
        for k, run in enumerate(runs):
            grid = own.grids[k] if k < len(own.grids) else None
            name = own.what if len(runs) == 1 else f"{own.what} {k}:"
            for i, place in zip(run, _places(len(run), grid), strict=True):
                label = f"{name} {place}"
                tokens[i] = replace(tokens[i], label=label, start=None, end=None, special=False)
                word = words[tokens[i].word]
                words[tokens[i].word] = replace(word, text=label, special=False)
    counts = [0, 0]
    for w, word in enumerate(words):
        if not word.special:
            words[w] = replace(word, index=counts[word.segment])
            counts[word.segment] += 1
    return replace(encoding, tokens=tuple(tokens), words=tuple(words))


def _runs(ids: Sequence[int], wanted: Callable[[int], bool]) -> list[list[int]]:
    """Places of ids that are wanted, neighbours together."""
    runs: list[list[int]] = []
    for i, number in enumerate(ids):
        if not wanted(number):
            continue
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _places(n: int, grid: tuple[int, int] | None) -> list[str]:
    """Row and column of each of n positions in a grid or a square, else their numbers."""
    side = math.isqrt(n)
    rows, columns = grid or (side, side)
    if rows * columns != n or n == 1:
        return [str(i) for i in range(n)]
    return [f"{row},{column}" for row in range(rows) for column in range(columns)]
