"""Ids that a model wrote, as tokens that a person reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from bertlens.text.encoding import Encoding
from bertlens.text.labels import SAME, from_piece, joins, shown
from bertlens.text.tokens import Token, Word

_INCOMPLETE = "\N{REPLACEMENT CHARACTER}"


def without_closing_specials(tokenizer: Any, encoding: Encoding) -> Encoding:
    """A prompt without the special tokens that the tokenizer appended, so that writing goes on.

    Special tokens that the prompt itself ends with, such as [/INST], are part of it and stay.
    """
    n = len(encoding)
    ids = encoding.inputs["input_ids"]
    own = list(tokenizer(encoding.text, add_special_tokens=False, verbose=False)["input_ids"])
    for start in range(n - len(own), -1, -1):
        if ids[start : start + len(own)] == own:
            n = start + len(own)
            break
    return replace(
        encoding,
        inputs={name: values[:n] for name, values in encoding.inputs.items()},
        tokens=encoding.tokens[:n],
        words=tuple(word for word in encoding.words if word.tokens[0] < n),
    )


def continued(
    tokenizer: Any,
    encoding: Encoding,
    ids: Sequence[int],
    *,
    segment: int,
    special: Collection[int] = (),
) -> Encoding:
    """An encoding and after it ids that a model wrote, as a text of its own.

    Labels come from decoding a token more each time; a character that takes several tokens is
    shown by the first of them.

    Args:
        special: ids that are no text besides those that the tokenizer names.
    """
    text, spans = _decoded(tokenizer, ids)
    tokens, words = list(encoding.tokens), list(encoding.words)
    pieces = [str(piece) for piece in tokenizer.convert_ids_to_tokens(list(ids))]
    specials = {*tokenizer.all_special_ids, *special} - {getattr(tokenizer, "unk_token_id", None)}
    count, last_end, open_word = 0, 0, False
    for piece, number, (start, end) in zip(pieces, ids, spans, strict=True):
        characters = text[start:end]
        is_special = number in specials
        opens = end > last_end and _begins_word(characters, text[:start])
        if is_special or not open_word or opens:
            words.append(Word("", (), segment, is_special, None if is_special else count))
            count += not is_special
        open_word = not is_special
        bare = start + len(characters) - len(characters.lstrip())
        place: tuple[int | None, int | None] = (None, None)
        if is_special:
            label = piece
        elif end <= last_end:
            label, place = SAME, (start, end)
        else:
            label = shown(characters) or from_piece(piece)
            place = (bare if characters.strip() else start, end)
        last_end = max(last_end, end)
        tokens.append(Token(piece, label, *place, len(words) - 1, segment, is_special))
        word = words[-1]
        words[-1] = replace(word, tokens=(*word.tokens, len(tokens) - 1))
    fill = {"input_ids": list(ids), "attention_mask": [1] * len(ids)}
    inputs = {
        name: [*values, *fill.get(name, [values[-1]] * len(ids))]
        for name, values in encoding.inputs.items()
    }
    new = len(encoding.words)
    named = [_named(word, tokens, text) for word in words[new:]]
    whole = replace(encoding, inputs=inputs, tokens=tuple(tokens), words=(*words[:new], *named))
    return replace(whole, text_pair=text) if segment else replace(whole, text=text)


def _decoded(tokenizer: Any, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
    """The text of all ids, and the characters that each adds."""
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    text = str(tokenizer.decode(list(ids), **options))
    spans: list[tuple[int, int]] = []
    done, waiting = 0, 0
    for n in range(1, len(ids) + 1):
        so_far = str(tokenizer.decode(list(ids[:n]), **options))
        waiting += 1
        whole = so_far.rstrip(_INCOMPLETE)
        if n < len(ids) and (len(whole) <= done or not text.startswith(whole)):
            continue  # the character is not complete yet
        end = len(text) if n == len(ids) else len(whole)
        spans += [(done, end)] * waiting
        done, waiting = end, 0
    return text, spans


def _begins_word(characters: str, before: str) -> bool:
    """Whether a token opens a word: after a space, or where letters and signs meet."""
    if not characters or not before:
        return False
    if characters[0].isspace():
        return True
    if before[-1].isspace():
        return False  # a token of space alone opened the word
    if joins(before[-1], characters[0]):
        return False
    return not (characters[0].isalnum() and before[-1].isalnum())


def _named(word: Word, tokens: Sequence[Token], text: str) -> Word:
    first, last = tokens[word.tokens[0]], tokens[word.tokens[-1]]
    if first.start is None or last.end is None:
        return replace(word, text=first.label)
    return replace(word, text=shown(text[first.start : last.end]) or first.label)
