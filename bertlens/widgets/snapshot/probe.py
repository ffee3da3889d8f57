"""Sentences behind a relation, as the selected head picks syntactic heads."""

from __future__ import annotations

from bertlens.widgets.requests.probe import first_relation
from bertlens.widgets.snapshot.drawing import ACCENT, MUTED, Drawing, text, words
from bertlens.widgets.snapshot.header import LINE, wrapped
from bertlens.widgets.snapshot.scene import Scene

WIDTH = 420
LISTED = 8


def draw(scene: Scene) -> Drawing:
    """The first examples of the relation that is shown: word, its head, and the head's guess."""
    title = text(0, 12, "Probe", style='font-weight="600"')
    table = scene.probed
    if table is None or not scene.heads:
        missing = "No table of relations yet." if table is None else "No head is on."
        return Drawing(WIDTH, 40, title + text(0, 32, missing, style=f'fill="{MUTED}"'))
    relation = scene.relation or first_relation(table, None)
    layer, head = scene.layer, scene.heads[-1]
    every = table.examples(relation, layer, head)
    right = sum(example.hit for example in every)
    rows = [
        title,
        text(
            0,
            30,
            words(f"{relation}, head {layer}-{head}: {right} of {len(every)} right"),
            style=f'fill="{MUTED}"',
        ),
    ]
    y = 30 + LINE
    for example in every[:LISTED]:
        named = (example.dependent, example.head, example.guess)
        dependent, gold, guess = (example.words[i - 1] if i > 0 else "–" for i in named)
        verdict = "✓" if example.hit else f"✗ it picks “{guess}”"
        line = f"“{dependent}” → “{gold}” {verdict}"
        rows.append(text(0, y, words(line), style="" if example.hit else f'fill="{ACCENT}"'))
        y += LINE
        for part in wrapped(" ".join(example.words), WIDTH - 12)[:2]:
            rows.append(text(12, y, words(part), style=f'fill="{MUTED}" font-size="11"'))
            y += LINE
    return Drawing(WIDTH, y, "".join(rows))
