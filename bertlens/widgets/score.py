"""HeadScores as the page reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertlens.scores import HeadScores
from bertlens.widgets.wire import Reply, Request, answers, weights_of


def payload(name: str, score: HeadScores) -> dict[str, Any]:
    """A score for the page, under the name that the page asks for it by; NaN crosses as null."""
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
    }


@answers("scores")
def scores(request: Request) -> Reply:
    """{} -> {scores}: everything that can colour the layer grid."""
    with weights_of(request.attention):
        found = request.selection.scores
    return Reply(content={"scores": [payload(name, score) for name, score in found.items()]})


def _rows(values: NDArray[np.float64] | None) -> list[list[float | None]] | None:
    if values is None:
        return None
    return [[value if np.isfinite(value) else None for value in row] for row in values.tolist()]
