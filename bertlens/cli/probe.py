"""`bertlens probe`: the head that knows each dependency relation of a treebank best."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bertlens.cli.common import add_model, add_place, lens_of, status_of

if TYPE_CHECKING:
    from bertlens.probes import RelationTable
    from bertlens.probes.relations.table import RelationRow
    from bertlens.probes.treebanks.treebank import Errors


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bertlens probe`."""
    parser.add_argument("treebank", metavar="TREEBANK", help="a file in CoNLL-U (.gz too)")
    add_model(parser)
    parser.add_argument(
        "--evaluate",
        metavar="FILE",
        help="choose heads on TREEBANK and report them on this one, so that no number is chosen "
        "on its own test data",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="where the table goes: .csv, .html or .md (default: TREEBANK's name, -relations.csv)",
    )
    parser.add_argument(
        "--relation", metavar="R", nargs="+", help="print and save only these relations"
    )
    parser.add_argument("--punctuation", action="store_true", help="count punctuation in 'all'")
    parser.add_argument(
        "--merge-subtypes", action="store_true", help="count nsubj:pass as nsubj, and so on"
    )
    parser.add_argument("--self-attention", action="store_true", help="let a word be its own guess")
    parser.add_argument(
        "--long",
        choices=("skip", "cut", "error"),
        default="skip",
        help="sentences that the model cannot take (default: skip)",
    )
    parser.add_argument(
        "--skip-errors", action="store_true", help="leave out bad sentences instead of stopping"
    )
    parser.add_argument(
        "--batch-size", metavar="N", type=int, default=32, help="the most sentences at once"
    )
    add_place(parser)


def run(options: argparse.Namespace) -> int:
    """Probe, print the table and save it; returns the exit status."""
    return status_of("probe", _run, options)


def _run(options: argparse.Namespace) -> int:
    from bertlens import probes
    from bertlens.probes.relations.writers import WRITERS, check_out, save

    out: Path = options.out or Path(f"{Path(options.treebank).name.split('.')[0]}-relations.csv")
    if out.suffix not in WRITERS:
        raise ValueError(f"--out must end in {', '.join(WRITERS)}, not {out.name!r}.")
    check_out(out)
    errors: Errors = "skip" if options.skip_errors else "raise"
    read = [
        probes.read_conllu(path, errors=errors)
        for path in (options.treebank, options.evaluate)
        if path is not None
    ]
    for relation in options.relation or ():
        known = {
            name.split(":")[0] if options.merge_subtypes else name for name in read[0].relations
        }
        if relation not in known | {"all"}:
            raise KeyError(
                f"{read[0].name} has no word with relation {relation!r}; it has: "
                f"{', '.join(sorted(known))}"
            )
    lens = lens_of(options)
    held_out = len(read) > 1
    table = probes.relations(
        lens,
        None if held_out else read[0],
        select=read[0] if held_out else None,
        evaluate=read[1] if held_out else None,
        self_attention=options.self_attention,
        punctuation=options.punctuation,
        subtypes=not options.merge_subtypes,
        long=options.long,
        errors=errors,
        batch_size=options.batch_size,
        engine=options.engine,
        workers=options.workers,
    )
    rows = [row for row in table.rows if not options.relation or row.relation in options.relation]
    print(as_text(table, rows))
    save(table, out, rows)
    print(f"Wrote {out}")
    return 130 if table.reported_on.coverage.partial else 0


Rows = Sequence["RelationRow"]


def as_text(table: RelationTable, rows: Rows) -> str:
    """Some rows of the table for a terminal, and its notes."""
    from bertlens.probes.relations.rendering import relation_lines, relation_title

    return "\n".join([relation_title(table), *relation_lines(rows), *table.notes])
