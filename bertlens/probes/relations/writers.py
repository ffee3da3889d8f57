"""A table of relations as a file: CSV, HTML, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bertlens.corpus.files import as_csv as frame_as_csv
from bertlens.corpus.files import check_file, write_text
from bertlens.errors import require
from bertlens.probes.html_table import percent
from bertlens.probes.relations.rendering import relation_html

if TYPE_CHECKING:
    from bertlens.probes.relations.table import RelationRow, RelationTable

Rows: TypeAlias = "Sequence[RelationRow]"

COLUMNS = ("relation", "head", "direction", "accuracy", "95%", "best offset", "words")

_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]()<>#+!|~"})
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}  # fmt: skip


def as_csv(table: RelationTable, rows: Rows) -> str:
    """A row a relation and a column a field; text that looks like a formula is preceded by "'"."""
    require("pandas", "analysis")
    import pandas as pd

    fields = list(table.rows[0]._fields)
    return frame_as_csv(pd.DataFrame([list(row) for row in rows], columns=fields))


def as_html(table: RelationTable, rows: Rows) -> str:
    """A page that opens without a network."""
    body = relation_html(table, rows)
    return f'<!doctype html><meta charset="utf-8"><title>bertlens probe</title>{body}'


def as_markdown(table: RelationTable, rows: Rows) -> str:
    """The table for a README; a head better than the offset beyond chance is bold."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|---:|---|---:|---:|"]
    for row in rows:
        accuracy = percent(row.accuracy)
        name = "".join(row.relation.split("\n")).translate(_MARKDOWN)
        cells = (
            name,
            f"{row.layer}-{row.head}",
            row.direction,
            f"**{accuracy}**" if row.beats_offset else accuracy,
            f"{percent(row.low)}–{percent(row.high)}",
            f"{percent(row.offset_accuracy)} ({row.offset:+d})",
            f"{row.support:,}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *table.notes, ""])


def as_latex(table: RelationTable, rows: Rows) -> str:
    """The table for a paper, in LaTeX with booktabs; a head better than the offset is bold."""
    lines = [
        r"\begin{tabular}{lllrlrr}",
        r"\toprule",
        " & ".join(_tex(name) for name in COLUMNS) + r" \\",
        r"\midrule",
    ]
    for row in rows:
        accuracy = percent(row.accuracy)
        cells = (
            _tex(row.relation),
            f"{row.layer}-{row.head}",
            _tex(row.direction).replace("->", r"$\to$"),
            rf"\textbf{{{accuracy}}}" if row.beats_offset else accuracy,
            f"{percent(row.low)}--{percent(row.high)}",
            f"{percent(row.offset_accuracy)} (${row.offset:+d}$)",
            f"{row.support:,}",
        )
        lines.append(" & ".join(cells) + r" \\")
    notes = [f"% {note}" for note in table.notes]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *notes, ""])


def _tex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


WRITERS: dict[str, Callable[[RelationTable, Rows], str]] = {
    ".csv": as_csv,
    ".html": as_html,
    ".md": as_markdown,
    ".tex": as_latex,
}


def check_out(path: Path) -> None:
    """Make sure that a table can be written there, before anything is counted.

    Raises:
        ValueError: another suffix.
        OSError: the place cannot be written.
    """
    if path.suffix not in WRITERS:
        raise ValueError(f"A table's file ends in {', '.join(WRITERS)}, not {path.name!r}.")
    check_file(path)


def save(table: RelationTable, path: Path, rows: Rows | None = None) -> Path:
    """Write a table; the suffix says how. Errors as in `check_out`."""
    check_out(path)
    write_text(path, WRITERS[path.suffix](table, table.rows if rows is None else rows))
    return path
