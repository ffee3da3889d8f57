"""The figures of Clark et al. 2019 as matplotlib axes, which the caller can restyle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bertlens.errors import require
from bertlens.scores.patterns import BEHAVIOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bertlens.scores.head_scores import HeadScores


class PlacedHeads(Protocol):
    """Heads as points: points [layer, head, 2] and what each head does, labels [layer, head]."""

    @property
    def points(self) -> NDArray[np.float64]: ...

    @property
    def labels(self) -> NDArray[np.str_]: ...


# Okabe & Ito's colours, told apart by colour-blind readers; grey where nothing stands out.
COLOURS = dict(
    zip(
        BEHAVIOURS,
        ("#9a9a9a", "#56b4e9", "#e69f00", "#009e73", "#d55e00", "#0072b2", "#cc79a7"),
        strict=True,
    )
)
"""A colour for each behaviour."""

TITLES = {"": "none of these", "cls": "[CLS]", "sep": "[SEP]"}


def by_layer(score: HeadScores, ax: Axes | None = None, **style: Any) -> Axes:
    """Each head's value by layer as points, the layer's mean as a line (Figures 2 to 4).

    The baseline, where there is one, is a dashed line.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    axes = _axes(ax)
    layers = np.arange(score.n_layers)
    at = np.repeat(layers, score.n_heads)
    points = axes.scatter(at, score.values.ravel(), **{"s": 14, "alpha": 0.6, **style})
    if not score.categories:
        red, green, blue, _ = np.asarray(points.get_facecolor())[0]
        axes.plot(layers, _means(score), color=(red, green, blue), label=score.name)
    if score.baseline is not None:
        axes.axhline(score.baseline, color="0.5", linestyle="--", linewidth=1, label="uniform")
        axes.margins(y=0.08)  # else a line beyond all points lies on the frame
    axes.set_xlabel("Layer")
    axes.set_ylabel(score.unit or score.name)
    axes.set_xticks(layers)
    axes.set_title(score.name)
    if score.categories:
        axes.set_yticks(range(len(score.categories)), [_title(name) for name in score.categories])
    return axes


def layer_means(scores: Sequence[HeadScores], ax: Axes | None = None, **style: Any) -> Axes:
    """Means of several scores by layer, a line each (Figures 2 and 3).

    Args:
        style: passed to the lines.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ValueError: there is no score.
    """
    if not scores:
        raise ValueError("There is no score to draw.")
    axes = _axes(ax)
    for score in scores:
        layers = np.arange(score.n_layers)
        axes.plot(layers, _means(score), **{"marker": "o", "label": score.name, **style})
    axes.set_xlabel("Layer")
    axes.set_ylabel(scores[0].unit)
    axes.set_xticks(range(scores[0].n_layers))
    axes.legend(frameon=False, fontsize="small")
    return axes


def head_map(
    heads: PlacedHeads, ax: Axes | None = None, *, by: str = "behaviour", **style: Any
) -> Axes:
    """Heads as points, near where they behave alike (Figure 6).

    Raises:
        MissingExtraError: matplotlib is not installed.
        ValueError: `by` is neither "behaviour" nor "layer".
    """
    if by not in ("behaviour", "layer"):
        raise ValueError(f'by must be "behaviour" or "layer", not {by!r}.')
    axes = _axes(ax)
    look = {"s": 28, **style}
    x, y = heads.points[..., 0], heads.points[..., 1]
    if by == "layer":
        layers = np.broadcast_to(np.arange(x.shape[0])[:, None], x.shape)
        points = axes.scatter(x, y, c=layers, cmap="viridis", **look)
        axes.figure.colorbar(points, ax=axes, label="Layer", ticks=range(x.shape[0]))
    else:
        for name in BEHAVIOURS:
            these = heads.labels == name
            if these.any():
                axes.scatter(x[these], y[these], color=COLOURS[name], label=_title(name), **look)
        axes.legend(frameon=False, fontsize="small")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title("Heads, near where they attend alike")
    return axes


def _means(score: HeadScores) -> NDArray[np.float64]:
    """Each layer's mean over heads, NaN where no head has a value."""
    defined = ~np.isnan(score.values).all(1)
    means = np.full(score.n_layers, np.nan)
    means[defined] = np.nanmean(score.values[defined], 1)
    return means


def _title(behaviour: str) -> str:
    return TITLES.get(behaviour, behaviour)


def _axes(ax: Axes | None) -> Axes:
    require("matplotlib", "analysis")
    if ax is not None:
        return ax
    from matplotlib import pyplot

    _, made = pyplot.subplots(figsize=(5, 3.5), layout="constrained")
    return made
