"""The maps of one text: its tokens and the weights between them, [layer, head, from, to]."""

from __future__ import annotations

import copy
import operator
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar

import numpy as np

from bertlens.attention.sources import Weights, WeightSource, WordPooled
from bertlens.text.tokens import Token, Word

if TYPE_CHECKING:
    from bertlens.attention.prediction import Prediction


class TextInfo(TypedDict, total=False):
    """What is known of a text and its model beside tokens and weights; see AttentionMaps."""

    columns: tuple[Sequence[Token], Sequence[Word]] | None
    model_name: str
    dtype: str
    text: str
    text_pair: str | None
    notes: Sequence[str]
    level: str
    kind_name: str
    prediction: Prediction | None


class AttentionMaps:
    """Where each head looks in one text: the data of an Attention.

    Rows of the weights are the tokens that attend ("from", queries), columns the tokens that are
    attended to ("to", keys). Layers and heads are counted from 0.

    Attributes:
        tokens: the tokens of the rows.
        words: their words; special tokens are words of their own.
        to_tokens, column_words: tokens and words of the columns; the same, except in
            cross-attention.
        model_name: of the model the weights come from.
        dtype: in which the model computed, such as "float32"; weights are float32 always.
        text, text_pair: the original texts.
        notes: what to know when reading the weights, such as that the text was cut.
        kind_name: which of the model's kinds of attention this is: "self" for models of one kind,
            else such as "encoder", "decoder" or "cross".
        prediction: what a fine-tuned model says of the text; None without such a task head.
        measure: what the numbers are: "weights", or what was made of them, such as "rollout".
        of_tokens: at word level, the same attention between tokens.
        source: where the weights come from.
    """

    measure: str = "weights"
    of_tokens: Self | None = None

    def __init__(
        self,
        source: WeightSource,
        tokens: Sequence[Token],
        words: Sequence[Word],
        *,
        columns: tuple[Sequence[Token], Sequence[Word]] | None = None,
        model_name: str = "",
        dtype: str = "float32",
        text: str = "",
        text_pair: str | None = None,
        notes: Sequence[str] = (),
        level: str = "token",
        kind_name: str = "self",
        prediction: Prediction | None = None,
    ) -> None:
        self.source = source
        self.tokens = tuple(tokens)
        self.words = tuple(words)
        self.to_tokens = self.tokens if columns is None else tuple(columns[0])
        self.column_words = self.words if columns is None else tuple(columns[1])
        self.model_name = model_name
        self.dtype = dtype
        self.text = text
        self.text_pair = text_pair
        self.notes = tuple(notes)
        self.level = level
        self.kind_name = kind_name
        self.prediction = prediction
        self._kinds: dict[str, Any] = {kind_name: self}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention of this text, such as ("encoder", "decoder", "cross")."""
        return tuple(self._kinds)

    def kind(self, name: str) -> Self:
        """The attention of another kind, of the same text, at the same level.

        Raises:
            ValueError: the model has no such kind.
        """
        if name not in self._kinds:
            known = " and ".join(map(repr, self._kinds))
            raise ValueError(f"There is no attention of kind {name!r}; this model has {known}.")
        found: Self = self._kinds[name]
        return found.to_words() if self.level == "word" else found

    @property
    def n_layers(self) -> int:
        return self.source.n_layers

    @property
    def n_heads(self) -> int:
        return self.source.n_heads

    @property
    def is_cached(self) -> bool:
        """Whether weights can be made without running the model again."""
        return self.source.holds_tensors

    def weights(self, layer: int | None = None, head: int | None = None) -> Weights:
        """Weights, float32: [from, to] of a layer and head; without them [layer, head, from, to].

        Raises:
            IndexError: no such layer or head.
            TypeError: a layer or head that is not an integer, or a head without a layer.
        """
        if layer is None:
            if head is not None:
                raise TypeError("Give a layer too: weights(layer=..., head=...).")
            return np.stack([self.source.layer(i) for i in range(self.n_layers)])
        maps = self.source.layer(checked_index(layer, self.n_layers, "layer"))
        return maps if head is None else maps[checked_index(head, self.n_heads, "head")]

    def rows(self, layer: int, rows: Sequence[int]) -> Weights:
        """Weights [head, row, to] of some rows of a layer, without making the others.

        Raises:
            IndexError, TypeError: no such layer or row.
        """
        places = [checked_index(row, len(self.tokens), self.level) for row in rows]
        return self.source.rows(checked_index(layer, self.n_layers, "layer"), places)

    def to_words(self) -> Self:
        """The same attention between words instead of tokens (Clark et al. 2019, section 4.1).

        Attention to a split word is the sum over its tokens, attention from it their mean. Special
        tokens stay, as words of their own.
        """
        if self.level == "word":
            return self
        pooled = self.with_source(WordPooled(self.source, self.words, self.column_words))
        pooled.tokens, pooled.words = as_tokens(self.words, self.tokens)
        pooled.to_tokens, pooled.column_words = pooled.tokens, pooled.words
        if self.to_tokens is not self.tokens:
            pooled.to_tokens, pooled.column_words = as_tokens(self.column_words, self.to_tokens)
        pooled.level = "word"
        pooled.of_tokens = self
        return pooled

    def with_source(self, source: WeightSource) -> Self:
        """The same text with numbers of another source."""
        other = copy.copy(self)
        for name in list(vars(other)):
            if isinstance(getattr(type(self), name, None), cached_property):
                del vars(other)[name]
        other.source = source
        return other

    def only_kind(self) -> None:
        """Forget the other kinds of attention."""
        self._kinds = {self.kind_name: self}

    def close(self) -> None:
        """Free the tensors behind the weights, unless the lens was called with `keep=True`.

        They are made anew when they are needed again, if the model has not changed since.
        """
        self.source.close()

    def __repr__(self) -> str:
        shape = f"{self.n_layers} layers x {self.n_heads} heads, {len(self.tokens)} {self.level}s"
        of = "Attention" if self.measure == "weights" else f"Attention ({self.measure})"
        return f"<{of} of {self.model_name or 'given tensors'}: {shape}>"


Maps = TypeVar("Maps", bound=AttentionMaps)


def joined_kinds(attentions: Sequence[Maps]) -> Maps:
    """Make each find the others with `kind(name)`; returns the first."""
    kinds = {attention.kind_name: attention for attention in attentions}
    for attention in attentions:
        attention._kinds = kinds
    return attentions[0]


def checked_index(index: int, n: int, what: str) -> int:
    """A layer or head counted from 0; raises IndexError or TypeError in words."""
    if isinstance(index, bool):
        raise TypeError(f"The {what} must be an integer, not {index!r}.")
    try:
        value = operator.index(index)
    except TypeError:
        raise TypeError(f"The {what} must be an integer, not {index!r}.") from None
    if not 0 <= value < n:
        where = "text" if what in ("token", "word") else "model"
        raise IndexError(f"There is no {what} {value}: this {where} has {what}s 0 to {n - 1}.")
    return value


def as_tokens(
    words: Sequence[Word], tokens: Sequence[Token]
) -> tuple[tuple[Token, ...], tuple[Word, ...]]:
    """Words seen as single tokens, so that a word-level map reads like any other."""
    made = tuple(
        Token(
            word.text,
            word.text,
            tokens[word.tokens[0]].start,
            tokens[word.tokens[-1]].end,
            i,
            word.segment,
            word.special,
        )
        for i, word in enumerate(words)
    )
    own = tuple(
        Word(word.text, (i,), word.segment, word.special, word.index)
        for i, word in enumerate(words)
    )
    return made, own
