"""A still picture of a view, for where no kernel or no widget is."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

from bertlens.widgets.selection import Selection
from bertlens.widgets.snapshot import grid, head, head_map, header, probe, query_key, token
from bertlens.widgets.snapshot.drawing import Drawing, words
from bertlens.widgets.snapshot.scene import Scene

LIMIT = 44_000
"""Most bytes of the SVG, so that as a data URI it stays below 60 kB."""

PANES: dict[str, Callable[[Scene], Drawing]] = {
    "grid": grid.draw,
    "token": token.draw,
    "map": head_map.draw,
    "probe": probe.draw,
}
"""How each pane is drawn; the head view is drawn last, with the bytes that are left."""

MARGIN = 16


class Picture:
    """A picture that a notebook shows as an output of its own.

    Attributes:
        svg: the picture.
        description: what it shows, in words.
    """

    def __init__(self, svg: str, description: str) -> None:
        self.svg = svg
        self.description = description

    def _repr_html_(self) -> str:
        # An <svg> is stripped from untrusted notebooks; an image with its data inside is not.
        data = base64.b64encode(self.svg.encode()).decode()
        return (
            f'<img alt="{words(self.description)}" style="max-width:100%" '
            f'src="data:image/svg+xml;base64,{data}">'
        )

    def __repr__(self) -> str:
        return f"<Picture: {self.description}>"


def picture(selection: Selection, views: Sequence[str]) -> Picture:
    """The panes of a view as they are now.

    The query-key pane, which a whole explorer keeps folded, is drawn where it is shown alone.
    """
    scene = Scene.of(selection)
    drawn = {name: PANES[name](scene) for name in views if name in PANES}
    if list(views) == ["query-key"]:
        drawn["query-key"] = query_key.draw(scene)
    width = sum(pane.width for pane in drawn.values()) + 2 * MARGIN * max(1, len(drawn))
    if "head" in views:
        width += head.WIDTH + (2 * MARGIN if drawn else 0)
    top = header.draw(selection, width - 2 * MARGIN)
    if "head" in views:
        spent = len(top.body.encode()) + sum(len(d.body.encode()) for d in drawn.values())
        drawn["head"] = head.draw(scene, LIMIT - spent - 1000)
    panes = [drawn[name] for name in views if name in drawn]
    above = MARGIN + top.height + 10
    height = max((pane.height for pane in panes), default=0) + above + MARGIN
    x = MARGIN
    body = []
    for pane in panes:
        body.append(f'<g transform="translate({x} {above})">{pane.body}</g>')
        x += pane.width + 2 * MARGIN
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="system-ui,sans-serif" font-size="13" '
        f'fill="#1b1f27"><rect width="100%" height="100%" rx="8" fill="#fff"/>'
        f'<g transform="translate({MARGIN} {MARGIN})">{top.body}</g>{"".join(body)}</svg>'
    )
    return Picture(svg, _description(scene))


def _description(scene: Scene) -> str:
    heads = ", ".join(map(str, scene.heads)) or "none"
    text = " ".join(scene.attention.text.split())
    return (
        f"Attention of {scene.attention.model_name or 'a model'}, layer {scene.layer}, "
        f"heads {heads}, over “{text if len(text) <= 60 else text[:59] + '…'}”"
    )
