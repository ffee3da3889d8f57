"""Surface patterns on maps small enough to work out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bertlens.scores import patterns

# Rows attend to columns of [CLS] a . [SEP].
MAP = np.array(
    [
        [0.5, 0.2, 0.1, 0.2],
        [0.1, 0.3, 0.2, 0.4],
        [0.0, 0.6, 0.4, 0.0],
        [0.25, 0.25, 0.25, 0.25],
    ]
)


def test_offsets_divide_by_all_rows() -> None:
    assert patterns.offset(MAP, 0) == pytest.approx((0.5 + 0.3 + 0.4 + 0.25) / 4)
    assert patterns.offset(MAP, 1) == pytest.approx((0.2 + 0.2 + 0.0) / 4)
    assert patterns.offset(MAP, -1) == pytest.approx((0.1 + 0.6 + 0.25) / 4)
    assert patterns.offset(MAP, -3) == pytest.approx(0.25 / 4)
    assert np.isnan(patterns.offset(MAP, 4))


def test_attention_to_sums_columns_and_averages_rows() -> None:
    assert patterns.attention_to(MAP, [3]) == pytest.approx((0.2 + 0.4 + 0.0 + 0.25) / 4)
    assert patterns.attention_to(MAP, [0, 3]) == pytest.approx((0.7 + 0.5 + 0.0 + 0.5) / 4)
    assert patterns.attention_to(MAP, [3], rows=[3]) == pytest.approx(0.25)
    assert patterns.attention_to(MAP, [3], rows=[0, 1, 2]) == pytest.approx(0.6 / 3)
    assert np.isnan(patterns.attention_to(MAP, []))


def test_attention_among_averages_rows_that_have_a_related_token() -> None:
    related = np.zeros((4, 4), bool)
    related[0, 1] = related[0, 2] = related[1, 0] = True
    assert patterns.attention_among(MAP, related) == pytest.approx((0.3 + 0.1) / 2)
    assert np.isnan(patterns.attention_among(MAP, np.zeros((4, 4), bool)))


def test_entropy_is_smoothed_as_in_the_papers_code() -> None:
    one_hot = np.array([[1.0, 0.0]])
    p, q = 0.9999 + 0.00005, 0.00005
    assert patterns.entropy(one_hot)[0] == pytest.approx(-p * math.log(p) - q * math.log(q))
    assert patterns.entropy(np.full((1, 8), 1 / 8))[0] == pytest.approx(math.log(8))


def test_distance_is_the_mean_span() -> None:
    assert patterns.distance([[0.5, 0.5], [0.0, 1.0]]) == pytest.approx(0.25)
    # A head with a sink of its own: its rows sum to less than one.
    assert patterns.distance([[0.25, 0.25], [0.0, 0.5]]) == pytest.approx(0.25)


def test_confidence_leaves_the_end_token_out() -> None:
    assert patterns.confidence(MAP) == pytest.approx((0.5 + 0.4 + 0.6 + 0.25) / 4)
    assert patterns.confidence(MAP, end=[3]) == pytest.approx((0.5 + 0.3 + 0.6) / 3)


def test_sink_is_the_weight_on_the_first_token() -> None:
    assert patterns.sink(MAP) == pytest.approx((0.5 + 0.1 + 0.0 + 0.25) / 4)


def test_leading_axes_are_kept() -> None:
    maps = np.stack([MAP, MAP[::-1]])[None]
    assert patterns.offset(maps, 1).shape == (1, 2)
    assert patterns.entropy(maps).shape == (1, 2, 4)
    assert patterns.offset(maps, 1)[0, 0] == patterns.offset(MAP, 1)


def test_a_map_needs_two_axes() -> None:
    with pytest.raises(ValueError, match=r"must be \[\.\.\., from, to\], got shape \(3,\)"):
        patterns.offset([0.1, 0.2, 0.7], 1)


def test_behaviours_are_named_by_the_papers_thresholds() -> None:
    values = {
        "entropy": [3.9, 3.8, 1.0, 1.0, 1.0, 1.0, np.nan],
        "next": [0.0, 0.0, 0.51, 0.0, 0.0, 0.5, np.nan],
        "previous": [0.0, 0.0, 0.0, 0.51, 0.0, 0.0, np.nan],
        "cls": [0.0, 0.0, 0.0, 0.0, 0.0, 0.6, np.nan],
        "sep": [0.0, 0.0, 0.0, 0.0, 0.61, 0.0, np.nan],
        "punctuation": [0.0] * 6 + [np.nan],
    }
    found = patterns.behaviours(values)
    assert found.tolist() == ["broad", "", "next", "previous", "sep", "", ""]


def test_behaviours_need_a_score_that_names_them() -> None:
    with pytest.raises(ValueError, match="named by the scores entropy, next"):
        patterns.behaviours({"distance": [1.0]})


@given(arrays(np.float64, (5, 5), elements=st.floats(0.01, 1)))
def test_shares_of_all_columns_and_offsets_add_up_to_one(raw: np.ndarray) -> None:
    maps = raw / raw.sum(-1, keepdims=True)
    assert patterns.attention_to(maps, range(5)) == pytest.approx(1)
    assert sum(patterns.offset(maps, k) for k in range(-4, 5)) == pytest.approx(1)
    assert np.all(patterns.entropy(maps) <= math.log(5) + 1e-12)
    assert patterns.confidence(maps) >= 1 / 5 - 1e-12
