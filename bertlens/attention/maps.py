"""Attention: the weights of one text, [layer, head, from, to]."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bertlens.attention.attention import Inside
from bertlens.attention.sources import DenseWeights, Weights, WeightSource, WordPooled
from bertlens.text.encoding import Token, Word

if TYPE_CHECKING:
    from bertlens.attention.prediction import Prediction
    from bertlens.attention.text_scores import TextScores
    from bertlens.lens.lens import Lens
    from bertlens.widgets.explorer import Explorer

__all__ = [
    "Attention",
    "DenseWeights",
    "WeightSource",
    "Weights",
    "WordPooled",
    "as_tokens",
    "checked_index",
    "joined_kinds",
]


class Attention(Inside):
    """Where each head looks in one text.

    Rows of the weights are the tokens that attend ("from", queries), columns the tokens that are
    attended to ("to", keys). Layers and heads are counted from 0.

    Attributes:
        tokens: the tokens of the rows.
        words: their words; special tokens are words of their own.
        to_tokens, to_words_: tokens and words of the columns; the same, except in cross-attention.
        model_name: of the model the weights come from.
        dtype: in which the model computed, such as "float32"; weights are float32 always.
        text, text_pair: the original texts.
        notes: what a person should know, such as that the text was cut.
        kind_name: which of the model's kinds of attention this is: "self" for models of one kind,
            else such as "encoder", "decoder" or "cross".
        prediction: what a fine-tuned model says of the text; None without such a task head.
        measure: what the numbers are: "weights", or what was made of them, such as "rollout".
        derive: makes the same of another text's attention; None for weights themselves.
        of_tokens: at word level, the same attention between tokens.
    """

    measure: str = "weights"
    derive: Callable[[Attention], Attention] | None = None
    of_tokens: Attention | None = None

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
        lens: Lens | None = None,
        level: str = "token",
        kind_name: str = "self",
        prediction: Prediction | None = None,
    ) -> None:
        self._source = source
        self.tokens = tuple(tokens)
        self.words = tuple(words)
        self.to_tokens = self.tokens if columns is None else tuple(columns[0])
        self.to_words_ = self.words if columns is None else tuple(columns[1])
        self.model_name = model_name
        self.dtype = dtype
        self.text = text
        self.text_pair = text_pair
        self.notes = tuple(notes)
        self.lens = lens
        self.level = level
        self.kind_name = kind_name
        self.prediction = prediction
        self._kinds: dict[str, Attention] = {kind_name: self}

    @classmethod
    def from_tensors(
        cls,
        attentions: Any,
        tokens: Sequence[str],
        to_tokens: Sequence[str] | None = None,
        *,
        sentence_b_start: int | None = None,
        kind: str = "self",
        name: str = "",
    ) -> Attention:
        """Attention that is there already, without a model.

        Args:
            attentions: what a model returned: a list of layers, [1, head, from, to] or
                [head, from, to] each, or one tensor, array or nested list of 3 to 5 dimensions.
            tokens: of the rows, such as `tokenizer.convert_ids_to_tokens(ids)`.
            to_tokens: of the columns, where they differ, as in cross-attention.
            sentence_b_start: index of the second text's first token.
            kind: what to call the kind of attention.
            name: of the model.

        Raises:
            TypeError, ValueError: shapes and tokens do not fit together, or these are no weights.
        """
        from bertlens.attention.from_tensors import from_tensors

        return from_tensors(
            attentions, tokens, to_tokens, sentence_b_start=sentence_b_start, kind=kind, name=name
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention of this text, such as ("encoder", "decoder", "cross")."""
        return tuple(self._kinds)

    def kind(self, name: str) -> Attention:
        """The attention of another kind, of the same text, at the same level.

        Raises:
            ValueError: the model has no such kind.
        """
        if name not in self._kinds:
            known = " and ".join(map(repr, self._kinds))
            raise ValueError(f"There is no attention of kind {name!r}; this model has {known}.")
        found = self._kinds[name]
        return found.to_words() if self.level == "word" else found

    @property
    def n_layers(self) -> int:
        return self._source.n_layers

    @property
    def n_heads(self) -> int:
        return self._source.n_heads

    @property
    def at_hand(self) -> bool:
        """Whether weights can be made without running the model again."""
        return self._source.holds_tensors

    def weights(
        self,
        layer: int | None = None,
        head: int | None = None,
        *,
        norm: Literal["value"] | None = None,
    ) -> Weights:
        """Attention weights, float32; rows attend, columns are attended to.

        Arrays may be kept for the next call and are read-only then: copy one to change it.

        Args:
            layer, head: counted from 0.
            norm: "value" gives norms of weighted, transformed values instead, as `value_norms`.

        Returns:
            [from, to] for a layer and head, [head, from, to] for a layer, [layer, head, from, to]
            without either.

        Raises:
            IndexError: no such layer or head.
            TypeError: a layer or head that is not an integer, or a head without a layer.
            ValueError: another norm.
            OutOfReachError: there are no value norms; see `value_norms`.
        """
        if norm is not None:
            if norm != "value":
                raise ValueError(f'norm must be "value" or None, not {norm!r}.')
            return self.normed.weights(layer, head)
        if layer is None:
            if head is not None:
                raise TypeError("Give a layer too: weights(layer=..., head=...).")
            return np.stack([self._source.layer(i) for i in range(self.n_layers)])
        found = self._source.layer(checked_index(layer, self.n_layers, "layer"))
        return found if head is None else found[checked_index(head, self.n_heads, "head")]

    def rows(self, layer: int, rows: Sequence[int]) -> Weights:
        """Weights [head, row, to] of some rows of a layer, without making the others.

        Raises:
            IndexError, TypeError: no such layer or row.
        """
        chosen = [checked_index(row, len(self.tokens), self.level) for row in rows]
        return self._source.rows(checked_index(layer, self.n_layers, "layer"), chosen)

    def to_words(self) -> Attention:
        """The same attention between words instead of tokens (paper section 4.1).

        Attention to a split word is the sum over its tokens, attention from it their mean. Special
        tokens stay, as words of their own.
        """
        if self.level == "word":
            return self
        crossed = self.to_words_ is not self.words
        columns = as_tokens(self.to_words_, self.to_tokens) if crossed else None
        tokens, words = as_tokens(self.words, self.tokens)
        made = Attention(
            WordPooled(self._source, self.words, self.to_words_),
            tokens,
            words,
            columns=columns,
            model_name=self.model_name,
            dtype=self.dtype,
            text=self.text,
            text_pair=self.text_pair,
            notes=self.notes,
            lens=self.lens,
            level="word",
            kind_name=self.kind_name,
            prediction=self.prediction,
        )
        made._kinds = self._kinds
        made.measure = self.measure
        made.derive = self.derive
        made.of_tokens = self
        return made

    @cached_property
    def normed(self) -> Attention:
        """The value norms, made once; see `value_norms`."""
        return self.value_norms()

    @cached_property
    def scores(self) -> TextScores:
        """Scores of every head on this text, by name: see bertlens.scores.catalogue."""
        from bertlens.attention.text_scores import TextScores

        return TextScores(self)

    def explore(self, **traits: Any) -> Explorer:
        """The widget: layer grid, head view, token view and query-key view, linked.

        Args:
            traits: starting values, such as layer=2, heads=[0, 8]; and `editable` and `truncate`,
                see `bertlens.widgets.explorer.Explorer`.

        Raises:
            TypeError: an unknown trait.
            SelectionError: a trait with a value that this model or text does not allow.
        """
        from bertlens.widgets.explorer import Explorer

        return Explorer(self, **traits)

    def close(self) -> None:
        """Free the tensors behind the weights; they are made anew if they are asked for again."""
        self._source.close()

    def __repr__(self) -> str:
        shape = f"{self.n_layers} layers x {self.n_heads} heads, {len(self.tokens)} {self.level}s"
        of = "Attention" if self.measure == "weights" else f"Attention ({self.measure})"
        return f"<{of} of {self.model_name or 'given tensors'}: {shape}>"


def joined_kinds(attentions: Sequence[Attention]) -> Attention:
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
