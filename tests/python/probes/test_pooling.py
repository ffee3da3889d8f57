"""Weights between tokens become weights between words (paper section 4.1)."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

import bertlens as bl
from bertlens.probes.treebanks.pooling import WordPooling
from bertlens.text.encoding import Encoding
from bertlens.text.tokens import Token, Word

CPU = torch.device("cpu")


def encoding(sizes: list[int], *, delimiters: bool = True) -> Encoding:
    """Words of so many tokens each, between [CLS] and [SEP] if there are delimiters."""
    groups: list[tuple[int, bool]] = [(size, False) for size in sizes]
    if delimiters:
        groups = [(1, True), *groups, (1, True)]
    tokens: list[Token] = []
    words: list[Word] = []
    index = 0
    for size, special in groups:
        places = tuple(range(len(tokens), len(tokens) + size))
        words.append(Word(f"w{index}", places, 0, special, None if special else index))
        tokens += [Token("t", "t", None, None, len(words) - 1, 0, special)] * size
        index += not special
    return Encoding({}, tuple(tokens), tuple(words), "")


def test_to_a_split_word_is_the_sum_and_from_it_the_mean() -> None:
    # [CLS] play ##ing now [SEP], worked by hand.
    weights = torch.tensor(
        [
            [0.2, 0.2, 0.2, 0.2, 0.2],
            [0.1, 0.2, 0.3, 0.4, 0.0],
            [0.3, 0.4, 0.1, 0.0, 0.2],
            [0.0, 0.5, 0.1, 0.2, 0.2],
            [1.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )
    pooled = WordPooling.of([encoding([2, 1])], CPU)(weights[None, None])
    expected = [[(0.5 + 0.5) / 2, (0.4 + 0.0) / 2], [0.6, 0.2]]
    np.testing.assert_allclose(pooled[0, 0].numpy(), expected, atol=1e-7)


def test_delimiters_come_first_when_they_are_wanted() -> None:
    weights = torch.arange(9.0).view(1, 1, 3, 3)
    pooled = WordPooling.of([encoding([1])], CPU, delimiters=True)(weights)
    order = [0, 2, 1]  # [CLS], [SEP], the word
    np.testing.assert_array_equal(pooled[0, 0], weights[0, 0][order][:, order])


def test_a_text_without_delimiters_has_empty_words_in_their_place() -> None:
    pooling = WordPooling.of([encoding([1, 1], delimiters=False)], CPU, delimiters=True)
    assert pooling.mask.tolist() == [[False, False, True, True]]
    assert pooling(torch.full((1, 1, 2, 2), 0.5))[0, 0, :2].abs().sum() == 0


def test_it_agrees_with_attention_to_words(demo: bl.Lens) -> None:
    words = ["Unbelievably", "I", "do", "n't", "like", "strawberries"]
    attention = demo(words=words, exact=True)
    weights = torch.from_numpy(attention.weights(layer=3).copy())[None]
    pooled = WordPooling.of([demo.encode(words=words)], CPU)(weights)[0]
    np.testing.assert_allclose(pooled, attention.to_words().weights(3)[:, 1:-1, 1:-1], atol=1e-6)


sizes = st.lists(st.integers(1, 4), min_size=1, max_size=6)


@given(sizes, st.integers(0, 2**32 - 1))
def test_rows_over_all_words_still_sum_to_one(given_sizes: list[int], seed: int) -> None:
    text = encoding(given_sizes)
    weights = random_weights(len(text), seed)
    pooled = WordPooling.of([text], CPU, delimiters=True)(weights)
    np.testing.assert_allclose(pooled.sum(-1).numpy(), 1, atol=1e-5)


@given(sizes, st.integers(0, 2**32 - 1))
def test_the_order_of_sum_and_mean_does_not_matter(given_sizes: list[int], seed: int) -> None:
    text = encoding(given_sizes)
    weights = random_weights(len(text), seed)
    pooled = WordPooling.of([text], CPU)(weights)[0].numpy()
    groups = [list(word.tokens) for word in text.words if not word.special]
    raw = weights[0].numpy()
    mean_first = np.stack([raw[:, group].mean(1) for group in groups], 1)
    mean_then_sum = np.stack([mean_first[:, :, group].sum(2) for group in groups], 2)
    np.testing.assert_allclose(pooled, mean_then_sum, atol=1e-6)


@given(sizes, sizes, st.integers(0, 2**32 - 1))
def test_a_text_pools_the_same_in_a_batch(one: list[int], two: list[int], seed: int) -> None:
    texts = [encoding(one), encoding(two)]
    longest = max(len(text) for text in texts)
    weights = random_weights(longest, seed, batch=2)
    together = WordPooling.of(texts, CPU)(weights)
    for i, text in enumerate(texts):
        n = len(text)
        alone = WordPooling.of([text], CPU)(weights[i : i + 1, :, :n, :n])[0]
        words = alone.shape[-1]
        np.testing.assert_allclose(together[i, :, :words, :words], alone, atol=1e-6)


def random_weights(n: int, seed: int, batch: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(batch, 2, n, n, generator=generator).softmax(-1)
