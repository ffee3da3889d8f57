"""The table of families in docs/families.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

import transformers

from tests.python import tiny_models
from tests.python.families.table_row import Row

DOCS = Path(__file__).resolve().parents[3] / "docs" / "families.md"

HEAD = """# Families

What bertlens does with each of the {n} families in the model mapping of transformers {version}.
Written by `python -m tests.python.families`, which makes a tiny random model of each family,
captures its attention for a batch of two texts of 12 and 8 tokens (or two pictures or sounds), and
for the first alone, and compares it with a fresh model's own eager attention: equal means within
1e-6. "Equal to eager" compares with what the model lists with `attn_implementation="eager"` and
`output_attentions=True`; "equal to eager's function", where a model lists nothing, with what its
eager attention function returns while it runs. What takes its pictures as one row of patches is
tried with one item.

"Interface" is a registered attention function (tier 1), "hooks" are on the modules that return
weights (tier 2), "outputs" is the model's own list (tier 3). Where the recipe makes no inputs for
the whole, its text model alone is tried, and the row says so. Bands, blocks and raw scores are made
into matrices of weights, and the widget says so.

A family that is not in this table takes the best way whose weights equal its own eager attention,
found by running it once on the beginning of the first text.

{summary}

| family | attention | checked |
|---|---|---|
"""

COUNTED: dict[str, Callable[[Row], bool]] = {
    "equal to their own eager attention": lambda row: row.checked.startswith("equal"),
    "captured and made into matrices of another shape than the model's lists": (
        lambda row: row.checked.startswith("made into")
    ),
    "captured, with nothing to compare with": lambda row: row.checked.startswith("captured"),
    "captured and NOT EQUAL to their own eager attention": (
        lambda row: row.checked.startswith("NOT EQUAL")
    ),
    "without attention": lambda row: row.attention.endswith("no attention"),
    "refused in words": lambda row: "refused:" in row.attention.lower(),
    "not tried: they need a package that bertlens does not": (
        lambda row: row.attention.startswith("not tried (needs the package")
    ),
    "not tried: the recipe makes no tiny model of them": (
        lambda row: row.attention.startswith("not tried") and "package" not in row.attention
    ),
    "FAILED": lambda row: row.attention.startswith("FAILED"),
}


def write(rows: Iterable[Row]) -> None:
    """Write docs/families.md.

    Raises:
        ValueError: a family has no row, or several.
    """
    in_order = sorted(rows, key=lambda row: row.family)
    if [row.family for row in in_order] != list(tiny_models.FAMILIES):
        odd = set(tiny_models.FAMILIES) ^ {row.family for row in in_order}
        raise ValueError(
            f"{len(in_order)} rows for {len(tiny_models.FAMILIES)} families; "
            f"missing or unknown: {odd}"
        )
    head = HEAD.format(n=len(in_order), version=transformers.__version__, summary=summary(in_order))
    DOCS.write_text(head + "\n".join(map(str, in_order)) + "\n", "utf-8")


def summary(rows: list[Row]) -> str:
    """How many rows say what."""
    counts = {what: sum(map(belongs, rows)) for what, belongs in COUNTED.items()}
    return "\n".join(f"- {n} {what}" for what, n in counts.items() if n)


def save(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1), "utf-8")


def saved(folder: Path) -> list[Row]:
    """The rows of every part that was saved in a folder."""
    return [
        Row(**found)
        for path in sorted(folder.glob("*.json"))
        for found in json.loads(path.read_text("utf-8"))
    ]
