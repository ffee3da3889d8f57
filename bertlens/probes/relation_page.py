"""The table of relations as text and as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertlens.probes.page import cell, percent, table_html

if TYPE_CHECKING:
    from bertlens.probes.relation_table import RelationTable


def relation_notes(table: RelationTable) -> tuple[str, ...]:
    """What a reader must know about the numbers."""
    options = table.options
    kept = "counts" if options["punctuation"] else "leaves out"
    rooted = "counts roots, always as wrong" if options["roots"] else "leaves out roots"
    notes = [f"'all' {kept} punctuation and {rooted}."]
    if not table.held_out:
        notes.append(
            "Heads and offsets were chosen on the very words they are reported on, which "
            "flatters both; select= and evaluate= take two treebanks."
        )
    for guesses in {id(g): g for g in (table.chosen_on, table.reported_on)}.values():
        name, coverage = guesses.treebank.name, guesses.coverage
        if coverage.cut or coverage.skipped or coverage.partial:
            notes.append(f"{name}: {coverage}.")
        if guesses.treebank.skipped:
            notes.append(f"{name}: {len(guesses.treebank.skipped)} bad sentences were left out.")
    return tuple(notes)


def relation_text(table: RelationTable) -> str:
    """A line a relation."""
    lines = [
        f"  {row.relation:<14}{row.layer:>3}-{row.head:<3}{row.direction:<17}"
        f"{100 * row.accuracy:5.1f}  offset {row.offset:+d}: {100 * row.offset_accuracy:5.1f}"
        f"  n={row.support}"
        for row in table.rows
    ]
    of, on = table.reported_on.model_name, table.reported_on.treebank.name
    return "\n".join([f"<RelationTable of {of} on {on}", *lines]) + ">"


def relation_html(table: RelationTable) -> str:
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
            cell(row.relation),
            cell(f"{row.layer}-{row.head}", number=True),
            cell(row.direction),
            cell(percent(row.accuracy), number=True, bold=row.beats_offset),
            cell(f"{percent(row.low)}–{percent(row.high)}", number=True),
            cell(f"{row.offset:+d}", number=True),
            cell(percent(row.offset_accuracy), number=True),
            cell(f"{row.support:,}", number=True),
        )
        for row in table.rows
    ]
    title = f"{table.reported_on.model_name}, {table.reported_on.treebank.name}"
    bold = "Bold: better than the offset beyond chance (McNemar, 5%)."
    return table_html(title, columns, body, (*table.notes, bold))
