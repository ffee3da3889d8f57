"""An Attention: its shapes, its words, and the errors of asking for what is not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bertlens as bl
from tests.python.tiny import tiny, tokenizer_for

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")


@pytest.fixture(scope="module")
def attention() -> bl.Attention:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))(*PAIR)


def test_weights_are_float32_by_layer_head_from_and_to(attention: bl.Attention) -> None:
    n = len(attention.tokens)
    assert (attention.n_layers, attention.n_heads) == (3, 4)
    assert attention.weights().shape == (3, 4, n, n)
    assert attention.weights(layer=2).shape == (4, n, n)
    assert attention.weights(layer=2, head=0).shape == (n, n)
    assert attention.weights().dtype == np.float32
    np.testing.assert_array_equal(attention.weights()[2, 0], attention.weights(2, 0))
    np.testing.assert_array_equal(attention.weights(2)[3], attention.weights(layer=2, head=3))


def test_weights_are_read_only(attention: bl.Attention) -> None:
    for found in (attention.weights(0), attention.weights(1, 1)):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 0


def test_a_wrong_layer_is_named_with_those_that_exist(attention: bl.Attention) -> None:
    for wrong in (3, -1, 99):
        with pytest.raises(IndexError, match=rf"no layer {wrong}: .* 0 to 2"):
            attention.weights(layer=wrong)


def test_a_wrong_head_is_named_with_those_that_exist(attention: bl.Attention) -> None:
    for wrong in (4, -1):
        with pytest.raises(IndexError, match=rf"no head {wrong}: .* 0 to 3"):
            attention.weights(layer=0, head=wrong)


@pytest.mark.parametrize("wrong", [1.0, "1", True, [0]])
def test_a_layer_or_head_is_an_integer(attention: bl.Attention, wrong: Any) -> None:
    with pytest.raises(TypeError, match="layer must be an integer"):
        attention.weights(layer=wrong)
    with pytest.raises(TypeError, match="head must be an integer"):
        attention.weights(layer=0, head=wrong)


def test_a_head_needs_its_layer(attention: bl.Attention) -> None:
    with pytest.raises(TypeError, match="Give a layer too"):
        attention.weights(head=0)


def test_numpy_integers_count_as_integers(attention: bl.Attention) -> None:
    found = attention.weights(np.int64(1), np.int32(2))  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, attention.weights(1, 2))


def test_word_maps_of_the_packaged_model_are_the_reference_values(
    demo: bl.Lens,
    minilm: dict[str, np.ndarray],
    minilm_entries: list[dict[str, Any]],
) -> None:
    for n, entry in enumerate(minilm_entries):
        attention = demo(*entry["text"])
        assert [list(word.tokens) for word in attention.words] == entry["word_groups"]
        found = attention.to_words().weights()
        np.testing.assert_allclose(found, minilm[f"words_{n}"], atol=1e-5, rtol=0)


def test_entropies_of_the_packaged_model_are_the_reference_values(
    demo: bl.Lens, minilm: dict[str, np.ndarray], minilm_texts: list[list[str]]
) -> None:
    for n, text in enumerate(minilm_texts):
        scores = demo(*text).scores
        np.testing.assert_allclose(scores["entropy"].values, minilm[f"entropy_{n}"], atol=1e-5)


def test_attention_to_a_word_is_the_sum_and_from_a_word_the_mean_over_its_tokens() -> None:
    # "a ##b c": two words of two and one token
    weights = np.array([[[[0.5, 0.2, 0.3], [0.1, 0.3, 0.6], [0.2, 0.2, 0.6]]]], np.float32)
    from bertlens.attention.sources import DenseWeights

    tokens = [
        bl.Token("a", "a", 0, 1, 0, 0, False),
        bl.Token("##b", "b", 1, 2, 0, 0, False),
        bl.Token("c", "c", 3, 4, 1, 0, False),
    ]
    words = [bl.Word("ab", (0, 1), 0, False, 0), bl.Word("c", (2,), 0, False, 1)]
    found = bl.Attention(DenseWeights(weights), tokens, words).to_words()
    # from "ab": mean of (0.5 + 0.2, 0.3) and (0.1 + 0.3, 0.6)
    np.testing.assert_allclose(found.weights(0, 0), [[0.55, 0.45], [0.4, 0.6]], atol=1e-6)
    assert [token.label for token in found.tokens] == ["ab", "c"]


def test_rows_of_word_maps_still_sum_to_one(attention: bl.Attention) -> None:
    np.testing.assert_allclose(attention.to_words().weights().sum(-1), 1, atol=1e-5)


def test_words_of_words_are_the_same(attention: bl.Attention) -> None:
    words = attention.to_words()
    assert words.to_words() is words
    assert [word.text for word in words.words] == [word.text for word in attention.words]
    assert all(word.tokens == (i,) for i, word in enumerate(words.words))


def test_a_model_of_one_kind_says_so(attention: bl.Attention) -> None:
    assert attention.kinds == ("self",)
    assert attention.kind("self") is attention
    with pytest.raises(ValueError, match=r"no attention of kind 'cross'; .* 'self'"):
        attention.kind("cross")
