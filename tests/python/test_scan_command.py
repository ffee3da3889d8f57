"""`bertlens scan`: a table, figures and a report that opens without a network."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import bertlens as bl
from bertlens.cli.main import main
from bertlens.corpus import report
from tests.python.tiny import SENTENCES, tiny, tokenizer_for


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a model and its tokenizer."""
    folder = tmp_path / "model"
    tiny("bert").save_pretrained(folder)
    tokenizer_for("bert").save_pretrained(folder)
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join([*SENTENCES, "", "the " * 90]), encoding="utf-8")
    return path


def test_a_scan_is_written_as_a_table_figures_and_a_page(
    model: Path, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "here"
    given = ["scan", str(texts), "--model", str(model), "--out", str(out), "--distances"]
    assert main([*given, "--token", "fox"]) == 0
    assert "5 of 5 texts counted, 1 cut to the model's limit" in capsys.readouterr().out
    expected = bl.Lens.from_pretrained(model).scan(texts, progress=False)

    with (out / "scores.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 12
    row = next(row for row in rows if (row["layer"], row["head"]) == ("2", "1"))
    assert float(row["entropy"]) == pytest.approx(expected["entropy"].values[2, 1], abs=1e-6)
    assert float(row["entropy_low"]) <= float(row["entropy"]) <= float(row["entropy_high"])
    assert row["identical_other"] == ""
    assert row["behaviour"] in bl.patterns.BEHAVIOURS

    found = json.loads((out / "scores.json").read_text())
    assert found["model"] == "model"
    assert found["texts"]["counted"] == 5
    assert found["texts"]["cut"] == 1
    assert found["texts"]["examples"] == {"cut": [4]}
    np.testing.assert_allclose(
        found["scores"]["self"]["values"], expected["self"].values, atol=1e-6
    )
    assert found["scores"]["to:fox"]["support"][0][0] == 1
    assert found["scores"]["identical_other"]["values"][0][0] is None
    assert len(found["distances"]) == 12

    figures = {path.name for path in (out / "figures").iterdir()}
    assert {"entropy.svg", "head-map.svg"} <= figures


class Links(HTMLParser):
    """Everything that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            if name in ("src", "href", "xlink:href") and value and not value.startswith("#"):
                self.fetched.append(value)


def test_the_page_fetches_nothing_and_shows_text_as_text(tmp_path: Path) -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"), name="<script>alert(1)</script>")
    scan = lens.scan(SENTENCES, tokens={"<b>": "the"}, progress=False)
    report.write(scan, tmp_path, source="<img src=x>")
    page = (tmp_path / "report.html").read_text()
    links = Links()
    links.feed(page)
    assert links.fetched == []
    assert links.scripts == 0
    assert not re.search(r"url\((?!#)", page)
    assert "&lt;img src=x&gt;" in page
    assert "layer 0, head" in page
    assert "4 of 4 texts counted" in page


def test_only_the_scores_that_were_asked_for(model: Path, texts: Path, tmp_path: Path) -> None:
    given = ["scan", str(texts), "--model", str(model), "--out", str(tmp_path / "out")]
    assert main([*given, "--scores", "self", "offset:-2", "--segments", "32"]) == 0
    found = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert list(found["scores"]) == ["self", "offset:-2"]


def test_mistakes_are_told_in_a_line(
    model: Path, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert main(["scan", "no such file", "--model", str(model), *out]) == 1
    assert capsys.readouterr().err.startswith("bertlens scan: 'no such file' is no file.")
    assert main(["scan", str(texts), "--model", str(model), *out, "--scores", "entropie"]) == 1
    assert "\nbertlens scan: There is no score 'entropie'." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nothing_counted_is_no_report(model: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n\n")
    out = tmp_path / "out"
    assert main(["scan", str(empty), "--model", str(model), "--out", str(out)]) == 1
    assert not out.exists()
