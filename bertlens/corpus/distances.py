"""Which heads behave alike: distances between their maps, and a map of the heads (paper section 6).

The distance of two heads is the Jensen-Shannon divergence of their rows, smoothed and summed over
tokens and texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from bertlens.attention.attention import Attention
from bertlens.attention.maps import checked_index
from bertlens.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bertlens.text.batch import Batch

SMOOTHING = 1e-3
"""The share of a uniform row that distances are smoothed with, as in the paper's code."""

BLOCK = 4096
"""So many numbers of each head are compared at once: two blocks of all heads stay in the cache."""


def divergences(maps: Tensor) -> NDArray[np.float64]:
    """Jensen-Shannon divergence of every two maps, in nats, summed over rows.

    The divergence of rows p and q is H((p + q) / 2) - (H(p) + H(q)) / 2. Logarithms of the
    mixtures are nearly all of the work: each pair is taken once, and a head with itself gives H(p).

    Args:
        maps: [head, from, to], rows that sum to 1, on any device. In float32 the result is within
            1e-7 of itself, in float64 it is exact and takes twice as long.

    Returns:
        float64 [head, head], symmetric, 0 on the diagonal.
    """
    heads, _, columns = maps.shape
    if maps.dtype not in (torch.float32, torch.float64):
        maps = maps.float()
    # Halved, so that the sum of two is their mixture.
    halves = maps.mul((1 - SMOOTHING) / 2).add_(SMOOTHING / 2 / columns).flatten(1)
    wide = torch.float32 if maps.device.type == "mps" else torch.float64
    entropies = torch.zeros((heads, heads), dtype=wide, device=maps.device)
    for start in range(0, halves.shape[1], BLOCK):
        block = halves[:, start : start + BLOCK].contiguous()
        mixtures, logs = torch.empty_like(block), torch.empty_like(block)
        for head in range(heads):
            others = heads - head
            mixture = torch.add(block[head:], block[head], out=mixtures[:others])
            terms = torch.log(mixture, out=logs[:others]).mul_(mixture)
            # In float64: entropies are large and their differences small.
            entropies[head, head:] -= terms.sum(-1, dtype=wide)
    made = entropies.cpu().double().numpy()
    own = np.diagonal(made)
    upper = np.triu(made - (own[:, None] + own) / 2, 1)
    # Rounding can take the divergence of two equal rows below 0.
    return np.asarray(np.maximum(upper + upper.T, 0))


@dataclass(frozen=True, eq=False)
class HeadDistances:
    """Distances between all heads of a model.

    Attributes:
        values: float64 [layer * heads + head, layer * heads + head], in nats, summed over tokens
            and texts.
        n_layers, n_heads: the shape of the model.
        texts: how many texts they are summed over.
    """

    values: NDArray[np.float64]
    n_layers: int
    n_heads: int
    texts: int

    def between(self, one: tuple[int, int], other: tuple[int, int]) -> float:
        """The distance of two heads, each (layer, head).

        Raises:
            IndexError, TypeError: there is no such head.
        """
        return float(self.values[self._place(*one), self._place(*other)])

    def nearest(self, layer: int, head: int, n: int = 10) -> list[tuple[int, int, float]]:
        """The `n` heads nearest to a given one, as (layer, head, distance), the nearest first.

        Raises:
            IndexError, TypeError: there is no such head.
        """
        place = self._place(layer, head)
        order = [int(i) for i in np.argsort(self.values[place], kind="stable") if i != place]
        return [
            (i // self.n_heads, i % self.n_heads, float(self.values[place, i])) for i in order[:n]
        ]

    def merged(self, other: HeadDistances) -> HeadDistances:
        """Both together; neither is changed.

        Raises:
            ValueError: they are of models of different shapes.
        """
        if (self.n_layers, self.n_heads) != (other.n_layers, other.n_heads):
            raise ValueError(
                "Only distances of models with the same layers and heads can be added."
            )
        return HeadDistances(
            self.values + other.values, self.n_layers, self.n_heads, self.texts + other.texts
        )

    def map(self, labels: ArrayLike | None = None, *, seed: int = 0) -> HeadMap:
        """The heads as points in the plane, near where they behave alike.

        Multidimensional scaling (SMACOF, the best of four starts), as in the paper.

        Args:
            labels: what each head is called, [layer, head], such as `scores["behaviour"].labels`.
            seed: of the random starts; the same seed gives the same map.

        Raises:
            MissingExtraError: scikit-learn is not installed.
            ValueError: labels of another shape.
        """
        require("sklearn", "analysis")
        from sklearn.manifold import smacof

        places, _ = smacof(
            self.values, n_components=2, n_init=4, random_state=seed, eps=1e-6, max_iter=300
        )
        shape = (self.n_layers, self.n_heads)
        named = np.full(shape, "") if labels is None else np.asarray(labels, str)
        if named.shape != shape:
            raise ValueError(f"labels must be [layer, head] {shape}, got shape {named.shape}.")
        return HeadMap(np.asarray(places).reshape(*shape, 2), named, self)

    def _place(self, layer: int, head: int) -> int:
        layer = checked_index(layer, self.n_layers, "layer")
        return layer * self.n_heads + checked_index(head, self.n_heads, "head")

    def __repr__(self) -> str:
        shape = f"{self.n_layers} layers x {self.n_heads} heads"
        return f"<HeadDistances: {shape}, summed over {self.texts} texts>"


@dataclass(frozen=True, eq=False)
class HeadMap:
    """Heads as points in the plane.

    Attributes:
        points: float64 [layer, head, 2].
        labels: str [layer, head], what each head does, "" where nothing stands out.
        distances: what the points were placed by.
    """

    points: NDArray[np.float64]
    labels: NDArray[np.str_]
    distances: HeadDistances

    def plot(self, ax: Axes | None = None, *, by: str = "behaviour", **style: Any) -> Axes:
        """The map as the paper prints it (Figure 6).

        Args:
            ax: matplotlib axes to draw into; new ones by default.
            by: colours stand for the "behaviour" or for the "layer".
            style: passed to the points.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ValueError: `by` is neither.
        """
        from bertlens.scores.figures import head_map

        return head_map(self, ax, by=by, **style)


class DistanceCounter:
    """Adds up distances batch by batch; `visit` and `commit` go to `corpus.sweep`.

    Attributes:
        distances: what was counted so far, None before the first batch.
    """

    def __init__(self) -> None:
        self.distances: HeadDistances | None = None
        self._layers: list[Tensor] = []

    def visit(self, layer: int, weights: Tensor, batch: Batch) -> None:
        """Keep a layer's weights [text, head, from, to] until the batch is whole."""
        if layer == 0:
            self._layers = []
        self._layers.append(weights.detach())

    def commit(self, batch: Batch) -> None:
        """Add the batch that was visited.

        Raises:
            ValueError: the model's layers differ in their number of heads.
        """
        layers, self._layers = self._layers, []
        counted = np.zeros(1)
        for text, n in enumerate(batch.lengths):
            counted = counted + divergences(_heads([layer[text, :, :n, :n] for layer in layers]))
        made = HeadDistances(counted, len(layers), layers[0].shape[1], len(batch))
        self.distances = made if self.distances is None else self.distances.merged(made)


def distances(attention: Attention) -> HeadDistances:
    """Distances between the heads of one text.

    Raises:
        ValueError: the model's layers differ in their number of heads.
    """
    layers = [
        torch.from_numpy(attention.weights(layer)).double() for layer in range(attention.n_layers)
    ]
    return HeadDistances(divergences(_heads(layers)), len(layers), attention.n_heads, 1)


def _heads(layers: list[Tensor]) -> Tensor:
    """All heads of all layers, [layer * heads + head, from, to]."""
    if len({layer.shape[0] for layer in layers}) > 1:
        raise ValueError("Distances between heads need layers with the same number of heads.")
    return torch.cat(layers)
