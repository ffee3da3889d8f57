"""Text to tokens: what the model reads, and what a person reads."""

from __future__ import annotations

import copy
import re
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bertlens.errors import EmptyTextError, TextTooLongError
from bertlens.text.alignment import Pieces, Text, joined, read
from bertlens.text.tokens import Token, Word

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATES = "Halves of surrogate pairs are no characters: they were replaced by \ufffd."
_NO_OFFSETS = "This tokenizer gives no offsets: labels come from the tokens."


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
    notes: tuple[str, ...] = ()

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
    tokenizer, texts, notes, call = _prepared(tokenizer, text, pair, target)
    made = call()
    length = len(made["input_ids"])
    if limit is not None and length > limit:
        if not truncate:
            raise TextTooLongError(
                f"The text has {length} tokens and the model takes {limit}. Shorten it, pass "
                "truncate=True to keep the beginning, or window=... for overlapping parts."
            )
        made = call(truncation=True, max_length=limit)
        notes += (f"Cut to {len(made['input_ids'])} of {length} tokens.",)
    return _encoding(tokenizer, made, texts, notes)


def encode_windows(
    tokenizer: PreTrainedTokenizerBase, text: str | Sequence[str], *, size: int, overlap: int
) -> list[Encoding]:
    """Overlapping parts of a text, each with its special tokens; spans are those of the whole.

    Args:
        size: the most tokens of a part, special tokens included.
        overlap: so many tokens are in two parts.

    Raises:
        TypeError: the tokenizer gives no offsets, so its parts cannot be told apart.
        EmptyTextError: the text gives no token besides special ones.
    """
    if not tokenizer.is_fast:
        raise TypeError(
            f"{type(tokenizer).__name__} gives no offsets, and windows need them. Load the fast "
            "tokenizer of this model, or pass truncate=True."
        )
    tokenizer, texts, notes, call = _prepared(tokenizer, text, None, False)
    made = call(truncation=True, max_length=size, stride=overlap, return_overflowing_tokens=True)
    parts = made["input_ids"]
    if parts and isinstance(parts[0], int):  # one part comes without a batch dimension
        return [_encoding(tokenizer, made, texts, notes)]
    return [_encoding(tokenizer, made, texts, notes, part=i) for i in range(len(parts))]


def _prepared(
    tokenizer: PreTrainedTokenizerBase,
    text: str | Sequence[str],
    pair: str | Sequence[str] | None,
    target: bool,
) -> tuple[PreTrainedTokenizerBase, list[Text], tuple[str, ...], Callable[..., Any]]:
    """The tokenizer to use, clean texts, notes, and the call that tokenizes them."""
    split = _checked(text, "text")
    if pair is not None and _checked(pair, "pair") != split:
        raise TypeError("Give both texts as strings, or both as lists of words.")
    texts: list[Text] = [text if isinstance(text, str) else list(text)]
    if pair is not None:
        texts.append(pair if isinstance(pair, str) else list(pair))
    clean = [_without_surrogates(text) for text in texts]
    notes = () if clean == texts else (_SURROGATES,)
    options: dict[str, Any] = {
        "return_special_tokens_mask": True,
        "return_offsets_mapping": tokenizer.is_fast,
        "verbose": False,
    }
    if not tokenizer.is_fast:
        notes = (*notes, _NO_OFFSETS)
    if split:
        tokenizer = _for_words(tokenizer)
        options["is_split_into_words"] = True

    def call(**more: Any) -> Any:
        if target:
            return tokenizer(text_target=clean[0], **options, **more)
        return tokenizer(*clean, **options, **more)

    return tokenizer, clean, notes, call


def _encoding(
    tokenizer: PreTrainedTokenizerBase,
    made: Any,
    texts: list[Text],
    notes: tuple[str, ...],
    *,
    part: int | None = None,
) -> Encoding:
    """What a tokenizer made, as a person reads it; `part` of an overflowing text."""
    columns = {
        name: list(values if part is None else values[part])
        for name, values in made.items()
        if name != "overflow_to_sample_mapping"
    }
    ids = columns["input_ids"]
    special = _special(tokenizer, ids, columns.pop("special_tokens_mask"))
    spans = columns.pop("offset_mapping", [None] * len(ids))
    fast = tokenizer.is_fast
    pieces = Pieces(
        pieces=[str(piece) for piece in tokenizer.convert_ids_to_tokens(ids)],
        special=special,
        sequences=made.sequence_ids(part or 0)
        if fast
        else _sequences_by_separator(special, len(texts)),
        word_ids=made.word_ids(part or 0) if fast else [None] * len(ids),
        spans=spans,
    )
    if all(special):
        raise EmptyTextError(
            "The text is empty: it gives no token of its own. Give at least one word."
        )
    tokens, words = read(pieces, texts)
    return Encoding(
        inputs=columns,
        tokens=tokens,
        words=words,
        text=joined(texts[0]),
        text_pair=joined(texts[1]) if len(texts) > 1 else None,
        notes=notes,
    )


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


def _without_surrogates(text: Text) -> Text:
    """Half a surrogate pair is no character: a tokenizer cannot read it, nor a page show it."""
    if isinstance(text, str):
        return _SURROGATE.sub("\ufffd", text)
    return [str(_without_surrogates(word)) for word in text]


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
