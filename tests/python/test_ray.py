"""The same scan by Ray, on two workers of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.errors import MissingExtraError
from tests.python.tiny import SENTENCES, tiny, tokenizer_for

TEXTS = [SENTENCES[i % 4][: 5 + i % 40] for i in range(90)] + ["", "the " * 90]


@pytest.fixture
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


def assert_same(found: Any, expected: Any) -> None:
    assert list(found) == list(expected)
    for name in expected:
        for part in ("values", "low", "high", "support"):
            np.testing.assert_allclose(
                getattr(found[name], part) if getattr(found[name], part) is not None else 0,
                getattr(expected[name], part) if getattr(expected[name], part) is not None else 0,
                atol=1e-9,
                rtol=0,
            )


def test_two_workers_count_what_one_process_counts(cluster: Any, lens: bl.Lens) -> None:
    options: dict[str, Any] = {"batch_size": 1, "distances": True, "progress": False}
    expected = lens.scan(TEXTS, **options)
    found = lens.scan(TEXTS, engine="ray", workers=2, **options)
    assert_same(found, expected)
    np.testing.assert_allclose(found.distances.values, expected.distances.values, rtol=1e-12)
    assert found.coverage.counted == expected.coverage.counted == 91
    assert found.coverage.skipped == {"empty": 1}
    assert found.coverage.examples == {"empty": [90], "cut": [91]}


def test_a_ray_dataset_is_read_by_its_column(cluster: Any, lens: bl.Lens) -> None:
    dataset = cluster.data.from_items([{"sentence": text} for text in SENTENCES])
    found = lens.scan(dataset, engine="ray", column="sentence", progress=False)
    assert_same(found, lens.scan(SENTENCES, progress=False))


def test_a_dead_workers_texts_are_counted_once(cluster: Any, lens: bl.Lens, tmp_path: Path) -> None:
    expected = lens.scan(TEXTS, batch_size=1, progress=False)
    doom = tmp_path / "doom"
    doom.touch()

    def die_once(module: Any, inputs: Any) -> None:
        if doom.exists():
            doom.unlink()
            os._exit(1)

    lens.model.register_forward_pre_hook(die_once)
    found = lens.scan(TEXTS, engine="ray", batch_size=1, progress=False)
    assert not doom.exists(), "no worker died"
    assert_same(found, expected)


def test_a_persons_mistake_is_raised_as_what_it_is(cluster: Any, lens: bl.Lens) -> None:
    with pytest.raises(TypeError, match="Text 1 of the corpus"):
        lens.scan(["I went", 7], engine="ray", progress=False)
    with pytest.raises(ValueError, match="workers must be at least 1"):
        lens.scan(SENTENCES, engine="ray", workers=0, progress=False)


def test_without_ray_the_extra_is_named(lens: bl.Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"bertlens\[ray\]"):
        lens.scan(SENTENCES, engine="ray", progress=False)
