"""Treebanks and runs of the packaged model that several tests share."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.probes.relations.guesses import Guesses, guess
from bertlens.probes.treebanks.encoded import SentenceOptions


@pytest.fixture(scope="session")
def reference(reference_values: Path) -> Callable[[str], dict[str, Any]]:
    """Values that separate code computed, by the name of their file."""

    def read(name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((reference_values / f"{name}.json").read_text("utf-8"))
        return found

    return read


@pytest.fixture(scope="session")
def ewt_dev(shared: Path) -> bl.probes.Treebank:
    return bl.probes.read_conllu(shared / "data" / "ud" / "en_ewt-ud-dev.conllu.gz")


@pytest.fixture(scope="session")
def ewt_guesses(demo: bl.Lens, ewt_dev: bl.probes.Treebank) -> Guesses:
    """What every head of the packaged model guesses on EWT dev."""
    return guess(demo, ewt_dev, SentenceOptions(progress=False))


def conllu(*rows: str) -> str:
    """CoNLL-U of rows "word head relation"; ids count up."""
    lines = []
    for i, row in enumerate(rows, 1):
        word, head, relation = row.split()
        lines.append(f"{i}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_")
    return "\n".join(lines) + "\n\n"


@pytest.fixture
def gzipped(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes text to a gzip file of a given name."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()))
        return path

    return write
