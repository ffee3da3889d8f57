"""The table of relations as text and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bertlens.probes.html_table import Cell, percent, table_html

if TYPE_CHECKING:
    from bertlens.probes.relations.table import RelationRow, RelationTable


def relation_notes(table: RelationTable) -> tuple[str, ...]:
    """What a reader must know about the numbers."""
    options = table.options
    out = [what for what in ("punctuation", "roots") if not options[what]]
    counted = "counts every word" if not out else f"leaves out {' and '.join(out)}"
    wrong = "; roots are always wrong" if options["roots"] else ""
    notes = [f"'all' {counted}{wrong}."]
    if not table.held_out:
        notes.append(
            "Heads and offsets were chosen on the very words they are reported on, which "
            "flatters both; select= and evaluate= take two treebanks."
        )
    for guesses in {id(g): g for g in (table.chosen_on, table.reported_on)}.values():
        name, coverage = guesses.treebank.name, guesses.coverage
        if coverage.truncated or coverage.skipped or coverage.partial:
            notes.append(f"{name}: {coverage}.")
        if guesses.treebank.skipped:
            notes.append(f"{name}: {len(guesses.treebank.skipped)} bad sentences were left out.")
    return tuple(notes)


def relation_title(table: RelationTable) -> str:
    """The model and the treebank."""
    return f"{table.reported_on.model_name} on {table.reported_on.treebank.name}"


def relation_lines(rows: Sequence[RelationRow]) -> list[str]:
    """A line a relation."""
    return [
        f"  {row.relation:<14}{row.layer:>3}-{row.head:<3}{row.direction:<17}"
        f"{percent(row.accuracy):>5}  offset {row.offset:+d}: {percent(row.offset_accuracy):>5}"
        f"  n={row.support}"
        for row in rows
    ]


def relation_text(table: RelationTable) -> str:
    """The whole table as text."""
    title = f"<RelationTable of {relation_title(table)}"
    return "\n".join([title, *relation_lines(table.rows)]) + ">"


def relation_html(table: RelationTable, rows: Sequence[RelationRow] | None = None) -> str:
    """A row a relation, with what a reader must know below."""
    columns = (
        "relation",
        "head",
        "direction",
        "accuracy",
        "95%",
        "offset",
        "its accuracy",
        "words",
    )
    body = [
        (
            Cell(row.relation),
            Cell(f"{row.layer}-{row.head}", number=True),
            Cell(row.direction),
            Cell(percent(row.accuracy), number=True, bold=row.beats_offset),
            Cell(f"{percent(row.low)}–{percent(row.high)}", number=True),
            Cell(f"{row.offset:+d}", number=True),
            Cell(percent(row.offset_accuracy), number=True),
            Cell(f"{row.support:,}", number=True),
        )
        for row in (table.rows if rows is None else rows)
    ]
    bold = "Bold: better than the offset beyond chance (McNemar, 5%)."
    return table_html(relation_title(table), columns, body, (*table.notes, bold))
