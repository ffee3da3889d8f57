"""Text to tokens: what the model reads, and what a person reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bertlens.errors import EmptyTextError, TextTooLongError
from bertlens.text.alignment import Pieces, Text, joined, read
from bertlens.text.byte_pieces import bytes_of, characters_of
from bertlens.text.labels import SAME, shown
from bertlens.text.tokenized import (
    LONG,
    OPTIONS,
    Tokenized,
    beginning,
    tokenizer_call,
    with_offsets,
)
from bertlens.text.tokenizing import gives_offsets, tokenizing
from bertlens.text.tokens import Token, Word

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATES = "Halves of surrogate pairs are no characters: they were replaced by \ufffd."
_NO_OFFSETS = "This tokenizer gives no offsets: labels come from the tokens."
_SHORTEN = (
    "Shorten it, pass truncate=True to keep the beginning, or window=... for overlapping parts."
)


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

    Words are read as the running text would be: joined by spaces.

    Args:
        limit: the most tokens the model takes, None if there is no limit.
        truncate: cut a longer text, and say so in `notes`.
        target: the text is what an encoder-decoder writes; some tokenizers have two vocabularies.

    Raises:
        TypeError: a text is neither a string nor a sequence of strings, or the two differ in kind.
        EmptyTextError: the text gives no token besides special ones.
        TextTooLongError: more than `limit` tokens, without `truncate`.
    """
    texts, notes = _clean(tokenizer, text, pair)
    whole = sum(len(joined(one)) for one in texts)
    # Cutting a pair takes memory with the product of their lengths.
    long = 0 if truncate and len(texts) > 1 else LONG
    short = [beginning(tokenizer, one, limit, long) for one in texts]
    is_cut = [len(joined(one)) for one in short] != [len(joined(one)) for one in texts]
    if is_cut and not truncate:
        raise TextTooLongError(
            f"The text has {whole:,} characters and more tokens than the model takes, which are "
            f"{limit}. {_SHORTEN}"
        )
    call = tokenizer_call(tokenizer, short, target)
    made = call()
    length = len(made.columns["input_ids"])
    if limit is not None and length > limit:
        if not truncate:
            raise TextTooLongError(
                f"The text has {length} tokens and the model takes {limit}. {_SHORTEN}"
            )
        made = call(limit)
    kept = len(made.columns["input_ids"])
    if is_cut:
        notes += (f"Cut to {kept} tokens of {whole:,} characters.",)
    elif kept < length:
        notes += (f"Cut to {kept} of {length} tokens.",)
    return _encoding(tokenizer, made, short, notes)


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
    if not gives_offsets(tokenizer):
        raise TypeError(
            f"{type(tokenizer).__name__} gives no offsets, and windows need them. Load the fast "
            "tokenizer of this model, or pass truncate=True."
        )
    texts, notes = _clean(tokenizer, text, None)
    options = {"truncation": True, "max_length": size, "stride": overlap}
    with tokenizing(tokenizer):
        made = tokenizer(joined(texts[0]), **OPTIONS, **options, return_overflowing_tokens=True,
                         return_offsets_mapping=True)  # fmt: skip
    ids = made["input_ids"]
    if ids and isinstance(ids[0], int):  # one part comes without a batch dimension
        return [_encoding(tokenizer, with_offsets(made, texts)[0], texts, notes)]
    parts = [with_offsets(made, texts, part=i)[0] for i in range(len(ids))]
    return [_encoding(tokenizer, part, texts, notes) for part in parts]


def _clean(
    tokenizer: Any, text: str | Sequence[str], pair: str | Sequence[str] | None
) -> tuple[list[Text], tuple[str, ...]]:
    """The texts without halves of surrogate pairs, and notes."""
    split = _checked(text, "text")
    if pair is not None and _checked(pair, "pair") != split:
        raise TypeError("Give both texts as strings, or both as lists of words.")
    texts: list[Text] = [text if isinstance(text, str) else list(text)]
    if pair is not None:
        texts.append(pair if isinstance(pair, str) else list(pair))
    clean = [_without_surrogates(text) for text in texts]
    notes = () if clean == texts else (_SURROGATES,)
    return clean, notes if gives_offsets(tokenizer) else (*notes, _NO_OFFSETS)


def _encoding(
    tokenizer: PreTrainedTokenizerBase,
    made: Tokenized,
    texts: list[Text],
    notes: tuple[str, ...],
) -> Encoding:
    """What a tokenizer made, as tokens and words."""
    columns = dict(made.columns)
    ids = columns["input_ids"]
    special = _special(tokenizer, ids, columns.pop("special_tokens_mask"))
    given: list[str | bytes] = list(tokenizer.convert_ids_to_tokens(ids))
    pieces, labels = _readable(given, special, made.spans)
    if all(special):
        raise EmptyTextError(
            "The text is empty: it gives no token of its own. Give at least one word."
        )
    read_as = Pieces(pieces, special, made.sequences, made.word_ids, made.spans, labels)
    tokens, words = read(read_as, texts)
    return Encoding(
        inputs=columns,
        tokens=tokens,
        words=words,
        text=joined(texts[0]),
        text_pair=joined(texts[1]) if len(texts) > 1 else None,
        notes=notes,
    )


def _readable(
    given: Sequence[str | bytes], special: Sequence[bool], spans: Sequence[Any]
) -> tuple[list[str], list[str | None] | None]:
    """Pieces as strings, and labels where only the pieces tell what was read."""
    pieces = [
        piece if isinstance(piece, str) else piece.decode("utf-8", "replace") for piece in given
    ]
    if all(span is not None for span, flag in zip(spans, special, strict=True) if not flag):
        return pieces, None
    spelled = bytes_of([None if flag else p for p, flag in zip(given, special, strict=True)])
    if spelled is None:
        return pieces, None
    return pieces, [
        None if found is None else shown(found) if found.strip() else (found and "␣") or SAME
        for found in characters_of(spelled)
    ]


def started(encoding: Encoding, start: int, piece: str) -> Encoding:
    """What a decoder reads while it writes a text: its start, then the text without its end."""
    own = encoding.tokens[:-1] if encoding.tokens[-1].special else encoding.tokens
    ids = encoding.inputs["input_ids"][: len(own)]
    if own and own[0].special and ids[0] == start:
        # Whisper's tokenizer writes the start itself.
        kept = [
            replace(w, tokens=tuple(i for i in w.tokens if i < len(own))) for w in encoding.words
        ]
        own_words = tuple(word for word in kept if word.tokens)
        return replace(encoding, inputs={"input_ids": ids}, tokens=tuple(own), words=own_words)
    words = [
        replace(word, tokens=tuple(i + 1 for i in word.tokens if i < len(own)))
        for word in encoding.words
    ]
    return Encoding(
        inputs={"input_ids": [start, *ids]},
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


def _special(
    tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], mask: Sequence[int]
) -> list[bool]:
    """Special tokens that the tokenizer added, and those a person typed; [UNK] is text."""
    named = {
        getattr(tokenizer, f"{name}_token_id", None)
        for name in ("bos", "eos", "sep", "cls", "pad", "mask")
    }
    typed = (set(tokenizer.all_special_ids) - {getattr(tokenizer, "unk_token_id", None)}) | (
        named - {None}
    )
    return [bool(flag) or token in typed for flag, token in zip(mask, ids, strict=True)]
