"""What a picture shows: the weights and tokens that the Selection leaves in view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.attention import Attention
from bertlens.attention.sources import Weights
from bertlens.corpus.distances import HeadMap
from bertlens.scores.head_scores import HeadScores
from bertlens.text.tokens import Token
from bertlens.widgets.requests.maps import renormalised, specials
from bertlens.widgets.selection import Selection

if TYPE_CHECKING:
    from bertlens.probes import RelationTable

ROWS = 48
"""Most tokens drawn in a column."""


@dataclass(frozen=True)
class Scene:
    """A Selection as it was when the picture was made.

    Attributes:
        attention: at the level that is shown.
        pin: the pinned item (token or word) and its side, or None.
        mapped: the map of heads, if there is one.
        probed, relation: the table of relations and the one that is shown, if there are any.
    """

    attention: Attention
    layer: int
    heads: tuple[int, ...]
    side: str
    pin: int | None
    segment_filter: str
    special: str
    min_weight: float
    score: HeadScores | None
    score_name: str
    mapped: HeadMap | None
    probed: RelationTable | None
    relation: str | None

    @classmethod
    def of(cls, selection: Selection) -> Scene:
        """What the Selection shows now."""
        attention: Attention = selection.current[0]
        side: str = selection.side
        pin: int | None = selection.token
        if selection.level == "word" and attention.level == "token":
            tokens = attention.tokens if side == "from" else attention.to_tokens
            pin = None if pin is None else tokens[pin].word
            attention = attention.to_words()
        score = selection.score
        sent = selection.score_payload(score)
        return cls(
            attention,
            selection.layer,
            tuple(selection.heads),
            side,
            pin,
            selection.segment_filter,
            selection.special,
            selection.min_weight,
            score,
            "" if sent is None else str(sent["name"]),
            selection.mapped_heads,
            selection.probed,
            selection.relation,
        )

    @cached_property
    def weights(self) -> Weights:
        """Of the chosen heads, [head, from, to], as the special tokens are treated."""
        chosen = self.attention.weights(self.layer)[list(self.heads)]
        if self.special == "renormalise":
            return renormalised(chosen, specials(self.attention))
        return chosen

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Indices of the items in the left column, at most ROWS, the pin among them."""
        return self._in_view(self.attention.tokens, self.pin)

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """Indices of the items in the right column."""
        return self._in_view(self.attention.to_tokens, self.pin)

    @cached_property
    def drawn(self) -> NDArray[np.bool_]:
        """Which pairs of items the pin and the segment filter leave, bool [from, to]."""
        of = np.array([token.segment for token in self.attention.tokens])
        to = np.array([token.segment for token in self.attention.to_tokens])
        drawn = np.ones((len(of), len(to)), bool)
        if self.segment_filter != "all":
            first, second = ("ab".index(name) for name in self.segment_filter.split("->"))
            drawn = (of == first)[:, None] & (to == second)
        if self.pin is not None:
            only = np.zeros_like(drawn)
            if self.side == "from":
                only[self.pin] = True
            else:
                only[:, self.pin] = True
            drawn &= only
        return drawn

    def _in_view(self, tokens: Sequence[Token], pin: int | None) -> NDArray[np.int64]:
        shown = [i for i, token in enumerate(tokens) if self.special == "show" or not token.special]
        middle = 0 if pin is None else int(np.searchsorted(shown, pin))
        start = max(0, min(middle - ROWS // 2, len(shown) - ROWS))
        return np.array(shown[start : start + ROWS], np.int64)
