"""The map of heads as a picture: a point a head, coloured by what it does."""

from __future__ import annotations

from bertlens.scores.figures import COLOURS, TITLES
from bertlens.widgets.requests.head_map import unit_square
from bertlens.widgets.snapshot.drawing import ACCENT, MUTED, Drawing, text, words
from bertlens.widgets.snapshot.scene import Scene

SIDE = 300
TOP, LEFT = 28, 8


def draw(scene: Scene) -> Drawing:
    """Every head, near where it behaves alike; the chosen ones ringed and named."""
    heads = scene.mapped
    title = text(0, 12, "Head map", style='font-weight="600"')
    if heads is None:
        missing = text(0, 32, "No map of heads yet.", style=f'fill="{MUTED}"')
        return Drawing(SIDE, 40, title + missing)
    places = unit_square(heads.points)
    x, y = LEFT + SIDE * places[..., 0], TOP + SIDE * (1 - places[..., 1])
    parts, legend, bottom = [title], [], TOP + SIDE + 22
    for name in dict.fromkeys((*COLOURS, *heads.labels.ravel().tolist())):
        these = heads.labels == name
        if not these.any():
            continue
        colour = COLOURS.get(name, MUTED)
        # A line of no length with round ends: a point in a dozen bytes.
        dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x[these], y[these], strict=True))
        parts.append(_dots(dots, colour))
        legend.append(_dots(f"M{LEFT} {bottom - 4}h0", colour))
        shown = f"{TITLES.get(name, name)} {int(these.sum())}"
        legend.append(text(LEFT + 10, bottom, words(shown), style=f'fill="{MUTED}" font-size="11"'))
        bottom += 16
    for head in scene.heads:
        a, b = x[scene.layer, head], y[scene.layer, head]
        parts.append(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="7" fill="none" stroke="{ACCENT}" '
            f'stroke-width="1.5"/>'
            + text(a + 9, b - 5, f"{scene.layer}-{head}", style='font-size="11"')
        )
    return Drawing(SIDE + 2 * LEFT, round(bottom), "".join(parts + legend))


def _dots(places: str, colour: str) -> str:
    return f'<path d="{places}" stroke="{colour}" stroke-width="8" stroke-linecap="round"/>'
