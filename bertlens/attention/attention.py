"""Attention: one text's attention and all that can be asked of it.

The work of each method is in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

import numpy as np

from bertlens.attention.maps import AttentionMaps, TextInfo
from bertlens.attention.sources import Weights, WeightSource
from bertlens.capture.state import Lock
from bertlens.errors import require
from bertlens.text.tokens import Token, Word

if TYPE_CHECKING:
    import pandas as pd

    from bertlens.attention.query_key import ScoreParts
    from bertlens.attention.text_scores import TextScores
    from bertlens.scores.head_scores import HeadScores
    from bertlens.text.pointed import Pointed
    from bertlens.widgets.explorer import Explorer


class TextLens(Protocol):
    """What an Attention and its views need of the Lens that made it."""

    @property
    def tokenizer(self) -> Any: ...

    @property
    def lock(self) -> Lock: ...

    @property
    def takes(self) -> str: ...

    @property
    def reads_target(self) -> bool: ...

    def __call__(
        self,
        text: Any = None,
        text_pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        truncate: bool = False,
    ) -> Attention: ...


class Attention(AttentionMaps):
    """Where each head looks in one text, and what can be asked of it.

    Rows of the weights are the tokens that attend ("from", queries), columns the tokens that are
    attended to ("to", keys). Layers and heads are counted from 0. For `tokens`, `words`, `notes`
    and the other attributes see `bertlens.attention.maps.AttentionMaps`.

    Attributes:
        lens: the Lens that made it, or None.
        derive: makes the same of another text's attention; None for weights themselves.
    """

    derive: Callable[[Attention], Attention] | None = None

    def __init__(
        self,
        source: WeightSource,
        tokens: Sequence[Token],
        words: Sequence[Word],
        *,
        lens: TextLens | None = None,
        **info: Unpack[TextInfo],
    ) -> None:
        super().__init__(source, tokens, words, **info)
        self.lens = lens

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
            ModelChangedError: the weights were dropped to save memory (see `bertlens.memory`) and
                the model has changed since; `lens(text, keep=True)` keeps them.
        """
        if norm is not None:
            if norm != "value":
                raise ValueError(f'norm must be "value" or None, not {norm!r}.')
            return self.normed.weights(layer, head)
        return super().weights(layer, head)

    def queries(self, layer: int, head: int | None = None) -> Weights:
        """Queries as they meet the keys: after rotation, before scaling.

        Returns:
            float32 [from, dim] of a head, or [head, from, dim] of a layer.

        Raises:
            IndexError, TypeError: no such layer or head.
            OutOfReachError: the family keeps queries to itself, or there is no model behind this.
            ModelChangedError: as `weights`.
        """
        from bertlens.attention.query_key import queries

        return queries(self, layer, head)

    def keys(self, layer: int, head: int | None = None) -> Weights:
        """Keys as they meet the queries: after rotation, each group's for every head of it.

        Returns:
            float32 [to, dim] of a head, or [head, to, dim] of a layer.

        Raises:
            as `queries`.
        """
        from bertlens.attention.query_key import keys

        return keys(self, layer, head)

    def scores_before_softmax(self, layer: int, head: int | None = None) -> Weights:
        """What the softmax is taken of: scaled dot products and what is added to them.

        softmax over each row gives `weights` within 1e-6, except in families with a sink, which
        takes a share of its own; see `score_parts`.

        Returns:
            float32 [from, to] of a head, or [head, from, to] of a layer.

        Raises:
            as `queries`.
        """
        from bertlens.attention.query_key import scores

        return scores(self, layer, head)

    def score_parts(self, layer: int, head: int) -> ScoreParts:
        """The scores of a head in parts: dot product, scale, soft cap, position bias and mask.

        Raises:
            as `queries`.
        """
        from bertlens.attention.query_key import score_parts

        return score_parts(self, layer, head)

    def value_norms(self) -> Attention:
        """Norms of the weighted, transformed values (Kobayashi 2020), explored like weights.

        `weights()` of the result gives ||A_ij f(x_j)||, f(x) = (x W_V + b_V) W_O, in the units of
        the hidden states; rows do not sum to one. The model runs once more for the values. At word
        level norms are pooled like weights: the sum of the pieces' norms.

        The norm of a vector says how much a token adds, not what becomes of it: vectors of one row
        can cancel, and later layers decide what counts.

        Raises:
            OutOfReachError: the family keeps values to itself, or does not hand the attention
                output straight to a projection; or there is no model behind this.
            ModelChangedError: the model has changed since, and the lens was called without
                `keep=True`.
        """
        from bertlens.attention.value_norms import value_norms_of

        return value_norms_of(self)

    def rollout(self) -> Attention:
        """Attention rollout (Abnar & Zuidema 2020), [layer, 1, from, to], explored like a head.

        Layer l shows from which input tokens a token at the layer's output can have its
        information: A_l = 1/2 mean over heads + 1/2 I, R_l = A_l R_(l-1). Rows sum to one. It
        treats heads alike and leaves out values and feed-forward layers: no account of a decision.

        Raises:
            ValueError: rows and columns are different tokens, or these are no weights of a model.
        """
        from bertlens.attention.rollout import attention_rollout

        return attention_rollout(self)

    def flow(self, most_tokens: int | None = None) -> Attention:
        """Attention flow (Abnar & Zuidema 2020), [layer, 1, from, to], explored like a head.

        The maximum flow from a token at the layer's output to an input token, with the weights and
        half a residual connection as capacities; exact to 1e-6. An upper bound on a token's share
        rather than an account of a decision.

        Args:
            most_tokens: texts with more are an error, 64 by default: flows take their time.

        Raises:
            ValueError: too many tokens; else as `rollout`.
        """
        from bertlens.attention.flow import MOST_TOKENS, flow_of

        return flow_of(self, MOST_TOKENS if most_tokens is None else most_tokens)

    def mean(self, over: Literal["heads", "layers", "all"] = "heads") -> Attention:
        """The mean over heads, layers or both, explored like a head; that axis has length one.

        Raises:
            ValueError: `over` is something else.
        """
        from bertlens.attention.rollout import mean_of

        return mean_of(self, over)

    def find_heads(self, from_token: Pointed, to_token: Pointed) -> HeadScores:
        """Heads by their weight from one token to another.

        Args:
            from_token, to_token: a token's place, counted from 0, or its label; or several of
                these. Weight is summed over the tokens attended to and averaged over those that
                attend. At word level (`att.to_words()`) tokens are words.

        Returns:
            HeadScores; `best()` is the head that joins them most, `ranked()[:5]` the best five.

        Raises:
            IndexError, ValueError, TypeError: a token that is not there.
        """
        from bertlens.attention.find_heads import between

        return between(self, from_token, to_token)

    def to_frame(self, layer: int, head: int, top: int | None = None) -> pd.DataFrame:
        """A head's weights as a pandas table, the largest first.

        Args:
            top: only so many rows; all pairs by default.

        Returns:
            columns from_index, from, to_index, to, weight.

        Raises:
            IndexError, TypeError: no such layer or head.
            ValueError: `top` is below 1.
            MissingExtraError: pandas is not installed.
        """
        require("pandas", "analysis")
        import pandas as pd

        if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
            raise ValueError(f"top must be a number of rows, at least 1, not {top!r}.")
        weights = self.weights(layer, head)
        order = np.argsort(-weights.ravel(), kind="stable")[:top]
        rows, columns = np.unravel_index(order, weights.shape)
        return pd.DataFrame(
            {
                "from_index": rows,
                "from": [self.tokens[i].label for i in rows],
                "to_index": columns,
                "to": [self.to_tokens[j].label for j in columns],
                "weight": weights[rows, columns],
            }
        )

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
