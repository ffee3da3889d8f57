"""Readable labels: what a person sees for a piece of text."""

from __future__ import annotations

import unicodedata

SAME = "⋮"
"""The label of a further token of a character that the token before shows already."""

SPACE_MARKS = ("▁", "Ġ")
"""With these a piece says that a space comes before it (SentencePiece, byte-level BPE)."""

WORD_MARKS = (*SPACE_MARKS, " ")
"""With these a word begins, where no offsets tell."""

CONTINUES = "@@"
"""At its end a piece says that its word goes on (subword-nmt: FSMT, XLM, BERTweet)."""


def goes_on(piece: str) -> bool:
    """Whether a piece says at its end that its word goes on."""
    return piece.endswith(CONTINUES) and piece != CONTINUES


_VISIBLE = {" ": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥"}


def shown(text: str) -> str:
    """The characters without space around them; what cannot be seen is made visible.

    Space becomes a sign; joiners, selectors and control characters alone are named by their
    code, as in "U+200D".
    """
    bare = text.strip()
    if bare and not all(map(_unseen, bare)):
        return bare
    return "".join(_visible(c) for c in bare or text)


def from_piece(piece: str) -> str:
    """A label for a piece of a tokenizer that gives no offsets."""
    bare = piece.removeprefix("##").removesuffix("</w>")
    if goes_on(bare):
        bare = bare.removesuffix(CONTINUES)
    for mark in SPACE_MARKS:
        bare = bare.replace(mark, "")
    return shown(bare) if bare else "␣" if piece in SPACE_MARKS else piece


def is_lone_mark(piece: str) -> bool:
    """Whether a piece is nothing but marks of a space."""
    return bool(piece) and not piece.strip("".join(SPACE_MARKS))


def is_mark(character: str) -> bool:
    """Whether a character is written on the one before it: an accent, a vowel sign, a voicing."""
    return unicodedata.category(character).startswith("M") or character in "ﾞﾟ"


def joins(before: str, after: str) -> bool:
    """Whether two neighbouring characters are of one word because of a mark between letters.

    Byte-level tokenizers take a mark for punctuation: GPT-2 cuts a vowelled Arabic word, or a Hindi
    one, at each of its signs.
    """
    return is_mark(after) or (is_mark(before) and after.isalnum())


def _unseen(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") or character in "︎️ㅤ"


def _visible(character: str) -> str:
    if character in _VISIBLE:
        return _VISIBLE[character]
    if character.isspace() and not _unseen(character):
        return "␣"
    return f"U+{ord(character):04X}"
