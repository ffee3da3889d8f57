"""What a scan found, as files: a table, its figures, and one page that opens without a network."""

from __future__ import annotations

import csv
import html
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlens.errors import require
from bertlens.scores.catalogue import BEHAVIOUR, PATTERNS
from bertlens.scores.head_scores import HeadScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bertlens.corpus.scan import Scan


def write(scan: Scan, folder: Path, *, source: str = "") -> list[Path]:
    """Write scores.csv, scores.json, figures/*.svg and report.html into a folder.

    Args:
        folder: made if it is not there; files of these names in it are replaced.
        source: where the texts came from, to be said in the report.

    Returns:
        the files that were written, the report last.

    Raises:
        MissingExtraError: matplotlib, or with distances scikit-learn, is not installed.
        ValueError: nothing was counted.
    """
    require("matplotlib", "analysis")
    if not scan:
        raise ValueError(f"There is nothing to report: {scan.coverage}.")
    drawn = _figures(scan)
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    files = {
        folder / "scores.csv": table(scan),
        folder / "scores.json": json.dumps(as_json(scan, source), indent=1),
        **{folder / "figures" / f"{_safe(name)}.svg": figure for name, figure in drawn.items()},
        folder / "report.html": page(scan, drawn, source),
    }
    for path, content in files.items():
        path.write_text(content, encoding="utf-8")
    return list(files)


def table(scan: Scan) -> str:
    """CSV with one row a head: layer, head, and value, low and high of every score."""
    made = io.StringIO()
    rows = csv.writer(made, lineterminator="\n")
    header = ["layer", "head"]
    for name, score in scan.items():
        header += [name] + ([f"{name}_low", f"{name}_high"] if score.low is not None else [])
    rows.writerow(header)
    first = next(iter(scan.values()))
    for layer in range(first.n_layers):
        for head in range(first.n_heads):
            row: list[object] = [layer, head]
            for score in scan.values():
                if score.categories:
                    row.append(score.labels[layer, head])
                    continue
                for part in (score.values, score.low, score.high):
                    if part is not None:
                        row.append(_number(part[layer, head]))
            rows.writerow(row)
    return made.getvalue()


def as_json(scan: Scan, source: str = "") -> dict[str, Any]:
    """Everything that a scan found, as JSON has it; undefined values are null."""
    coverage = scan.coverage
    made: dict[str, Any] = {
        "model": scan.model_name,
        "dtype": scan.dtype,
        "source": source,
        "texts": {
            "read": coverage.texts,
            "counted": coverage.counted,
            "cut": coverage.cut,
            "skipped": dict(coverage.skipped),
            "examples": coverage.examples,
            "partial": coverage.partial,
        },
        "scores": {name: _score(score) for name, score in scan.items()},
    }
    if scan.distances is not None:
        made["distances"] = scan.distances.values.tolist()
    return made


def page(scan: Scan, figures: dict[str, str], source: str = "") -> str:
    """The report: what was scanned, the heads that stand out, and every figure, in one file."""
    told = [
        f"Model: {scan.model_name}, computed in {scan.dtype}.",
        f"Texts: {source}: {scan.coverage}." if source else f"Texts: {scan.coverage}.",
        "Values are means over texts; intervals are 95%. Layers and heads count from 0.",
    ]
    rows = "\n".join(_row(score) for score in scan.values() if not score.categories)
    drawn = "\n".join(
        f"<figure>{figure[figure.index('<svg') :]}<figcaption>{html.escape(_told(scan, name))}"
        "</figcaption></figure>"
        for name, figure in figures.items()
    )
    return _PAGE.format(
        title=html.escape(f"Attention heads of {scan.model_name}"),
        told="".join(f"<p>{html.escape(line)}</p>" for line in told),
        rows=rows,
        figures=drawn,
        behaviours=_behaviours(scan),
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 2rem auto;
  padding: 0 1rem; color: #1a1a1a; background: #fff; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.2rem; margin-top: 2.5rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top; }}
td.n {{ text-align: right; }}
.figures {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr));
  gap: 1.5rem; }}
figure {{ margin: 0; }} figure svg {{ width: 100%; height: auto; }}
figcaption {{ color: #555; font-size: .85rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
{told}
<h2>The head that stands out, by score</h2>
<table>
<thead><tr><th>Score</th><th>Head</th><th>Value</th><th>95% interval</th><th>Uniform</th>
<th>Meaning</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
{behaviours}
<h2>Every head</h2>
<div class="figures">
{figures}
</div>
</body>
</html>
"""


def _figures(scan: Scan) -> dict[str, str]:
    """Name -> SVG of every score by layer, and of the map of heads."""
    from bertlens.scores.figures import by_layer, head_map

    drawn = {}
    for name, score in scan.items():
        if not score.categories and not all(map(math.isnan, score.values.ravel())):
            drawn[name] = _svg(lambda axes, score=score: by_layer(score, axes))
    if scan.distances is not None:
        heads = scan.map()
        drawn["head map"] = _svg(lambda axes: head_map(heads, axes))
    return drawn


def _svg(draw: Any) -> str:
    # Not pyplot: a report changes neither the backend nor the open figures of a session.
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure: Figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    FigureCanvasSVG(figure)
    draw(figure.add_subplot())
    made = io.StringIO()
    # Paths instead of text would need no font, but text can be searched and is small.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bertlens"}):
        figure.savefig(made, format="svg", metadata={"Date": None})
    return made.getvalue()


def _score(score: HeadScores) -> dict[str, Any]:
    best = None
    if not score.categories and score.ranked():
        best = dict(zip(("layer", "head", "value"), score.best(), strict=True))
    made: dict[str, Any] = {
        "unit": score.unit,
        "description": score.description,
        "notable": score.notable,
        "baseline": score.baseline,
        "best": best,
        "values": _nested(score.values),
    }
    for part in ("low", "high", "support"):
        made[part] = None if getattr(score, part) is None else _nested(getattr(score, part))
    if score.categories:
        made["labels"] = score.labels.tolist()
    return made


def _nested(array: Any) -> list[list[float | None]]:
    return [[None if math.isnan(value) else float(value) for value in row] for row in array]


def _row(score: HeadScores) -> str:
    cells = [score.name, "not defined", "", "", ""]
    if score.ranked():
        layer, head, value = score.best()
        cells[1:] = [f"layer {layer}, head {head}", f"{value:.3f} {_unit(score)}".strip()]
        if score.low is not None and score.high is not None:
            cells.append(f"{score.low[layer, head]:.3f} to {score.high[layer, head]:.3f}")
        else:
            cells.append("")
        cells.append("" if score.baseline is None else f"{score.baseline:.3f}")
    cells.append(score.description)
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def _unit(score: HeadScores) -> str:
    return score.unit if score.unit in ("nats", "tokens") else ""


def _behaviours(scan: Scan) -> str:
    if BEHAVIOUR not in scan:
        return ""
    labels = scan[BEHAVIOUR].labels
    rows = []
    for name in dict.fromkeys(label for label in scan[BEHAVIOUR].categories if label):
        heads = [f"{i}-{j}" for i, j in zip(*(labels == name).nonzero(), strict=True)]
        if heads:
            rows.append(
                f"<tr><td>{html.escape(name)}</td><td class='n'>{len(heads)}</td>"
                f"<td>{', '.join(heads)}</td></tr>"
            )
    told = html.escape(scan[BEHAVIOUR].description)
    return (
        f"<h2>Behaviours</h2><p>{told}</p><table><thead><tr><th>Behaviour</th><th>Heads</th>"
        f"<th>Layer-head</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _told(scan: Scan, name: str) -> str:
    return scan[name].description if name in scan else "Heads that attend alike lie close together."


def _number(value: float) -> str:
    return "" if math.isnan(value) else repr(float(value))


def _safe(name: str) -> str:
    """A score's name as the name of a file."""
    if name in PATTERNS:
        return name
    return "".join(c if c.isalnum() or c in "-_+" else f"_{ord(c):x}_" for c in name)
