"""`bertlens scan`: scores of every head over a file of texts, as a table, figures and a report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bertlens.cli.common import add_model, add_place, lens_of, status_of

if TYPE_CHECKING:
    from bertlens.corpus.scan import Scan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bertlens scan`."""
    parser.add_argument("texts", metavar="TEXTS", help="a text file, one text a line (.gz too)")
    add_model(parser)
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="the folder for what is written"
    )
    parser.add_argument(
        "--segments",
        metavar="N",
        type=int,
        help="pack the lines into [CLS] A [SEP] B [SEP] segments of N tokens, as the paper did "
        "with 128; an empty line ends a document",
    )
    parser.add_argument(
        "--scores", metavar="NAME", nargs="+", help="only these scores (default: all)"
    )
    parser.add_argument(
        "--token",
        metavar="TOKEN",
        action="append",
        default=[],
        help="score attention to this token too; may be given several times",
    )
    parser.add_argument(
        "--distances", action="store_true", help="count distances between heads, and map the heads"
    )
    parser.add_argument("--batch-size", metavar="N", type=int, help="the most texts at once")
    add_place(parser)


def run(options: argparse.Namespace) -> int:
    """Scan, write, and say what was found; returns the exit status.

    After Ctrl-C what was counted is still written, and the status is 130.
    """
    return status_of("scan", _run, options)


def _run(options: argparse.Namespace) -> int:
    from bertlens.corpus import report
    from bertlens.corpus.sources import read
    from bertlens.errors import require

    # Before the scan, not after an hour of it.
    require("matplotlib", "analysis")
    if options.distances:
        require("sklearn", "analysis")
    read(options.texts)
    lens = lens_of(options)
    scan = lens.scan(
        options.texts,
        scores=options.scores,
        tokens={f"to:{token}": token for token in options.token},
        segments=options.segments,
        distances=options.distances,
        batch_size=options.batch_size,
        engine=options.engine,
        workers=options.workers,
    )
    print("\n".join(lines_of(scan)))
    files = report.write(scan, options.out, source=Path(options.texts).name)
    print(f"Wrote {len(files)} files; open {files[-1]}")
    return 130 if scan.partial else 0


def lines_of(scan: Scan) -> list[str]:
    """The head that stands out by each score, as a table for a terminal."""
    lines = [f"{scan.model_name} ({scan.dtype}): {scan.coverage}", ""]
    rows = [("score", "best head", "value", "95% interval", "even", "unit")]
    for name, score in scan.items():
        if score.categories:
            labels = [str(label) for label in score.labels.ravel() if label]
            counts = (f"{labels.count(c)} {c}" for c in score.categories if c in labels)
            lines.append(f"{name}: {', '.join(counts)}")
            continue
        if not (ranked := score.ranked()):
            rows.append((name, "-", "undefined", "", "", ""))
            continue
        layer, head, value = ranked[0]
        interval = ""
        if score.low is not None and score.high is not None:
            interval = f"{score.low[layer, head]:.3g} to {score.high[layer, head]:.3g}"
        even = "" if score.baseline is None else f"{score.baseline:.3g}"
        rows.append((name, f"{layer}-{head}", f"{value:.3g}", interval, even, score.unit))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    table = [
        "  ".join([*(cell.ljust(n) for cell, n in zip(row, widths, strict=False)), row[5]]).rstrip()
        for row in rows
    ]
    return [lines[0], "", *table, *lines[1:]]
