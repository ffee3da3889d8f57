"""The map of heads as it crosses to the page, and the heads nearest to one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.attention import Attention
from bertlens.corpus.distances import HeadMap, distances
from bertlens.scores.patterns import BEHAVIOURS
from bertlens.widgets.requests.protocol import Reply, Request, RequestError, handles
from bertlens.widgets.traits import SelectionError

NEAREST = 10


def check_map(heads: object, attention: Attention) -> HeadMap:
    """The map, if it is one of this model's heads.

    Raises:
        SelectionError: it is not.
    """
    if not isinstance(heads, HeadMap):
        raise SelectionError(
            f"mapped_heads must be a HeadMap or None, such as scan.map(), not {heads!r:.80}."
        )
    shape, wanted = heads.labels.shape, (attention.n_layers, attention.n_heads)
    if shape != wanted:
        raise SelectionError(
            f"The map is of {shape[0]} layers x {shape[1]} heads, but this model has "
            f"{wanted[0]} x {wanted[1]}: it was made for another model."
        )
    return heads


def map_of(attention: Attention) -> HeadMap:
    """The map of one text's heads, with their behaviours on it.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    return distances(attention).map(attention.scores["behaviour"].labels)


def payload(heads: HeadMap | None) -> dict[str, Any] | None:
    """A map for the page: places within the unit square, as wide as they are high.

    `labels` index `categories`, whose first is "" for heads where nothing stands out.
    """
    if heads is None:
        return None
    names = list(dict.fromkeys(("", *BEHAVIOURS, *heads.labels.ravel().tolist())))
    labels = [[names.index(label) for label in row] for row in heads.labels.tolist()]
    return {
        "points": np.round(unit_square(heads.points), 4).tolist(),
        "labels": labels,
        "categories": names,
        "texts": heads.distances.texts,
    }


def unit_square(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places [layer, head, 2] moved and scaled, alike in both directions, into 0 to 1."""
    low, high = points.min((0, 1)), points.max((0, 1))
    size = max(float((high - low).max()), 1e-12)
    return np.asarray((points - (low + high) / 2) / size + 0.5)


@handles("nearest")
def nearest(request: Request) -> Reply:
    """{layer, head} -> {nearest}: the heads most alike, as [layer, head, distance]."""
    heads = request.selection.mapped_heads
    if heads is None:
        raise RequestError("There is no map of heads.")
    layer = request.index("layer", heads.distances.n_layers)
    head = request.index("head", heads.distances.n_heads)
    found = heads.distances.nearest(layer, head, NEAREST)
    return Reply(content={"nearest": [list(other) for other in found]})
