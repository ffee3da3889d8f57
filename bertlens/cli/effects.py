"""`bertlens effects`: what changes in a model's output without each head, as a table and figure."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bertlens.cli.common import add_model, add_place, lens_of, status_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bertlens effects`."""
    parser.add_argument("texts", metavar="TEXTS", help="a text file, one text a line (.gz too)")
    add_model(parser)
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="the folder for what is written"
    )
    parser.add_argument(
        "--method",
        choices=("zero", "mean", "uniform"),
        default="zero",
        help="how a head is ablated (default: zero)",
    )
    parser.add_argument("--batch-size", metavar="N", type=int, help="copies that run together")
    add_place(parser)


def run(options: argparse.Namespace) -> int:
    """Count, write, and print the heads that matter most; returns the exit status.

    After Ctrl-C what was counted is still written, and the status is 130.
    """
    return status_of("effects", _run, options)


def _run(options: argparse.Namespace) -> int:
    from bertlens import causal
    from bertlens.corpus.files import as_csv, check_folder, write_text
    from bertlens.corpus.report import figure_of
    from bertlens.corpus.sources import read
    from bertlens.errors import require

    require("matplotlib", "analysis")
    check_folder(options.out)
    read(options.texts)
    lens = lens_of(options)
    scores = causal.effects(
        lens,
        options.texts,
        options.method,
        batch_size=options.batch_size,
        engine=options.engine,
        workers=options.workers,
    )
    counts = {
        "model": lens.name,
        "description": scores.description,
        "unit": scores.unit,
        "metric": scores.metric,
        "texts": scores.coverage.counted,
        "partial": scores.partial,
        "values": scores.values.tolist(),
    }
    write_text(options.out / "effects.json", json.dumps(counts, indent=1))
    write_text(options.out / "effects.csv", as_csv(scores.to_frame()))
    write_text(options.out / "effects.svg", figure_of(scores))
    print(f"{scores.description}\n{scores.coverage}; without ablation: {scores.metric:.4g}")
    print("head   effect      95% interval")
    for layer, head, value in scores.ranked()[:10]:
        low, high = (
            (scores.low[layer, head], scores.high[layer, head])
            if scores.low is not None and scores.high is not None
            else (float("nan"), float("nan"))
        )
        print(f"{f'{layer}-{head}':<6} {value:<11.4g} {low:.4g} to {high:.4g}")
    print(f"Wrote effects.json, effects.csv and effects.svg to {options.out}")
    return 130 if scores.partial else 0
