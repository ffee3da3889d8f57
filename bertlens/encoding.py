"""Text to tokens: pieces with readable labels, spans, words and segments."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bertlens.errors import EmptyTextError, TextTooLongError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_VISIBLE = {" ": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥"}
_STARTS = ("▁", "Ġ")
_NO_OFFSETS = "This tokenizer gives no offsets: labels come from the tokens."


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of a text.

    Attributes:
        text: the tokenizer's own piece, such as "##berries" or "Ġstore".
        label: what a person reads: the original characters, "I" rather than "i".
        start, end: character span in the text of its segment; None for special tokens and where
            the tokenizer gives no offsets.
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


@dataclass(frozen=True)
class Encoding:
    """A tokenized text: what the model reads, and what a person reads.

    Attributes:
        inputs: what the tokenizer made for the model, without a batch dimension: name -> list.
        tokens, words: as a person reads them.
        text, text_pair: the original texts; pre-split words joined by spaces.
        notes: sentences a person should see, such as that the text was cut.
    """

    inputs: dict[str, list[int]]
    tokens: tuple[Token, ...]
    words: tuple[Word, ...]
    text: str
    text_pair: str | None = None
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.tokens)


def encode(
    tokenizer: PreTrainedTokenizerBase,
    text: str | Sequence[str],
    pair: str | Sequence[str] | None = None,
    *,
    limit: int | None = None,
    truncate: bool = False,
    target: bool = False,
) -> Encoding:
    """Tokenize a text or a pair; a sequence of strings is a text already split into words.

    Args:
        limit: the most tokens the model takes, None if there is no limit.
        truncate: cut a longer text, and say so in `notes`.
        target: the text is what an encoder-decoder writes; some tokenizers have two vocabularies.

    Raises:
        TypeError: a text is neither a string nor a sequence of strings, or the two differ in kind.
        EmptyTextError: the text gives no token besides special ones.
        TextTooLongError: more than `limit` tokens, without `truncate`.
    """
    split = _checked(text, "text")
    if pair is not None and _checked(pair, "pair") != split:
        raise TypeError("Give both texts as strings, or both as lists of words.")
    options: dict[str, Any] = {
        "return_special_tokens_mask": True,
        "return_offsets_mapping": tokenizer.is_fast,
        "verbose": False,
    }
    if split:
        tokenizer = _for_words(tokenizer)
        text = list(text)
        pair = None if pair is None else list(pair)
        options["is_split_into_words"] = True
    call = _for_targets(tokenizer) if target else tokenizer
    made = call(text, pair, **options)
    notes: tuple[str, ...] = () if tokenizer.is_fast else (_NO_OFFSETS,)
    length = len(made["input_ids"])
    if limit is not None and length > limit:
        if not truncate:
            raise TextTooLongError(
                f"The text has {length} tokens and the model takes {limit}. "
                "Shorten it, or pass truncate=True to keep the beginning."
            )
        made = call(text, pair, **options, truncation=True, max_length=limit)
        notes += (f"Cut to {len(made['input_ids'])} of {length} tokens.",)
    reading = _Reading(tokenizer, made, text, pair)
    if all(token.special for token in reading.tokens):
        raise EmptyTextError(
            "The text is empty: it gives no token of its own. Give at least one word."
        )
    drop = {"offset_mapping", "special_tokens_mask"}
    return Encoding(
        inputs={name: list(values) for name, values in made.items() if name not in drop},
        tokens=tuple(reading.tokens),
        words=tuple(reading.words),
        text=_joined(text),
        text_pair=None if pair is None else _joined(pair),
        notes=notes,
    )


def _for_targets(tokenizer: PreTrainedTokenizerBase) -> Callable[..., Any]:
    return lambda text, pair, **options: tokenizer(text_target=text, **options)


def started(encoding: Encoding, start: int, piece: str) -> Encoding:
    """What a decoder reads while it writes a text: its start, then the text without its end."""
    own = encoding.tokens[:-1] if encoding.tokens[-1].special else encoding.tokens
    ids = [start, *encoding.inputs["input_ids"][: len(own)]]
    words = [
        replace(word, tokens=tuple(i + 1 for i in word.tokens if i < len(own)))
        for word in encoding.words
    ]
    return Encoding(
        inputs={"input_ids": ids},
        tokens=(
            Token(piece, piece, None, None, 0, 0, True),
            *(replace(token, word=token.word + 1) for token in own),
        ),
        words=(Word(piece, (0,), 0, True, None), *(word for word in words if word.tokens)),
        text=encoding.text,
        notes=encoding.notes,
    )


def _checked(text: object, name: str) -> bool:
    """Whether `text` is pre-split words; raises TypeError unless it is words or a string."""
    if isinstance(text, str):
        return False
    if isinstance(text, Sequence) and all(isinstance(word, str) for word in text):
        return True
    raise TypeError(
        f"The {name} must be a string, or words=[...] a list of strings; got {type(text).__name__}."
    )


def _joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)


_spaced: weakref.WeakKeyDictionary[Any, tuple[int, Any]] = weakref.WeakKeyDictionary()


def _for_words(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerBase:
    """A tokenizer that takes pre-split words: byte-level BPE needs a space before each."""
    if getattr(tokenizer, "add_prefix_space", None) is not False:
        return tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None and not hasattr(backend.pre_tokenizer, "add_prefix_space"):
        return tokenizer
    # Copying a vocabulary takes longer than tokenizing a sentence: once for each tokenizer, and
    # again when tokens were added to it.
    size, own = _spaced.get(tokenizer, (None, None))
    if own is None or size != len(tokenizer):
        own = copy.deepcopy(tokenizer)
        own.add_prefix_space = True
        if backend is not None:
            own.backend_tokenizer.pre_tokenizer.add_prefix_space = True
        _spaced[tokenizer] = (len(tokenizer), own)
    return own


class _Reading:
    """Walks over the pieces once, building tokens and words together."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        made: Any,
        text: str | Sequence[str],
        pair: str | Sequence[str] | None,
    ) -> None:
        self.tokens: list[Token] = []
        self.words: list[Word] = []
        self._texts = [text] if pair is None else [text, pair]
        self._starts = [_word_starts(t) for t in self._texts]
        ids: list[int] = made["input_ids"]
        pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(ids)]
        self._marks_starts = any(piece.startswith(_STARTS) for piece in pieces)
        special = _special(tokenizer, ids, made["special_tokens_mask"])
        if tokenizer.is_fast:
            sequences = made.sequence_ids(0)
            word_ids = made.word_ids(0)
            spans: list[tuple[int, int] | None] = list(made["offset_mapping"])
        else:
            sequences = _sequences_by_separator(special, len(self._texts))
            word_ids = [None] * len(ids)
            spans = [None] * len(ids)
        self._word: tuple[int, int | None] | None = None
        segment = 0
        for i, piece in enumerate(pieces):
            if sequences[i] is not None:
                segment = sequences[i]
            if special[i]:
                self._add_special(piece, segment)
            else:
                self._add(piece, spans[i], word_ids[i], segment)

    def _add_special(self, piece: str, segment: int) -> None:
        self._word = None
        self.words.append(Word(piece, (len(self.tokens),), segment, True, None))
        self.tokens.append(Token(piece, piece, None, None, len(self.words) - 1, segment, True))

    def _add(
        self, piece: str, span: tuple[int, int] | None, word_id: int | None, segment: int
    ) -> None:
        text = self._texts[segment]
        start = end = None
        if span is not None:
            start, end = span
            if self._starts[segment] and word_id is not None:
                # Offsets of pre-split words restart at each word.
                start += self._starts[segment][word_id]
                end += self._starts[segment][word_id]
        label = _label(piece, _joined(text), start, end)
        index = word_id if not isinstance(text, str) else None
        if self._opens_word(piece, text, start, word_id, segment):
            if index is None:
                index = self._next_index(segment)
            self.words.append(Word("", (), segment, False, index))
        self._word = (segment, word_id)
        word = self.words[-1]
        self.tokens.append(Token(piece, label, start, end, len(self.words) - 1, segment, False))
        tokens = (*word.tokens, len(self.tokens) - 1)
        self.words[-1] = replace(
            word, text=self._word_text(tokens, text, word.index), tokens=tokens
        )

    def _next_index(self, segment: int) -> int:
        for word in reversed(self.words):
            if word.segment == segment and word.index is not None:
                return word.index + 1
        return 0

    def _opens_word(
        self,
        piece: str,
        text: str | Sequence[str],
        start: int | None,
        word_id: int | None,
        segment: int,
    ) -> bool:
        if self._word is None or self._word[0] != segment:
            return True
        if not isinstance(text, str) and word_id is not None:
            return word_id != self._word[1]
        if word_id is None and start is None:
            return self._opens_by_mark(piece)
        if word_id != self._word[1]:
            return True
        # Some tokenizers have no pre-tokenizer and call the whole text one word.
        before = self.tokens[-1].end
        assert start is not None
        assert before is not None
        between = text[before : start + 1]
        return any(c.isspace() for c in between)

    def _opens_by_mark(self, piece: str) -> bool:
        """Without offsets only the pieces' own marks tell where a word begins."""
        if self._marks_starts:
            return piece.startswith(_STARTS)
        return not piece.startswith("##")

    def _word_text(
        self, tokens: tuple[int, ...], text: str | Sequence[str], index: int | None
    ) -> str:
        if not isinstance(text, str) and index is not None:
            return text[index]
        first, last = self.tokens[tokens[0]], self.tokens[tokens[-1]]
        if first.start is None or last.end is None:
            return "".join(self.tokens[i].label for i in tokens)
        return _shown(_joined(text)[first.start : last.end]) or first.label


def _word_starts(text: str | Sequence[str]) -> list[int]:
    """Where each pre-split word begins in the joined text; empty for a plain string."""
    if isinstance(text, str):
        return []
    starts, at = [], 0
    for word in text:
        starts.append(at)
        at += len(word) + 1
    return starts


def _special(
    tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], mask: Sequence[int]
) -> list[bool]:
    """Special tokens that the tokenizer added, and those a person typed; [UNK] is text."""
    named = {
        getattr(tokenizer, f"{name}_token_id", None)
        for name in ("bos", "eos", "sep", "cls", "pad", "mask")
    }
    typed = (set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}) | (named - {None})
    return [bool(flag) or token in typed for flag, token in zip(mask, ids, strict=True)]


def _sequences_by_separator(special: Sequence[bool], n_texts: int) -> list[int | None]:
    """Segments without offsets: the second text begins after the first closing special token."""
    segments: list[int | None] = []
    segment, seen = 0, False
    for is_special in special:
        if is_special:
            if seen and n_texts > 1:
                segment = 1
            segments.append(None)
        else:
            seen = True
            segments.append(segment)
    return segments


def _label(piece: str, text: str, start: int | None, end: int | None) -> str:
    if start is None or end is None:
        bare = piece.removeprefix("##").removesuffix("</w>")
        return bare.replace("Ġ", "").replace("▁", "") or piece
    return _shown(text[start:end]) or piece


def _shown(text: str) -> str:
    """The characters without space around them; space alone is made visible."""
    return text.strip() or "".join(_VISIBLE.get(c, c) for c in text)
