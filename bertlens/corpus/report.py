"""A scan as files: a table, its figures, and one page that opens without a network."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlens.corpus.files import as_csv, file_names, write_text
from bertlens.errors import ReportError, require
from bertlens.scores.catalogue import BEHAVIOUR
from bertlens.scores.head_scores import HeadScores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bertlens.corpus.scan import Scan

INTERVALS = (
    "Values are means over texts; intervals are 95% (Student's t over texts). Layers and heads "
    "count from 0."
)

HEAD_MAP = "head map"

_TEMPLATE = Path(__file__).with_name("report.html.jinja")


def write(scan: Scan, folder: Path, *, source: str = "") -> list[Path]:
    """Write scores.json, scores.csv, figures/*.svg and report.html into a folder.

    The counts come first, so that they are kept where a figure cannot be drawn.

    Args:
        folder: made if it is not there; files of these names in it are replaced, and figures that
            an earlier report left there are removed.
        source: where the texts came from, to be said in the report.

    Returns:
        the files that were written, the report last.

    Raises:
        MissingExtraError: matplotlib, or with distances scikit-learn, is not installed.
        ValueError: nothing was counted.
        OSError: a file could not be written; it is named, and those before it are whole.
        ReportError: a figure could not be drawn; the counts are written.
    """
    require("matplotlib", "analysis")
    if not scan:
        raise ValueError(f"There is nothing to report: {scan.coverage}.")
    names = _figure_names(scan)
    stale = _earlier_figures(folder) - set(names.values())
    files = [folder / "scores.json", folder / "scores.csv"]
    write_text(files[0], json.dumps(as_json(scan, source, sorted(names.values())), indent=1))
    write_text(files[1], table(scan))
    drawn = {}
    for name, file in names.items():
        try:
            drawn[name] = _figure(scan, name)
        except Exception as error:
            raise ReportError(
                f"The figure of {name!r} could not be drawn ({error}); the counts are in {files[0]}"
            ) from error
        files.append(folder / "figures" / file)
        write_text(files[-1], drawn[name])
    for file in stale:
        (folder / "figures" / file).unlink(missing_ok=True)
    files.append(folder / "report.html")
    write_text(files[-1], page(scan, drawn, source))
    return files


def _figure_names(scan: Scan) -> dict[str, str]:
    """The file of each figure: of every score that has a value, and of the map of heads."""
    names = [
        name
        for name, score in scan.items()
        if not score.categories and not all(map(math.isnan, score.values.ravel()))
    ]
    if scan.distances is not None:
        names.append(HEAD_MAP)
    return {name: f"{file}.svg" for name, file in file_names(names).items()}


def _earlier_figures(folder: Path) -> set[str]:
    """The figures that the last report in a folder says it wrote."""
    try:
        earlier = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["figures"]
        return {name for name in earlier if isinstance(name, str) and Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def table(scan: Scan) -> str:
    """CSV with one row a head: layer, head, and value, low and high of every score.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    require("pandas", "analysis")
    import pandas as pd

    frame = scan.to_frame()
    columns = [frame["layer"], frame["head"]]
    for name, score in scan.items():
        columns.append(frame[name])
        if not score.categories:
            for part in ("low", "high"):
                array = getattr(score, part)
                if array is not None:
                    columns.append(pd.Series(array.ravel(), name=f"{name}_{part}"))
    return as_csv(pd.concat(columns, axis=1))


def as_json(scan: Scan, source: str = "", figures: Sequence[str] = ()) -> dict[str, Any]:
    """All counts of a scan, as JSON has it; undefined values are null. `figures` are files."""
    coverage = scan.coverage
    made: dict[str, Any] = {
        "model": scan.model_name,
        "dtype": scan.dtype,
        "source": source,
        "texts": {
            "read": coverage.texts,
            "counted": coverage.counted,
            "cut": coverage.truncated,
            "skipped": dict(coverage.skipped),
            "examples": coverage.examples,
            "partial": coverage.partial,
        },
        "figures": list(figures),
        "scores": {name: _score(score) for name, score in scan.items()},
    }
    if scan.distances is not None:
        made["distances"] = scan.distances.values.tolist()
    return made


def page(scan: Scan, figures: dict[str, str], source: str = "") -> str:
    """The report: what was scanned, the heads that stand out, and every figure, in one file."""
    from jinja2 import Environment
    from markupsafe import Markup

    template = Environment(autoescape=True).from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        title=f"Attention heads of {scan.model_name}",
        paragraphs=[
            f"Model: {scan.model_name}, computed in {scan.dtype}.",
            f"Texts: {source}: {scan.coverage}." if source else f"Texts: {scan.coverage}.",
            INTERVALS,
        ],
        rows=[_row(score) for score in scan.values() if not score.categories],
        behaviours=_behaviours(scan),
        behaviour_description=scan[BEHAVIOUR].description if BEHAVIOUR in scan else "",
        # matplotlib's own SVG, in which it escapes every text; without its XML declaration.
        figures=[
            (Markup(figure[figure.index("<svg") :]), _caption(scan, name))
            for name, figure in figures.items()
        ],
    )


def _figure(scan: Scan, name: str) -> str:
    """SVG of a score by layer, or of the map of heads."""
    from bertlens.scores.figures import head_map

    if name in scan:
        return figure_of(scan[name])
    heads = scan.map()
    return _svg(lambda axes: head_map(heads, axes))


def figure_of(score: HeadScores) -> str:
    """SVG of a score by layer."""
    from bertlens.scores.figures import by_layer

    return _svg(lambda axes: by_layer(score, axes))


def _svg(draw: Any) -> str:
    # Not pyplot: a report changes neither the backend nor the open figures of a session.
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure: Figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    FigureCanvasSVG(figure)
    made = io.StringIO()
    # Paths instead of text would need no font, but text can be searched and is small. A score's
    # name is text, also where it has two dollar signs.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "bertlens", "text.parse_math": False}):
        draw(figure.add_subplot())
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


def _row(score: HeadScores) -> list[str]:
    """Cells of a score's row: its name, best head, value, interval, baseline and meaning."""
    cells = [score.name, "not defined", "", "", ""]
    if score.ranked():
        layer, head, value = score.best()
        cells[1:] = [f"layer {layer}, head {head}", f"{value:.3f} {_unit(score)}".strip()]
        if score.low is not None and score.high is not None:
            cells.append(f"{score.low[layer, head]:.3f} to {score.high[layer, head]:.3f}")
        else:
            cells.append("")
        cells.append("" if score.baseline is None else f"{score.baseline:.3f}")
    return [*cells, score.description]


def _unit(score: HeadScores) -> str:
    return score.unit if score.unit in ("nats", "tokens") else ""


def _behaviours(scan: Scan) -> list[tuple[str, list[str]]]:
    """The heads of each behaviour, as "layer-head"."""
    if BEHAVIOUR not in scan:
        return []
    labels = scan[BEHAVIOUR].labels
    heads = {
        name: [f"{i}-{j}" for i, j in zip(*(labels == name).nonzero(), strict=True)]
        for name in scan[BEHAVIOUR].categories
        if name
    }
    return [(name, places) for name, places in heads.items() if places]


def _caption(scan: Scan, name: str) -> str:
    return scan[name].description if name in scan else "Heads that attend alike lie close together."
