"""Intervals and tests against published values and brute force."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlens.probes.statistics import mcnemar, wilson


def test_wilson_of_a_published_example() -> None:
    # Newcombe 1998, Statistics in Medicine 17, table I, method 3: 81/263, 15/148, 0/20, 1/29.
    low, high = wilson([81, 15, 0, 1], [263, 148, 20, 29])
    np.testing.assert_allclose(low, [0.2553, 0.0624, 0.0, 0.0061], atol=5e-5)
    np.testing.assert_allclose(high, [0.3662, 0.1605, 0.1611, 0.1718], atol=5e-5)


def test_wilson_without_support_is_undefined() -> None:
    low, high = wilson(0, 0)
    assert np.isnan(low)
    assert np.isnan(high)


@given(st.integers(1, 5000), st.data())
def test_wilson_holds_the_share(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1


@settings(deadline=None)  # the first call imports scipy.stats
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_two_sided_binomial(b: int, c: int) -> None:
    n, least = b + c, min(b, c)
    tail = sum(comb(n, k) for k in range(least + 1)) / 2**n
    assert mcnemar(b, c) == pytest.approx(min(1.0, 2 * tail))


def test_mcnemar_of_many_words_does_not_overflow() -> None:
    assert mcnemar(6000, 6000) == 1.0
    assert 0 <= mcnemar(9000, 4000) < 1e-300
