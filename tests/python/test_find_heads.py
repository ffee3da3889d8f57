"""Which head does this: heads ranked by their weight between tokens."""

from __future__ import annotations

import numpy as np
import pytest

import bertlens as bl
from bertlens.attention.sources import DenseWeights
from bertlens.corpus.head_patterns import any_of, next_such, previous_such, same_text, same_word
from bertlens.text.tokens import Token
from tests.python.opened import TEXT, attention_of, lens_for

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
TEXTS = ["The cat sat on the mat, and the dog did not mind.", PAIR, "I went to the store."]


def given(weights: list[list[list[float]]]) -> bl.Attention:
    """Two heads on the two words "a b"."""
    attention = attention_of("bert", "I went")
    tokens = attention.tokens[1:3]
    return bl.Attention(DenseWeights(np.array([weights], np.float32)), tokens, attention.words[1:3])


def test_two_tokens_worked_by_hand() -> None:
    attention = given([[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [1.0, 0.0]]])
    assert attention.find_heads(0, 1).values.tolist() == [[pytest.approx(0.1), pytest.approx(0.7)]]
    assert attention.find_heads(0, 1).best()[:2] == (0, 1)
    # Summed over what is attended to, mean over what attends.
    assert attention.find_heads([0, 1], 0).values.tolist() == [
        [pytest.approx(0.55), pytest.approx(0.65)]
    ]
    assert attention.find_heads(1, [0, 1]).values.tolist() == [[pytest.approx(1), pytest.approx(1)]]
    assert attention.find_heads(1, 0).baseline == 0.5


def test_a_label_stands_for_every_token_that_reads_so() -> None:
    attention = attention_of("bert", "The store and the store.")
    labels = [token.label for token in attention.tokens]
    stores = [i for i, label in enumerate(labels) if label == "store"]
    assert len(stores) == 2
    assert labels.count("the") == 1
    found = attention.find_heads("the", "store")
    expected = attention.weights()[:, :, labels.index("the"), stores].sum(-1)
    np.testing.assert_allclose(found.values, expected, atol=1e-6)


def test_a_piece_is_found_where_no_label_reads_so() -> None:
    attention = attention_of("bert", "Store")
    assert attention.tokens[1].text != attention.tokens[1].label
    found = attention.find_heads(attention.tokens[1].text, "[CLS]")
    np.testing.assert_array_equal(found.values, attention.find_heads(1, 0).values)


def test_at_word_level_tokens_are_words() -> None:
    words = attention_of("bert").to_words()
    at, to = (
        next(i for i, word in enumerate(words.words) if word.text == text)
        for text in ("strawberries", "bought")
    )
    found = words.find_heads("strawberries", "bought")
    np.testing.assert_allclose(found.values, words.weights()[:, :, at, to], atol=1e-6)


def test_tokens_that_are_not_there_are_errors() -> None:
    attention = attention_of("bert")
    with pytest.raises(IndexError, match="no token 99"):
        attention.find_heads(99, 0)
    with pytest.raises(ValueError, match="no token reads 'elephant'"):
        attention.find_heads("elephant", 0)
    with pytest.raises(ValueError, match="to_token names no token"):
        attention.find_heads(0, [])
    with pytest.raises(TypeError, match="places or labels"):
        attention.find_heads(0, [1.5])  # type: ignore[list-item]


def expected_over(
    lens: bl.Lens, pattern, texts: list, *, words: bool = False
) -> tuple[np.ndarray, int]:
    """The mean, written with loops over the weights of each text."""
    total, rows = 0.0, 0
    for text in texts:
        attention = lens(*text, exact=True) if isinstance(text, tuple) else lens(text, exact=True)
        attention = attention.to_words() if words else attention
        weights = attention.weights().astype(np.float64)
        for i, a in enumerate(attention.tokens):
            partners = [j for j, b in enumerate(attention.tokens) if i != j and pattern(a, b)]
            if partners:
                total = total + weights[:, :, i, partners].sum(-1)
                rows += 1
    return np.asarray(total / rows), rows


@pytest.mark.parametrize("level", ["token", "word"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_over_texts_it_is_the_mean_over_tokens_that_have_a_partner(family: str, level: str) -> None:
    lens = lens_for(family)
    pattern = any_of("the", "store")
    texts = TEXTS if family == "bert" else [TEXTS[0], TEXTS[2]]
    found = lens.find_heads(pattern, texts, level=level, progress=False)  # type: ignore[arg-type]
    expected, rows = expected_over(lens, pattern, texts, words=level == "word")
    np.testing.assert_allclose(found.values, expected, atol=1e-5)
    assert found.support is not None
    assert (found.support == rows).all()


def test_the_demo_models_head_for_the_same_word(demo: bl.Lens) -> None:
    found = demo.find_heads(same_text, [PAIR], progress=False)
    expected = demo(*PAIR).scores["identical"]
    np.testing.assert_allclose(found.values, expected.values, atol=1e-5)


def test_the_baseline_is_even_attention() -> None:
    lens = lens_for("bert")
    text = "I went to the store."
    labels = [token.label for token in lens.encode(text).tokens]
    assert labels.count("store") == 1
    found = lens.find_heads(any_of("store"), [text], progress=False)
    assert found.baseline == pytest.approx(1 / len(labels))


def test_a_pattern_that_nothing_fulfils_is_undefined() -> None:
    found = lens_for("bert").find_heads(lambda a, b: False, [TEXT], progress=False)
    assert np.isnan(found.values).all()
    assert found.name == "pattern"


def token(label: str, place: int) -> Token:
    return Token(label, label, place, place + 1, place, 0, False)


def test_the_next_and_the_previous_such_token() -> None:
    tokens = [token(label, i) for i, label in enumerate(["a", "v", "b", "v", "c"])]
    after = next_such(lambda t: t.label == "v").pairs(tokens)
    assert [np.flatnonzero(row).tolist() for row in after] == [[1], [3], [3], [], []]
    before = previous_such(lambda t: t.label == "v").pairs(tokens)
    assert [np.flatnonzero(row).tolist() for row in before] == [[], [], [1], [1], [3]]


def test_pieces_of_one_word_are_mates() -> None:
    first, second = token("straw", 0), token("berries", 0)
    assert same_word(first, second)
    assert not same_word(first, token("x", 1))


def test_what_is_no_pattern_is_an_error() -> None:
    lens = lens_for("bert")
    with pytest.raises(TypeError, match="a function of two tokens"):
        lens.find_heads("same", [TEXT], progress=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='"token" or "word"'):
        lens.find_heads(same_text, [TEXT], level="char", progress=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nothing to count"):
        lens.find_heads(same_text, [], progress=False)


def test_a_table_of_the_largest_weights() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = given([[[0.9, 0.1], [0.2, 0.8]], [[0, 1], [1, 0]]]).to_frame(0, 0, top=3)
    assert frame["weight"].tolist() == pytest.approx([0.9, 0.8, 0.2])
    assert frame["from_index"].tolist() == [0, 1, 1]
    assert frame["to_index"].tolist() == [0, 1, 0]
    labels = [token.label for token in attention_of("bert", "I went").tokens[1:3]]
    assert frame["to"].tolist() == [labels[0], labels[1], labels[0]]
    with pytest.raises(ValueError, match="at least 1, not 0"):
        attention_of("bert").to_frame(0, 0, top=0)


@pytest.mark.parametrize("family", ["bert", "llama", "gpt2", "t5"])
@pytest.mark.parametrize("exact", [True, False])
def test_rows_are_those_of_the_whole_map(family: str, exact: bool) -> None:
    attention = attention_of(family, exact=exact)
    words = attention.to_words()
    for one in (attention, words, attention.value_norms(), attention.rollout()):
        np.testing.assert_allclose(
            one.rows(1, [4, 0]), one.weights(1)[:, [4, 0]], atol=1e-6, rtol=2e-5
        )
    with pytest.raises(IndexError, match="no token 99: this text"):
        attention.rows(1, [99])
