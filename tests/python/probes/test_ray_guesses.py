"""The same guesses by Ray, on two workers of this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.errors import AnnotationError
from bertlens.probes import Sentence
from bertlens.probes.relations.guesses import guess
from bertlens.probes.treebanks.encoded import SentenceOptions
from tests.python.tiny import SENTENCES, tiny, tokenizer_for


def chain(words: list[str]) -> Sentence:
    """Each word hangs on the next; the last is the root."""
    n = len(words)
    return Sentence(tuple(words), (*range(2, n + 1), 0), ("dep",) * (n - 1) + ("root",))


TREES = [chain(SENTENCES[i % 4].split()[: 2 + i % 5]) for i in range(70)]
LONG = chain(["the"] * 90)


def test_two_workers_guess_what_one_process_guesses(cluster: Any) -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    trees = [*TREES, LONG, *TREES[:5]]
    options = SentenceOptions(batch_size=1, progress=False)
    expected = guess(lens, trees, options)
    found = guess(lens, trees, replace(options, engine="ray", workers=2))
    np.testing.assert_array_equal(found.picked, expected.picked)
    assert found.coverage == expected.coverage
    assert found.coverage.examples == {"too long": [70]}


def test_a_mistake_in_a_worker_comes_back_as_what_it_is(cluster: Any) -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    bad = Sentence(("Go", "\x00"), (0, 1), ("root", "dep"), "x.conllu, line 4")
    with pytest.raises(AnnotationError, match=r"x\.conllu, line 4: word 2"):
        guess(lens, [*TREES, bad], SentenceOptions(engine="ray", progress=False))
    with pytest.raises(ValueError, match='engine must be "local" or "ray"'):
        SentenceOptions(engine="spark")  # type: ignore[arg-type]
