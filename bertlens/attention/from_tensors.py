"""Attention that a person has already, as tensors: no model needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertlens.attention.attention import Attention
from bertlens.attention.sources import DenseWeights, Weights
from bertlens.text.byte_pieces import bytes_of, characters_of
from bertlens.text.labels import SAME, WORD_MARKS, from_piece, goes_on, shown
from bertlens.text.tokens import Token, Word

SPECIAL = frozenset(
    "[CLS] [SEP] [PAD] [MASK] <s> </s> <pad> <mask> <cls> <sep> <bos> <eos> <|endoftext|> "
    "<|begin_of_text|> <|end_of_text|>".split()
)
"""Tokens that are no text, by the names that common models give them."""


def from_tensors(
    attentions: Any,
    tokens: Sequence[str],
    to_tokens: Sequence[str] | None = None,
    *,
    sentence_b_start: int | None = None,
    kind: str = "self",
    name: str = "",
) -> Attention:
    """See `Attention.from_tensors`."""
    rows = _side(tokens, sentence_b_start, "tokens")
    columns = rows if to_tokens is None else _side(to_tokens, None, "to_tokens")
    weights = stacked(attentions)
    shape = (len(rows[0]), len(columns[0]))
    if weights.shape[2:] != shape:
        raise ValueError(
            f"The attention is between {weights.shape[2]} and {weights.shape[3]} tokens, but "
            f"{shape[0]}{'' if to_tokens is None else f' and {shape[1]}'} tokens are given. Give "
            "the tokens of the same text, special tokens included."
        )
    notes = []
    sums = weights.sum(-1)
    if np.nanmax(np.abs(sums - 1)) > 0.01:
        notes.append(
            f"Rows do not sum to 1 but to {np.nanmin(sums):.2f} to {np.nanmax(sums):.2f}: dropout, "
            "padding, or no output of a softmax."
        )
    text = " ".join(word.text for word in rows[1] if not word.special)
    return Attention(
        DenseWeights(weights),
        *rows,
        columns=None if to_tokens is None else columns,
        model_name=name,
        text=text,
        notes=notes,
        kind_name=kind,
    )


def stacked(attentions: Any) -> Weights:
    """Weights [layer, head, from, to] of what models return as attentions.

    Args:
        attentions: a tensor, an array or nested lists: [head, from, to] of one layer,
            [layer, head, from, to], or [layer, 1, head, from, to]; or a list of layers, each
            [head, from, to] or [1, head, from, to].

    Raises:
        TypeError, ValueError: something else; the message says what.
    """
    if isinstance(attentions, list | tuple):
        if not attentions or any(layer is None for layer in attentions):
            raise ValueError(
                "The attentions are empty: the model was not run with eager attention. Load it "
                'with attn_implementation="eager" and call it with output_attentions=True.'
            )
        layers = [_array(layer, f"layer {i}") for i, layer in enumerate(attentions)]
        if all(layer.ndim == 2 for layer in layers):
            layers = [np.stack(layers)]  # nested lists of one layer
        weights = _same_size([_one_text(layer, f"Layer {i}") for i, layer in enumerate(layers)])
    else:
        array = _array(attentions, "attentions")
        if array.ndim == 3:
            array = array[None]
        if array.ndim == 5:
            array = np.stack([_one_text(layer, f"Layer {i}") for i, layer in enumerate(array)])
        if array.ndim != 4:
            raise ValueError(
                "The attentions must be [head, from, to], [layer, head, from, to] or "
                f"[layer, 1, head, from, to]; their shape is {array.shape}."
            )
        weights = np.ascontiguousarray(array)
    if 0 in weights.shape:
        raise ValueError(f"The attentions are empty: their shape is {weights.shape}.")
    if np.nanmin(weights) < -1e-6:
        raise ValueError(
            f"An attention weight is {np.nanmin(weights):.3g}; weights are never negative. Give "
            "what comes after the softmax."
        )
    return np.maximum(weights, 0, out=weights)


def _array(given: Any, what: str) -> Weights:
    if hasattr(given, "detach"):
        given = given.detach().float().cpu().numpy()
    try:
        return np.array(given, dtype=np.float32)
    except (TypeError, ValueError):
        kind = type(given).__name__
        raise TypeError(f"The {what} of the attentions is no array of numbers: {kind}.") from None


def _one_text(layer: Weights, what: str) -> Weights:
    """[head, from, to] of a layer that may have a batch of one."""
    if layer.ndim == 4:
        if len(layer) != 1:
            raise ValueError(
                f"{what} holds {len(layer)} texts: its shape is {layer.shape}. Give one text, such "
                "as [a[:1] for a in attentions]."
            )
        layer = layer[0]
    if layer.ndim != 3:
        raise ValueError(
            f"{what} must be [head, from, to] or [1, head, from, to]; its shape is {layer.shape}."
        )
    return layer


def _same_size(layers: list[Weights]) -> Weights:
    """Layers stacked; heads that some lack are NaN."""
    sizes = {layer.shape[1:] for layer in layers}
    if len(sizes) > 1:
        raise ValueError(
            f"The layers are between different numbers of tokens: {sorted(sizes)}. Give layers of "
            "one size, such as those of the decoder only."
        )
    heads = max(len(layer) for layer in layers)
    whole = np.full((len(layers), heads, *layers[0].shape[1:]), np.nan, np.float32)
    for i, layer in enumerate(layers):
        whole[i, : len(layer)] = layer
    return whole


def _side(
    tokens: Sequence[str], second: int | None, what: str
) -> tuple[tuple[Token, ...], tuple[Word, ...]]:
    """Tokens and words of pieces, by the marks that the pieces carry."""
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(f"{what} must be a list of strings, such as the tokenizer's tokens.")
    if second is not None and not 0 < second < len(tokens):
        raise ValueError(
            f"sentence_b_start is {second}; it must be a token's index from 1 to {len(tokens) - 1}."
        )
    special = [piece in SPECIAL for piece in tokens]
    spelled = bytes_of([None if flag else p for p, flag in zip(tokens, special, strict=True)])
    characters = None if spelled is None else characters_of(spelled)
    marked = any(token.startswith(WORD_MARKS) for token in tokens)
    joined = any(map(goes_on, tokens))
    made: list[Token] = []
    words: list[Word] = []
    counts = [0, 0]
    for i, piece in enumerate(tokens):
        segment = int(second is not None and i >= second)
        first = not made or made[-1].special or made[-1].segment != segment
        if characters is not None and not special[i]:
            label, begins = _spelled(characters[i] or "", characters[i - 1] if i else "", piece)
        else:
            label = piece if special[i] else from_piece(piece)
            if joined:
                begins = not (made and goes_on(made[-1].text))
            else:
                begins = piece.startswith(WORD_MARKS) if marked else not piece.startswith("##")
        if special[i] or first or begins:
            index = None if special[i] else counts[segment]
            words.append(Word("", (), segment, special[i], index))
            counts[segment] += not special[i]
        made.append(Token(piece, label, None, None, len(words) - 1, segment, special[i]))
        word = words[-1]
        own = "" if label == SAME or (label == "␣" and word.text == "") else label
        words[-1] = Word(word.text + own, (*word.tokens, i), segment, special[i], word.index)
    named = [replace(word, text=word.text or made[word.tokens[0]].label) for word in words]
    return tuple(made), tuple(named)


def _spelled(characters: str, before: str | None, piece: str) -> tuple[str, bool]:
    """The label of a piece that stands for bytes, and whether it begins a word."""
    if not characters:
        return SAME, False
    begins = characters[0].isspace() or piece.startswith(WORD_MARKS)
    if before:
        # A space that is a piece of its own begins the word after it.
        begins = begins or (before[-1] in "\n\r\t" and not characters.isspace())
    return shown(characters.replace("▁", " ")), begins
