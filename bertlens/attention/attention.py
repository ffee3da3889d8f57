"""What an Attention is asked beyond its weights; each method's work is in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from bertlens.attention.find_heads import Pointed
    from bertlens.attention.maps import Attention
    from bertlens.attention.query_key import ScoreParts
    from bertlens.scores.head_scores import HeadScores

Floats = NDArray[np.float32]


class Inside:
    """Methods of Attention: inside a head, mixed over layers, and as a table."""

    def queries(self, layer: int, head: int | None = None) -> Floats:
        """Queries as they meet the keys: after rotation, before scaling.

        Returns:
            float32 [from, dim] of a head, or [head, from, dim] of a layer.

        Raises:
            IndexError, TypeError: no such layer or head.
            OutOfReachError: the family keeps queries to itself, or there is no model behind this.
        """
        from bertlens.attention.query_key import queries

        return queries(self._attention, layer, head)

    def keys(self, layer: int, head: int | None = None) -> Floats:
        """Keys as they meet the queries: after rotation, each group's for every head of it.

        Returns:
            float32 [to, dim] of a head, or [head, to, dim] of a layer.

        Raises:
            as `queries`.
        """
        from bertlens.attention.query_key import keys

        return keys(self._attention, layer, head)

    def scores_before_softmax(self, layer: int, head: int | None = None) -> Floats:
        """What the softmax is taken of: scaled dot products and what is added to them.

        softmax over each row gives `weights` within 1e-6, except in families with a sink, which
        takes a share of its own; see `score_parts`.

        Returns:
            float32 [from, to] of a head, or [head, from, to] of a layer.

        Raises:
            as `queries`.
        """
        from bertlens.attention.query_key import scores

        return scores(self._attention, layer, head)

    def score_parts(self, layer: int, head: int) -> ScoreParts:
        """The scores of a head in parts: dot product, scale, soft cap, position bias and mask.

        Raises:
            as `queries`.
        """
        from bertlens.attention.query_key import score_parts

        return score_parts(self._attention, layer, head)

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
        """
        from bertlens.attention.value_norms import value_norms_of

        return value_norms_of(self._attention)

    def rollout(self) -> Attention:
        """Attention rollout (Abnar & Zuidema 2020), [layer, 1, from, to], explored like a head.

        Layer l shows from which input tokens a token at the layer's output can have its
        information: A_l = 1/2 mean over heads + 1/2 I, R_l = A_l R_(l-1). Rows sum to one. It
        treats heads alike and leaves out values and feed-forward layers: no account of a decision.

        Raises:
            ValueError: rows and columns are different tokens, or these are no weights of a model.
        """
        from bertlens.attention.rollout import attention_rollout

        return attention_rollout(self._attention)

    def flow(self, most_tokens: int | None = None) -> Attention:
        """Attention flow (Abnar & Zuidema 2020), [layer, 1, from, to], explored like a head.

        The maximum flow from a token at the layer's output to an input token, with the weights and
        half a residual connection as capacities; exact to 1e-6. An upper bound on a token's share
        rather than an account of a decision.

        Args:
            most_tokens: texts with more are an error, 64 by default: flows take their time.

        Raises:
            ValueError: too many tokens; else as `rollout`.
            MissingExtraError: scipy is not installed.
        """
        from bertlens.attention.flow import MOST_TOKENS, flow_of

        return flow_of(self._attention, MOST_TOKENS if most_tokens is None else most_tokens)

    def mean(self, over: Literal["heads", "layers", "all"] = "heads") -> Attention:
        """The mean over heads, layers or both, explored like a head; that axis has length one.

        Raises:
            ValueError: `over` is something else.
        """
        from bertlens.attention.rollout import mean_of

        return mean_of(self._attention, over)

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

        return between(self._attention, from_token, to_token)

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
        from bertlens.attention.table import to_frame

        return to_frame(self._attention, layer, head, top)

    @property
    def _attention(self) -> Attention:
        return cast("Attention", self)
