"""Heads from scores: one by one, and the best tree against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bertlens.probes.classifiers.decoding import greedy, tree


def scores_of(n: int, seed: int, *, root: bool = True) -> NDArray[np.float32]:
    scores = np.random.default_rng(seed).normal(size=(n + 1, n)).astype(np.float32)
    scores[np.arange(1, n + 1), np.arange(n)] = -np.inf
    if not root:
        scores[0] = -np.inf
    return scores


def is_tree(heads: tuple[int, ...]) -> bool:
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        seen = set()
        while word:
            if word in seen:
                return False
            seen.add(word)
            word = heads[word - 1]
    return True


def best_by_brute_force(scores: NDArray[np.float32]) -> float:
    n = scores.shape[1]
    filled = np.where(np.isneginf(scores[0]), 0, scores[0])
    table = np.vstack([filled, scores[1:]])
    trees = (heads for heads in product(range(n + 1), repeat=n) if is_tree(heads))
    return max(float(sum(table[h, w] for w, h in enumerate(heads))) for heads in trees)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
def test_a_tree_is_the_best_of_all_trees_with_one_root(n: int, seed: int, root: bool) -> None:
    scores = scores_of(n, seed, root=root)
    heads = tree(scores)
    assert is_tree(tuple(int(head) for head in heads))
    total = sum(0 if h == 0 and not root else scores[h, w] for w, h in enumerate(heads))
    assert total == pytest.approx(best_by_brute_force(scores), abs=1e-4)


def test_greedy_takes_each_words_best_and_the_first_of_equals() -> None:
    scores = np.array([[0, 5, 5], [-np.inf, 5, 1], [2, -np.inf, 9], [2, 0, -np.inf]], np.float32)
    assert greedy(scores).tolist() == [2, 0, 2]


def test_a_greedy_tree_is_kept() -> None:
    scores = np.array([[9, 0], [-np.inf, 5], [0, -np.inf]], np.float32)
    assert tree(scores).tolist() == greedy(scores).tolist() == [0, 1]


def test_a_word_alone_is_the_root() -> None:
    alone = np.full((2, 1), -np.inf, np.float32)
    assert greedy(alone).tolist() == tree(alone).tolist() == [0]
