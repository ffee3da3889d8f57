"""The token view as a picture: where attention goes, as a ranked list, and the head's map."""

from __future__ import annotations

import numpy as np

from bertlens.widgets.palette import css, head_colour, ramp
from bertlens.widgets.requests.maps import thumbnails
from bertlens.widgets.snapshot.drawing import MUTED, Drawing, image, label, text
from bertlens.widgets.snapshot.png import data_uri
from bertlens.widgets.snapshot.scene import Scene

WIDTH = 230
LISTED = 8
ROW = 18
SIDE = 48


def draw(scene: Scene) -> Drawing:
    """The chosen heads' mean for the pinned token, and the selected head's map."""
    attention = scene.attention
    if not scene.heads:
        return Drawing(WIDTH, 16, text(0, 12, "No head chosen", style=f'fill="{MUTED}"'))
    mean = scene.weights.mean(0)
    columns = attention.to_tokens
    if scene.pin is None:
        values, title = mean.mean(0), "Attention received"
    elif scene.side == "from":
        values = mean[scene.pin]
        title = f"“{label(attention.tokens[scene.pin].label)}” attends to"
    else:
        values, columns = mean[:, scene.pin], attention.tokens
        title = f"“{label(attention.to_tokens[scene.pin].label)}” gets attention from"
    listed = [i for i, t in enumerate(columns) if scene.special == "show" or not t.special]
    best = sorted(listed, key=lambda i: -values[i])[:LISTED]
    parts = [text(0, 12, title, style='font-weight="600"')]
    colour = css(head_colour(len(scene.heads) - 1))
    longest = max((float(values[i]) for i in best), default=0.0) or 1.0
    for row, i in enumerate(best):
        y = 32 + ROW * row
        parts += [
            text(0, y, label(columns[i].label)),
            f'<rect x="110" y="{y - 8}" width="{70 * float(values[i]) / longest:.1f}" height="6" '
            f'fill="{colour}"/>',
            text(WIDTH, y, f"{values[i]:.3f}", style='text-anchor="end"'),
        ]
    top = 32 + ROW * len(best) + 8
    small = np.sqrt(thumbnails(attention.weights(scene.layer, scene.heads[-1]), SIDE))
    shades = ramp(16)
    pixels = np.rint(small * (len(shades) - 1)).astype(np.uint8)
    parts += [
        text(0, top, f"Head {scene.layer}-{scene.heads[-1]}", style='font-weight="600"'),
        text(WIDTH, top, "from ↓ to →", style=f'fill="{MUTED}" font-size="11" text-anchor="end"'),
        image(0, top + 8, WIDTH, WIDTH, data_uri(pixels, shades)),
        f'<rect x=".5" y="{top + 8.5:g}" width="{WIDTH - 1}" height="{WIDTH - 1}" fill="none" '
        'stroke="#d5d9e0"/>',
    ]
    return Drawing(WIDTH, top + 10 + WIDTH, "".join(parts))
