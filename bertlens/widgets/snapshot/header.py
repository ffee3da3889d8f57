"""The lines above a picture: the texts, the model, what it predicts, and the notes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from bertlens.widgets.selection import Selection
from bertlens.widgets.snapshot.drawing import MUTED, Drawing, text, words

LINE = 18
MOST_LINES = 3
"""Of one paragraph; the rest is an ellipsis."""

NARROW, WIDE = 6.9, 13.0
"""Advance of a character at 13 px, in pixels; East Asian wide ones and emoji are WIDE."""


def draw(selection: Selection, width: float) -> Drawing:
    """Paragraphs wrapped to a width in pixels."""
    attention = selection.attention
    size = f"{attention.n_layers}×{attention.n_heads} · {len(attention.tokens)} tokens"
    texts = " / ".join(t for t in (selection.text, selection.text_pair) if t)
    paragraphs = [(texts, ""), (f"{attention.model_name} · {size}".removeprefix(" · "), MUTED)]
    if attention.prediction is not None:
        paragraphs.append((f"Prediction: {attention.prediction}", MUTED))
    paragraphs += [(note, MUTED) for note in attention.notes]
    rows = []
    for paragraph, colour in paragraphs:
        style = f'fill="{colour}"' if colour else ""
        rows += [(line, style) for line in wrapped(paragraph, width)]
    body = "".join(
        text(0, 12 + LINE * i, words(line), style=style) for i, (line, style) in enumerate(rows)
    )
    return Drawing(round(width), LINE * len(rows), body)


def advance(content: str) -> float:
    """About how wide a line of text is, in pixels at 13 px."""
    return sum(WIDE if unicodedata.east_asian_width(c) in "WF" else NARROW for c in content)


def wrapped(paragraph: str, width: float) -> list[str]:
    """Lines no wider than a width, at most MOST_LINES, broken at spaces where there are any."""
    lines: list[str] = []
    line = ""
    for piece in _pieces(" ".join(paragraph.split()), width):
        if line and advance(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    lines.append(line.rstrip())
    if len(lines) > MOST_LINES:
        lines = lines[:MOST_LINES]
        while advance(lines[-1] + "…") > width and len(lines[-1]) > 1:
            lines[-1] = lines[-1][:-1]
        lines[-1] += "…"
    return [line for line in lines if line]


def _pieces(paragraph: str, width: float) -> Iterator[str]:
    """Words with the space behind them; a word wider than a line in parts that fit one."""
    for word in paragraph.split(" "):
        part = ""
        for character in word:
            if part and advance(part + character) > width:
                yield part
                part = ""
            part += character
        yield f"{part} "
