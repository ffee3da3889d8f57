"""Only the newest captures keep tensors; the others are made again when asked."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import bertlens as bl
from bertlens.attention.captured import KEPT, CapturedWeights
from tests.python.tiny import tiny, tokenizer_for


@pytest.fixture
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


def source(attention: bl.Attention) -> CapturedWeights:
    found = attention.source
    assert isinstance(found, CapturedWeights)
    return found


def test_the_newest_eight_captures_keep_their_tensors(lens: bl.Lens) -> None:
    made = [lens(f"I went to the store {'the ' * (i % 9)}.") for i in range(100)]
    assert KEPT == 8
    assert [i for i, attention in enumerate(made) if source(attention).holds_tensors] == list(
        range(92, 100)
    )


def test_an_older_capture_is_made_again_with_the_same_weights(lens: bl.Lens) -> None:
    first = lens("I went to the store.")
    expected = first.weights().copy()
    others = [lens("The cat sat.") for _ in range(8)]
    assert not source(first).holds_tensors
    np.testing.assert_array_equal(first.weights(), expected)
    assert source(first).holds_tensors
    # it counts as the newest now, so the oldest of the others let go
    assert not source(others[0]).holds_tensors


def test_closing_frees_the_tensors_and_asking_again_makes_them_anew(lens: bl.Lens) -> None:
    attention = lens("I went to the store.")
    expected = attention.weights(1).copy()
    stored = weakref.ref(source(attention).stored_layer(0).call.query)  # type: ignore[attr-defined]
    attention.close()
    gc.collect()
    assert stored() is None
    np.testing.assert_array_equal(attention.weights(1), expected)


def test_an_attention_that_nobody_holds_is_freed(lens: bl.Lens) -> None:
    attention = lens("I went to the store.")
    gone = weakref.ref(source(attention))
    del attention
    gc.collect()
    assert gone() is None
