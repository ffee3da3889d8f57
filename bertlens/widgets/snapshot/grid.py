"""The layer grid as a picture: a small map of every head, or a score's colour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bertlens.scores.head_scores import HeadScores
from bertlens.widgets.palette import category_colour, css, ramp
from bertlens.widgets.requests.maps import thumbnails
from bertlens.widgets.snapshot.drawing import ACCENT, MUTED, Drawing, text, words
from bertlens.widgets.snapshot.drawing import image as placed
from bertlens.widgets.snapshot.png import data_uri
from bertlens.widgets.snapshot.scene import Scene

WIDTH = 300
TOP, LEFT = 40, 22
LEVELS = 16
PIXELS = 30_000
"""Most pixels of all small maps together: with sixteen colours, at most half as many bytes."""
MOST_WEIGHTS = 20_000_000
"""Making more weights than these would take a noticeable part of a second: only the layer that is
shown is drawn then."""
_CATEGORIES = ((255, 255, 255), *(category_colour(i) for i in range(LEVELS - 1)))


def draw(scene: Scene) -> Drawing:
    """Every layer (row) and head (column)."""
    attention = scene.attention
    score = scene.score
    # Of a long text only the layer that is shown is drawn: maps of all would take too long.
    layers = list(range(attention.n_layers)) if score or _is_short(scene) else [scene.layer]
    n_layers, n_heads = len(layers), attention.n_heads
    cell = min(28.0, (WIDTH - LEFT) / n_heads)
    width, height = cell * n_heads, cell * n_layers
    named = score is not None and bool(score.categories)
    maps = _maps(scene, layers) if score is None else _shades(score)
    palette = _CATEGORIES if named else ramp(LEVELS)
    side = 0.4 if cell < 10 else 1.5
    parts = [
        text(
            0,
            12,
            "Layers × heads" if n_layers > 1 else "Heads of the layer",
            style='font-weight="600"',
        ),
        placed(LEFT, TOP, width, height, data_uri(_mosaic(maps), palette)),
    ]
    if score is not None and not named:
        parts.append(_undefined(score, cell))
    # White lines over the picture part the cells.
    across = "".join(f"M{LEFT} {TOP + cell * i:g}h{width:g}" for i in range(n_layers + 1))
    down = "".join(f"M{LEFT + cell * i:g} {TOP}v{height:g}" for i in range(n_heads + 1))
    parts.append(f'<path stroke="#fff" stroke-width="{2 * side}" d="{across}{down}"/>')
    for head in scene.heads:
        x, y = LEFT + cell * head + side, TOP + cell * layers.index(scene.layer) + side
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{cell - 2 * side:g}" height="{cell - 2 * side:g}" '
            f'rx="2" fill="none" stroke="{ACCENT}" stroke-width="1.5"/>'
        )
    parts.append(f'<g fill="{MUTED}" font-size="10">{_numbers(layers, n_heads, cell)}</g>')
    bottom = TOP + height + 12
    legend = _names(score, bottom) if score is not None and named else _bar(scene, bottom)
    parts.append(legend)
    rows = len(score.categories) if score is not None else 0
    return Drawing(WIDTH, round(bottom + 30 + 16 * rows), "".join(parts))


def _is_short(scene: Scene) -> bool:
    attention = scene.attention
    heads = attention.n_layers * attention.n_heads
    return heads * len(attention.tokens) * len(attention.to_tokens) <= MOST_WEIGHTS


def _maps(scene: Scene, layers: list[int]) -> NDArray[np.float64]:
    """Small maps [layer, head, rows, columns] on a scale of 0 to 1; square roots of weights."""
    attention = scene.attention
    side = max(1, min(32, int((PIXELS / (attention.n_layers * attention.n_heads)) ** 0.5)))
    # The layer that is shown comes last, because the last one made is kept.
    order = [*(layer for layer in layers if layer != scene.layer), scene.layer]
    maps = {layer: thumbnails(attention.weights(layer), side) for layer in order}
    return np.sqrt(np.stack([maps[layer] for layer in layers]), dtype=np.float64)


def _shades(score: HeadScores) -> NDArray[np.float64]:
    """A score as maps of one pixel, [layer, head, 1, 1], from its smallest value to its largest.

    Categories are colours of their own; white is for none and for a category without a name.
    """
    if score.categories:
        unnamed = [i for i, name in enumerate(score.categories) if not name]
        place = np.where(np.isin(score.values, unnamed), 0, np.nan_to_num(score.values + 1))
        place = place % LEVELS
        return np.asarray(place / (LEVELS - 1))[:, :, None, None]
    low, high = _ends(score)
    scaled = (np.nan_to_num(score.values, nan=low) - low) / ((high - low) or 1)
    return scaled[:, :, None, None]


def _ends(score: HeadScores) -> tuple[float, float]:
    known = score.values[np.isfinite(score.values)]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)


def _mosaic(maps: NDArray[np.float64]) -> NDArray[np.uint8]:
    layers, heads, rows, columns = maps.shape
    tiled = maps.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)
    return np.rint(np.clip(tiled, 0, 1) * (LEVELS - 1)).astype(np.uint8)


def _undefined(score: HeadScores, cell: float) -> str:
    """Hatching over heads without a value."""
    places = np.argwhere(~np.isfinite(score.values))
    if not len(places):
        return ""
    cells = "".join(
        f"M{LEFT + cell * head:g} {TOP + cell * layer:g}h{cell:g}v{cell:g}h-{cell:g}z"
        for layer, head in places
    )
    return (
        '<pattern id="none" width="5" height="5" patternUnits="userSpaceOnUse">'
        f'<path d="M0 5L5 0" stroke="{MUTED}"/></pattern><path fill="url(#none)" d="{cells}"/>'
    )


def _numbers(layers: list[int], n_heads: int, cell: float) -> str:
    every = 1 if cell >= 12 else 4
    heads = "".join(
        text(LEFT + cell * (head + 0.5), TOP - 6, str(head), style='text-anchor="middle"')
        for head in range(0, n_heads, every)
    )
    rows = "".join(
        text(LEFT - 6, TOP + cell * (row + 0.5) + 3.5, str(layer), style='text-anchor="end"')
        for row, layer in list(enumerate(layers))[::every]
    )
    return heads + rows


def _names(score: HeadScores, y: float) -> str:
    """The name of a score of categories, and the colour of each."""
    muted = f'fill="{MUTED}" font-size="11"'
    rows = [text(LEFT, y + 8, words(score.name[:40]), style=muted)]
    named = [(i, name) for i, name in enumerate(score.categories) if name]
    for row, (i, name) in enumerate(named):
        top = y + 16 * (row + 1)
        colour = css(_CATEGORIES[(i + 1) % LEVELS])
        rows.append(f'<rect x="{LEFT}" y="{top:g}" width="10" height="10" fill="{colour}"/>')
        rows.append(text(LEFT + 16, top + 9, words(name[:40]), style=muted))
    return "".join(rows)


def _bar(scene: Scene, y: float) -> str:
    """The colour bar and what it measures."""
    if scene.score is None:
        name, low, high = "attention", "0", "1"
    else:
        ends = _ends(scene.score)
        low, high = f"{ends[0]:.3g}", f"{ends[1]:.3g}"
        name = f"{scene.score_name} ({scene.score.unit})" if scene.score.unit else scene.score_name
    stops = "".join(f'<stop offset="{i / 4}" stop-color="{css(ramp(5)[i])}"/>' for i in range(5))
    muted = f'fill="{MUTED}" font-size="11"'
    return (
        f'<linearGradient id="ramp">{stops}</linearGradient>'
        f'<rect x="{LEFT}" y="{y:g}" width="120" height="8" fill="url(#ramp)" stroke="#d5d9e0"/>'
        + text(LEFT, y + 21, low, style=muted)
        + text(LEFT + 120, y + 21, high, style=muted + ' text-anchor="end"')
        + text(LEFT + 130, y + 8, words(name[:40]), style=muted)
    )
