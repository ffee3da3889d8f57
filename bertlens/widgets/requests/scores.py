"""What can colour the layer grid, and how a score crosses to the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.attention import Attention
from bertlens.errors import brief
from bertlens.scores.head_scores import HeadScores
from bertlens.widgets.requests.protocol import Reply, Request, handles, weights_of
from bertlens.widgets.traits import SelectionError


class Choices:
    """Scores to choose from: those of the text, and those that the person added.

    Where an added score has the name of a score of the text, the text's is marked.
    """

    PAIRS = 8
    """So many scores of pairs of tokens are kept, the newest."""

    def __init__(self) -> None:
        self.added: dict[str, HeadScores] = {}
        self.pairs: dict[str, HeadScores] = {}

    def keep(self, score: HeadScores) -> None:
        """Let a score of a pair of this text's tokens be chosen, until the text changes."""
        self.pairs.pop(score.name, None)
        self.pairs[score.name] = score
        for oldest in list(self.pairs)[: -self.PAIRS]:
            del self.pairs[oldest]

    def of(self, attention: Attention) -> dict[str, HeadScores]:
        """All of them by name; the first time for a text, its scores are made."""
        return self._marked(attention.scores) | self.pairs | self.added

    def named(self, name: object, attention: Attention) -> HeadScores:
        """The score that a page means.

        Raises:
            SelectionError: there is none of this name.
        """
        quick = self.pairs | self.added
        if not isinstance(name, str):
            raise SelectionError(f"A score is named by a string, not {brief(name)}.")
        known = quick if name in quick else self.of(attention)
        if name not in known:
            there_are = ", ".join(map(repr, known))
            raise SelectionError(f"There is no score {brief(name)}; there are: {there_are}.")
        return known[name]

    def name_of(self, score: HeadScores, attention: Attention) -> str | None:
        """The name by which a page asks for a score; None if it is not among the choices."""
        known = self._marked(made_scores(attention)) | self.pairs | self.added
        return next((name for name, other in known.items() if other is score), None)

    def payload(self, name: str, score: HeadScores) -> dict[str, Any]:
        """A score for the page; `pair` marks that of a pair of tokens."""
        is_pair = any(score is other for other in self.pairs.values())
        return payload(name, score) | ({"pair": True} if is_pair else {})

    def _marked(self, scores: Mapping[str, HeadScores]) -> dict[str, HeadScores]:
        return {
            f"{name} (this text)" if name in self.added else name: score
            for name, score in scores.items()
        }


def made_scores(attention: Attention) -> Mapping[str, HeadScores]:
    """The scores of a text if they were ever asked for: making them all takes time."""
    made: Mapping[str, HeadScores] = vars(attention).get("scores", {})
    return made


def check_score(score: object, attention: Attention, what: str = "score") -> HeadScores:
    """The score, if it is a HeadScores of this model's shape.

    Raises:
        SelectionError: it is not.
    """
    if not isinstance(score, HeadScores):
        raise SelectionError(f"{what} must be a HeadScores or None, not {brief(score)}.")
    n_layers, n_heads = attention.n_layers, attention.n_heads
    if score.values.shape != (n_layers, n_heads):
        raise SelectionError(
            f"{what} is of {score.n_layers} layers x {score.n_heads} heads, but this model has "
            f"{n_layers} x {n_heads}: it was made for another model."
        )
    return score


def payload(name: str, score: HeadScores) -> dict[str, Any]:
    """A score for the page, under the name that the page asks for it by; NaN crosses as null.

    `categories` names the values 0, 1, ... where they stand for names, and is empty otherwise.
    """
    return {
        "name": name,
        "unit": score.unit,
        "description": score.description,
        "notable": score.notable,
        "values": _rows(score.values),
        "low": _rows(score.low),
        "high": _rows(score.high),
        "baseline": score.baseline,
        "support": _rows(score.support),
        "categories": list(score.categories),
    }


@handles("scores")
def scores(request: Request) -> Reply:
    """{} -> {scores}: everything that can colour the layer grid."""
    attention, choices = request.selection.attention, request.selection.choices
    with weights_of(attention):
        found = choices.of(attention)
    return Reply(
        content={"scores": [choices.payload(name, score) for name, score in found.items()]}
    )


def _rows(values: NDArray[np.float64] | None) -> list[list[float | None]] | None:
    if values is None:
        return None
    return [[value if np.isfinite(value) else None for value in row] for row in values.tolist()]
