"""The head view as a picture: lines from token to token."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from bertlens.widgets.palette import css, head_colour
from bertlens.widgets.snapshot.drawing import ACCENT, MUTED, Drawing, label, text
from bertlens.widgets.snapshot.scene import Scene

ROW = 18
TOP = 46
LEFT, GAP = 110, 160
SHADES = (0.05, 0.12, 0.25, 0.4, 0.6, 0.8, 1)
MOST = 1500
WIDTH = 2 * LEFT + GAP + 12


def draw(scene: Scene, room: int) -> Drawing:
    """The chosen heads' lines; the strongest ones, where not all fit into `room` bytes."""
    frame = _frame(scene)
    lines, note = _lines(scene, room - len(frame.encode()) - 200)
    bottom = TOP + ROW * max(len(scene.rows), len(scene.columns)) + 4
    body = f'<g transform="translate({LEFT + 6} {TOP - 4.5:g})" fill="none">{lines}</g>{frame}'
    if note:
        body += text(0, bottom + 12, note, style=f'fill="{MUTED}" font-size="11"')
    return Drawing(WIDTH, bottom + (18 if note else 0), body)


def _frame(scene: Scene) -> str:
    """The swatches of the chosen heads and both columns of tokens."""
    parts = [text(0, 12, f"Layer {scene.layer}", style='font-weight="600"')]
    for i, head in enumerate(scene.heads[:24]):
        x = 60 + 21 * (i % 14)
        y = 0 if i < 14 else 17
        parts.append(
            f'<rect x="{x}" y="{y}" width="18" height="15" rx="3" fill="{css(head_colour(i))}"/>'
            + text(
                x + 9, y + 11, str(head), style='fill="#fff" font-size="10" text-anchor="middle"'
            )
        )
    if not scene.heads:
        parts.append(text(60, 12, "no head chosen", style=f'fill="{MUTED}"'))
    attention = scene.attention
    sides = (
        ("from", scene.rows, attention.tokens, LEFT, "end"),
        ("to", scene.columns, attention.to_tokens, LEFT + GAP + 12, "start"),
    )
    for side, shown, tokens, x, anchor in sides:
        parts.append(f'<g text-anchor="{anchor}">')
        for i, item in enumerate(shown):
            pinned = scene.pin == item and scene.side == side
            style = f'font-weight="600" fill="{ACCENT}"' if pinned else ""
            if tokens[item].special and not pinned:
                style = f'fill="{MUTED}"'
            parts.append(text(x, TOP + ROW * i, label(tokens[item].label), style=style))
        parts.append("</g>")
    return "".join(parts)


def _lines(scene: Scene, room: int) -> tuple[str, str]:
    """Paths, a path element for each head and shade, and what a person should know of the rest."""
    rows, columns = scene.rows, scene.columns
    notes = []
    for shown, tokens in ((rows, scene.attention.tokens), (columns, scene.attention.to_tokens)):
        if 0 < len(shown) < sum(scene.special == "show" or not t.special for t in tokens):
            notes.append(f"{scene.attention.level}s {shown[0]} to {shown[-1]} of {len(tokens)}")
    notes = sorted(set(notes))
    if not scene.heads or not len(rows) or not len(columns):
        return "", "; ".join(notes)
    seen = np.where(scene.drawn, scene.weights, 0)[:, rows[:, None], columns]
    seen[seen < max(scene.min_weight, 1e-6)] = 0
    strongest = np.argsort(-seen, axis=None, kind="stable")[: np.count_nonzero(seen)]
    paths: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    half, spent, count = GAP // 2, 0, 0
    for flat in strongest[:MOST]:
        head, row, column = np.unravel_index(flat, seen.shape)
        a, b = ROW * row, ROW * column
        line = f"M0 {a}C{half} {a} {half} {b} {GAP} {b}"
        shade = min(int(seen[head, row, column] ** 0.5 * len(SHADES)), len(SHADES) - 1)
        key = (scene.heads[head], shade)
        spent += len(line) + (0 if key in paths else 60)
        if spent > room:
            break
        paths[key].append(line)
        count += 1
    if count < len(strongest):
        notes.append(f"the strongest {count} of {len(strongest)} lines")
    place = {head: i for i, head in enumerate(scene.heads)}
    # The faint ones first, so that the strong ones lie on top.
    drawn = "".join(
        f'<path stroke="{css(head_colour(place[head]))}" stroke-opacity="{SHADES[shade]}" '
        f'd="{"".join(paths[head, shade])}"/>'
        for head, shade in sorted(paths, key=lambda key: key[1])
    )
    return f'<g stroke-width="1.4">{drawn}</g>', "; ".join(notes)
