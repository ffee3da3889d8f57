"""Tables as notebooks show them; every text is data, never HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_TEMPLATE = """\
<div><b>{{ title }}</b></div>
<table>
<thead><tr>
{%- for name in columns %}<th style="text-align:left">{{ name }}</th>{% endfor -%}
</tr></thead>
<tbody>
{% for row in rows -%}
<tr>{% for cell in row %}<td style="text-align:{{ 'right' if cell.number else 'left' }}">
{%- if cell.bold %}<b>{{ cell.text }}</b>{% else %}{{ cell.text }}{% endif %}</td>{% endfor %}</tr>
{% endfor -%}
</tbody>
</table>
<div style="max-width:60em;font-size:smaller">
{%- for note in notes %}<div>{{ note }}</div>{% endfor -%}
</div>"""


class Cell(NamedTuple):
    """A table cell; numbers are aligned right."""

    text: str
    number: bool = False
    bold: bool = False


def percent(share: float) -> str:
    """A share as per cent with one decimal; a dash where it is undefined."""
    return "–" if math.isnan(share) else f"{100 * share:.1f}"


def table_html(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], notes: Sequence[str] = ()
) -> str:
    """A table of cells with a title over it and notes under it."""
    from jinja2 import Environment

    template = Environment(autoescape=True).from_string(_TEMPLATE)
    return template.render(title=title, columns=columns, rows=rows, notes=notes)
