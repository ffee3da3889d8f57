"""Tokens and words, as a person reads them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a text.

    Attributes:
        text: the tokenizer's own piece, such as "##berries" or "Ġstore".
        label: what a person reads: the original characters, "I" rather than "i". Where several
            tokens share a character, the first shows it and the others show "⋮".
        start, end: character span in the text of its segment, without space around it; None for
            special tokens and where the tokenizer gives no offsets.
        word: index into the words of the text.
        segment: 0 or 1; a special token belongs to the segment it closes.
        special: whether it is a delimiter such as [CLS] rather than text.
    """

    text: str
    label: str
    start: int | None
    end: int | None
    word: int
    segment: int
    special: bool


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its tokens; every special token is a word of its own.

    Attributes:
        text: the original characters.
        tokens: indices of its tokens, in order.
        segment, special: as in Token.
        index: its place in the `words=` that were given, or among the words of its segment;
            None for special tokens.
    """

    text: str
    tokens: tuple[int, ...]
    segment: int
    special: bool
    index: int | None
