"""What a tokenizer makes of texts: ids, and which text, word and characters each is of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bertlens.text.alignment import Text, joined
from bertlens.text.pre_split import tokenize_each, words_of_spans
from bertlens.text.tokenizing import gives_offsets, tokenizing

LONG = 100_000
"""Characters from which on only the beginning of a text is tokenized if the model has a limit."""


def beginning(tokenizer: Any, text: Text, limit: int | None, long: int = LONG) -> Text:
    """A text, or so much of a very long one as has more tokens than `limit`.

    What is cut away could not be read anyway.

    Args:
        long: characters up to which a text is left whole.
    """
    if limit is None or len(text) <= _characters_for(limit) or len(joined(text)) <= long:
        return text
    n = _characters_for(limit)
    while n < min(len(text), MAX_READ):
        part = text[:n] if isinstance(text, str) else list(text[:n])
        with tokenizing(tokenizer):
            made = tokenizer(joined(part), add_special_tokens=False, verbose=False)
        # The last word may be cut in two; beyond the limit that is never seen.
        if len(made["input_ids"]) > limit + _characters_for(1):
            return part
        n *= 4
    return text if len(text) <= MAX_READ else text[:MAX_READ]


def _characters_for(tokens: int) -> int:
    return 16 * tokens


MAX_READ = 2**22
"""Characters or words of a text that are read at most, if the model has a limit: a tokenizer needs
some hundred bytes for each. Only words of many thousand letters fill so many with few tokens."""


@dataclass(frozen=True)
class Tokenized:
    """What a tokenizer made of a text or a pair, one entry a token.

    Attributes:
        columns: inputs of the model, and `special_tokens_mask`.
        sequences, word_ids, spans: as in Pieces.
    """

    columns: dict[str, list[int]]
    sequences: Sequence[int | None]
    word_ids: Sequence[int | None]
    spans: Sequence[tuple[int, int] | None]


def tokenizer_call(tokenizer: Any, texts: list[Text], target: bool) -> Callable[..., Tokenized]:
    """A function that tokenizes the texts, cut to so many tokens."""
    offsets = gives_offsets(tokenizer)
    split = not isinstance(texts[0], str)
    by_word = split and not offsets

    def call(limit: int | None = None) -> Tokenized:
        nonlocal by_word
        if not by_word:
            made = _call(tokenizer, [joined(text) for text in texts], target, limit)
            if not offsets:
                return _without_offsets(made, len(texts))
            tokenized, crosses = with_offsets(made, texts)
            if not crosses:
                return tokenized
            by_word = True
        words = [text if isinstance(text, list) else [text] for text in texts]
        return Tokenized(*tokenize_each(tokenizer, words, limit=limit, target=target))

    return call


OPTIONS: dict[str, Any] = {"return_special_tokens_mask": True, "verbose": False}


def _call(tokenizer: Any, texts: list[str], target: bool, limit: int | None) -> Any:
    options = dict(OPTIONS)
    if gives_offsets(tokenizer):
        options["return_offsets_mapping"] = True
    if limit is not None:
        options |= {"truncation": True, "max_length": limit}
    with tokenizing(tokenizer):
        if target:
            return tokenizer(text_target=texts[0], **options)
        return tokenizer(*texts, **options)


def with_offsets(made: Any, texts: Sequence[Text], part: int = 0) -> tuple[Tokenized, bool]:
    """What a call gave, and whether a token reaches over the end of a pre-split word."""
    ids = made["input_ids"]
    nested = bool(ids) and not isinstance(ids[0], int)
    columns = {
        name: list(values[part] if nested else values)
        for name, values in made.items()
        if name != "overflow_to_sample_mapping"
    }
    spans: list[Any] = columns.pop("offset_mapping")
    sequences, word_ids = made.sequence_ids(part), list(made.word_ids(part))
    crosses = False
    for number, text in enumerate(texts):
        if isinstance(text, str):
            continue
        own = [i for i, sequence in enumerate(sequences) if sequence == number]
        found, inside, over = words_of_spans(text, [spans[i] for i in own])
        crosses |= over
        for i, word, span in zip(own, found, inside, strict=True):
            word_ids[i], spans[i] = word, span
    return Tokenized(columns, sequences, word_ids, spans), crosses


def _without_offsets(made: Any, n_texts: int) -> Tokenized:
    columns = {name: list(values) for name, values in made.items()}
    n = len(columns["input_ids"])
    sequences = _sequences_by_separator(list(map(bool, columns["special_tokens_mask"])), n_texts)
    return Tokenized(columns, sequences, [None] * n, [None] * n)


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
