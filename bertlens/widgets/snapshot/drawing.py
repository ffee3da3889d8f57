"""Pieces of SVG."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.sax.saxutils import escape

MUTED = "#5b6472"
ACCENT = "#0b57d0"
LONGEST = 14
"""Most characters of a token that are written."""

# What XML 1.0 does not allow: control characters, halves of surrogate pairs, two non-characters.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Drawing:
    """A piece of a picture: SVG elements around their own origin, and their size in pixels."""

    width: int
    height: int
    body: str


def words(text: str) -> str:
    """Any text as the content of an SVG element or of an attribute."""
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), {'"': "&quot;"})


def label(text: str) -> str:
    """A token, cut to what a column holds, as the content of an element."""
    return words(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def text(x: float, y: float, content: str, *, style: str = "") -> str:
    """A line of text; `content` is escaped already, `style` holds further attributes."""
    return f'<text x="{x:g}" y="{y:g}"{" " + style if style else ""}>{content}</text>'


def image(x: float, y: float, width: float, height: float, uri: str) -> str:
    """A picture scaled without smoothing."""
    return (
        f'<image x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" href="{uri}"/>'
    )
