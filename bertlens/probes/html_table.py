"""Tables as notebooks show them; every text is data, never HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape


def percent(share: float) -> str:
    """A share as per cent with one decimal; a dash where it is undefined."""
    return "–" if math.isnan(share) else f"{100 * share:.1f}"


def cell(text: str, *, number: bool = False, bold: bool = False) -> str:
    """A table cell; numbers stand on the right."""
    inner = f"<b>{escape(text)}</b>" if bold else escape(text)
    return f'<td style="text-align:{"right" if number else "left"}">{inner}</td>'


def table_html(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    """A table of cells with a title over it and notes under it."""
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in columns)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows)
    under = "".join(f"<div>{escape(note)}</div>" for note in notes)
    return (
        f"<div><b>{escape(title)}</b></div>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f'<div style="max-width:60em;font-size:smaller">{under}</div>'
    )
