"""From a tokenizer's pieces to tokens and words that a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from bertlens.text.labels import (
    SAME,
    WORD_MARKS,
    from_piece,
    goes_on,
    is_lone_mark,
    is_mark,
    joins,
    shown,
)
from bertlens.text.tokens import Token, Word

Text = str | list[str]

_BOUNDARY = regex.compile(r"\b", regex.WORD)
"""Unicode's default word boundaries."""


@dataclass(frozen=True)
class Pieces:
    """What a tokenizer says of one sequence; every list has one entry a piece.

    Attributes:
        pieces: the tokenizer's own strings.
        special: whether it is no text.
        sequences: 0 or 1, None for special ones.
        word_ids: index of the word within the sequence, where the tokenizer knows.
        spans: characters of the sequence's text (of the word, for pre-split words), where known.
        labels: of pieces without a span, where they are known better than from the piece.
    """

    pieces: Sequence[str]
    special: Sequence[bool]
    sequences: Sequence[int | None]
    word_ids: Sequence[int | None]
    spans: Sequence[tuple[int, int] | None]
    labels: Sequence[str | None] | None = None


def read(pieces: Pieces, texts: Sequence[Text]) -> tuple[tuple[Token, ...], tuple[Word, ...]]:
    """Tokens and words of a text or a pair; a list of strings is a text split beforehand."""
    reader = _Reader(texts, marked=any(p.startswith(WORD_MARKS) for p in pieces.pieces))
    segment = 0
    spans = _with_marks(pieces, texts)
    for i, piece in enumerate(pieces.pieces):
        sequence = pieces.sequences[i]
        if sequence is not None:
            segment = sequence
        if pieces.special[i]:
            reader.add_special(piece, segment)
        else:
            label = None if pieces.labels is None else pieces.labels[i]
            reader.add(piece, spans[i], pieces.word_ids[i], segment, label)
    return tuple(reader.tokens), tuple(reader.words())


def _with_marks(pieces: Pieces, texts: Sequence[Text]) -> list[tuple[int, int] | None]:
    """Spans with the marks that belong to their last character.

    Normalizers drop accents and vowel signs, and join half-width kana with their voicing marks;
    the tokenizer's span then ends before them, though they are part of what was read.
    """
    spans = list(pieces.spans)
    after: tuple[int, int | None] | None = None
    limit = 0
    for i in range(len(spans) - 1, -1, -1):
        span, sequence = spans[i], pieces.sequences[i]
        if span is None or sequence is None:
            continue
        text = texts[sequence]
        word_id = None if isinstance(text, str) else pieces.word_ids[i]
        own = text if isinstance(text, str) else text[word_id or 0]
        place = (sequence, word_id)
        if place != after:
            after, limit = place, len(own)
        start, end = span
        if start < end:
            while end < limit and is_mark(own[end]):
                end += 1
            spans[i] = (start, end)
        limit = min(limit, start)
    return spans


def joined(text: Text) -> str:
    """The text itself, or its words with a space between them."""
    return text if isinstance(text, str) else " ".join(text)


def word_starts(text: Text) -> list[int]:
    """Where each pre-split word begins in the joined text; empty for a plain string."""
    starts, at = [], 0
    for word in [] if isinstance(text, str) else text:
        starts.append(at)
        at += len(word) + 1
    return starts


class _Reader:
    """Walks over the pieces once, building tokens and words together."""

    def __init__(self, texts: Sequence[Text], *, marked: bool) -> None:
        self.tokens: list[Token] = []
        self._texts = texts
        self._joined = [joined(text) for text in texts]
        self._starts = [word_starts(text) for text in texts]
        self._marked = marked
        self._members: list[list[int]] = []
        self._indices: list[int | None] = []
        self._counts = [0] * len(texts)
        self._read = [0] * len(texts)
        """How far each text has been read, in characters."""
        self._word: tuple[int, int | None] | None = None

    def add_special(self, piece: str, segment: int) -> None:
        self._word = None
        self._open(None)
        self._put(piece, piece, None, None, segment, special=True)

    def add(
        self,
        piece: str,
        span: tuple[int, int] | None,
        word_id: int | None,
        segment: int,
        known: str | None = None,
    ) -> None:
        split = not isinstance(self._texts[segment], str)
        given = word_id if split else None
        if span is None:
            label, start, end = known or from_piece(piece), None, None
        else:
            if split and word_id is not None:
                # Offsets of pre-split words restart at each word.
                offset = self._starts[segment][word_id]
                span = span[0] + offset, span[1] + offset
            label, start, end = self._place(piece, span, segment)
        if self._opens(piece, start, word_id, segment, split):
            self._open(self._counts[segment] if given is None else given)
            self._counts[segment] += 1
        self._word = (segment, word_id)
        self._put(piece, label, start, end, segment, special=False)
        if end is not None:
            self._read[segment] = max(self._read[segment], end)

    def words(self) -> list[Word]:
        made = []
        for members, index in zip(self._members, self._indices, strict=True):
            first = self.tokens[members[0]]
            text = self._word_text(members, index)
            made.append(Word(text, tuple(members), first.segment, first.special, index))
        return made

    def _open(self, index: int | None) -> None:
        self._members.append([])
        self._indices.append(index)

    def _put(
        self,
        piece: str,
        label: str,
        start: int | None,
        end: int | None,
        segment: int,
        *,
        special: bool,
    ) -> None:
        word = len(self._members) - 1
        self._members[word].append(len(self.tokens))
        self.tokens.append(Token(piece, label, start, end, word, segment, special))

    def _place(self, piece: str, span: tuple[int, int], segment: int) -> tuple[str, int, int]:
        """Label and span of a piece, without the space around it and what was read before."""
        text, read = self._joined[segment], self._read[segment]
        start, end = span
        start = max(start, 0)
        characters = text[start:end]
        bare = characters.strip()
        if bare:
            start += len(characters) - len(characters.lstrip())
            end = start + len(bare)
            if is_lone_mark(piece) and not is_lone_mark(bare):
                # XLM-R gives a lone mark of a space the span of what comes after it.
                return "␣", max(start, read), max(start, read)
        if end <= read and start < read:
            return SAME, start, end
        start = max(start, read)
        end = max(end, start)
        return shown(text[start:end]) or from_piece(piece), start, end

    def _opens(
        self, piece: str, start: int | None, word_id: int | None, segment: int, split: bool
    ) -> bool:
        if self._word is None or self._word[0] != segment:
            return True
        if split and word_id is not None:
            return word_id != self._word[1]
        if word_id is None and start is None:
            return self._opens_by_mark(piece)
        if word_id != self._word[1]:
            text, read = self._joined[segment], self._read[segment]
            goes_on = start is not None and 0 < start == read < len(text)
            return not (goes_on and self._one_word(text, read))
        # Some tokenizers have no pre-tokenizer and call the whole text one word.
        before = self.tokens[-1].end
        if start is None or before is None:
            return False
        return any(c.isspace() for c in self._joined[segment][before : start + 1])

    def _one_word(self, text: str, at: int) -> bool:
        """Whether the characters on both sides are of one word, though the tokenizer parts them.

        Llama 3 and Qwen cut numbers into digits, and put the space before them into a token of its
        own. Where letters and digits meet, Unicode's word boundaries decide (UAX #29).
        """
        before, after = text[at - 1], text[at]
        if joins(before, after):
            return True
        if before == " " and self.tokens[-1].label == "␣":
            return not after.isspace()
        return before.isalnum() and after.isalnum() and not _BOUNDARY.match(text, at)

    def _opens_by_mark(self, piece: str) -> bool:
        """Without offsets only the pieces' own marks tell where a word begins."""
        if self._marked:
            return piece.startswith(WORD_MARKS)
        if self.tokens[-1].text.endswith("</w>"):
            return True
        if goes_on(self.tokens[-1].text):
            return False
        return not piece.startswith("##") and not self._spells_words(piece)

    def _spells_words(self, piece: str) -> bool:
        """Pieces that end words with </w> continue one otherwise."""
        return any(token.text.endswith("</w>") for token in self.tokens) or piece.endswith("</w>")

    def _word_text(self, members: Sequence[int], index: int | None) -> str:
        first, last = self.tokens[members[0]], self.tokens[members[-1]]
        if first.special:
            return first.text
        text = self._texts[first.segment]
        if not isinstance(text, str) and index is not None:
            return text[index]
        if first.start is None or last.end is None:
            return "".join(self.tokens[i].label for i in members)
        end = max(self.tokens[i].end or 0 for i in members)
        return shown(self._joined[first.segment][first.start : end]) or first.label
