"""`bertlens probe`: prints the table and saves it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import bertlens as bl
from bertlens.cli.main import main
from tests.python.probes.conftest import conllu
from tests.python.tiny import tiny, tokenizer_for

TREES = conllu("The 2 det", "cat 3 nsubj", "sat 0 root", ". 3 punct") + conllu(
    "I 2 nsubj", "bought 0 root", "strawberries 2 obj"
)


@pytest.fixture
def model(tmp_path: Path) -> str:
    folder = tmp_path / "model"
    tiny("bert").save_pretrained(folder)
    tokenizer_for("bert").save_pretrained(folder)
    return str(folder)


@pytest.fixture
def trees(tmp_path: Path) -> str:
    path = tmp_path / "trees.conllu"
    path.write_text(TREES, "utf-8")
    return str(path)


def test_the_table_is_printed_and_saved(
    model: str, trees: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "table.csv"
    assert main(["probe", trees, "--model", model, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "trees.conllu" in printed
    assert "chosen on the very words" in printed
    assert f"Wrote {out}" in printed
    with out.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    expected = bl.probes.relations(
        bl.Lens.from_pretrained(model), bl.probes.read_conllu(trees), progress=False
    )
    assert [row["relation"] for row in rows] == list(expected)
    assert [int(row["correct"]) for row in rows] == [row.correct for row in expected.rows]
    assert rows[0]["support"] == "4"


def test_by_default_the_table_lies_here_under_the_treebanks_name(
    model: str, trees: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["probe", trees, "--model", model]) == 0
    assert (tmp_path / "trees-relations.csv").is_file()


@pytest.mark.parametrize(("suffix", "beginning"), [(".md", "| relation |"), (".html", "<!doctype")])
def test_a_page_or_markdown_when_asked(
    model: str, trees: str, tmp_path: Path, suffix: str, beginning: str
) -> None:
    out = tmp_path / f"table{suffix}"
    assert main(["probe", trees, "--model", model, "--out", str(out), "--punctuation"]) == 0
    text = out.read_text("utf-8")
    assert text.startswith(beginning)
    assert "nsubj" in text


def test_heads_are_chosen_on_one_treebank_and_reported_on_another(
    model: str, trees: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.conllu"
    other.write_text(conllu("Dogs 2 nsubj", "bark 0 root"), "utf-8")
    out = tmp_path / "x.csv"
    given = ["probe", trees, "--evaluate", str(other), "--model", model, "--out", str(out)]
    assert main([*given, "--relation", "nsubj"]) == 0
    printed = capsys.readouterr().out
    assert "other.conllu" in printed
    assert "n=1" in printed
    assert "det" not in printed
    assert "chosen on the very words" not in printed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["missing.conllu"], "No such file"),
        (["TREES", "--relation", "dobj"], "trees.conllu has no word with relation 'dobj'"),
        (["TREES", "--out", "table.xlsx"], "--out must end in .csv, .html, .md"),
        (["BAD"], "bad.conllu, line 1: there are 2 columns"),
    ],
)
def test_mistakes_are_one_line(
    trees: str, tmp_path: Path, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tGo\n", "utf-8")
    paths = {"TREES": trees, "BAD": str(bad)}
    assert main(["probe", *(paths.get(word, word) for word in given)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("bertlens probe: ")
    assert message in error
    assert error.count("\n") == 1
