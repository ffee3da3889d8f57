"""How the pinned token's weights come about, as a table: dot products, scores and weights."""

from __future__ import annotations

import numpy as np

from bertlens.attention.derived import at_token_level
from bertlens.attention.query_key import score_parts
from bertlens.errors import BertlensError
from bertlens.widgets.snapshot.drawing import MUTED, Drawing, label, text, words
from bertlens.widgets.snapshot.header import LINE, wrapped
from bertlens.widgets.snapshot.scene import Scene

WIDTH = 320
LISTED = 12
COLUMNS = (("query · key", 170), ("score", 245), ("weight", WIDTH))


def draw(scene: Scene) -> Drawing:
    """The LISTED largest weights of the pinned token in the selected head."""
    title = text(0, 12, "Query and key", style='font-weight="600"')
    if scene.pin is None or not scene.heads:
        return _message(title, "Pin a token and switch on a head to see its scores.")
    try:
        attention = at_token_level(scene.attention, "Queries and keys")
        here = scene.side == "from"
        head = scene.heads[-1]
        pinned = {"row" if here else "column": scene.pin}
        parts = score_parts(attention, scene.layer, head, **pinned)
        if here:
            weights = attention.rows(scene.layer, [scene.pin])[head, 0]
        else:
            weights = attention.weights(scene.layer, head)[:, scene.pin]
    except (BertlensError, ValueError) as error:
        return _message(title, str(error))
    own, others = (
        (attention.tokens, attention.to_tokens) if here else (attention.to_tokens, attention.tokens)
    )
    dots, totals = parts.dot.ravel(), parts.total.ravel()
    order = np.argsort(-weights, kind="stable")[:LISTED]
    what = "query" if here else "key"
    rows = [
        title,
        text(
            0,
            30,
            f"Head {scene.layer}-{head}: {what} of “{label(own[scene.pin].label)}” against",
            style=f'fill="{MUTED}" font-size="11"',
        ),
    ]
    muted = f'fill="{MUTED}" font-size="11" text-anchor="end"'
    rows += [text(x, 48, name, style=muted) for name, x in COLUMNS]
    for place, other in enumerate(order):
        y = 66 + LINE * place
        values = (f"{dots[other]:.2f}", f"{totals[other]:.2f}", f"{weights[other]:.3f}")
        rows.append(text(0, y, label(others[other].label)))
        rows += [
            text(x, y, value, style='text-anchor="end"')
            for value, (_, x) in zip(values, COLUMNS, strict=True)
        ]
    return Drawing(WIDTH, 66 + LINE * len(order), "".join(rows))


def _message(title: str, message: str) -> Drawing:
    lines = wrapped(message, WIDTH)
    style = f'fill="{MUTED}"'
    body = "".join(text(0, 32 + LINE * i, words(line), style=style) for i, line in enumerate(lines))
    return Drawing(WIDTH, 32 + LINE * len(lines), title + body)
