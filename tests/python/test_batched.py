"""Batches measured in torch give what the plain definitions give for each text alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import bertlens as bl
from bertlens.scores import catalogue, patterns
from bertlens.scores.batched import Among, Confidence, Distance, Entropy, Measurement, Offset, Share
from bertlens.text.token_types import TokenTypes, token_types_of
from tests.python.tiny import tiny, tokenizer_for

TEXTS = [
    ("I went to the store.", "At the store, I bought fresh strawberries."),
    ("The cat sat on the mat",),
    ("store, store",),
]
PATTERNS = [
    *catalogue.PATTERNS.values(),
    catalogue.pattern("offset:-3"),
    catalogue.pattern("offset:+2"),
    catalogue.pattern("to:the"),
    catalogue.to_tokens("both", ["cat", "[CLS]"]),
]


@pytest.fixture(scope="module")
def texts() -> list[TokenTypes]:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    return [token_types_of(lens.encode(*text).tokens, lens.tokenizer) for text in TEXTS]


def plain(pattern: catalogue.Pattern, maps: np.ndarray, kinds: TokenTypes) -> np.ndarray:
    """The score of one text's maps [head, from, to] by the plain definitions."""

    def places(flags: np.ndarray) -> list[int]:
        return np.flatnonzero(flags).tolist()

    match pattern.measure:
        case Offset(steps):
            return patterns.offset(maps, steps)
        case Share("first"):
            return patterns.sink(maps)
        case Share(columns, rows):
            to = kinds.named(columns) if isinstance(columns, frozenset) else getattr(kinds, columns)
            of = {"all": None, "sep": places(kinds.sep), "rest": places(~kinds.sep)}[rows]
            return patterns.attention_to(maps, places(to), of)
        case Among("same text"):
            return patterns.attention_among(maps, kinds.same_text())
        case Among("same text, other segment"):
            return patterns.attention_among(maps, kinds.same_text() & kinds.other_segment())
        case Among("same word"):
            return patterns.attention_among(maps, kinds.same_word())
        case Entropy("all"):
            return patterns.entropy(maps).mean(-1)
        case Entropy("cls"):
            return patterns.entropy(maps)[:, kinds.cls].mean(-1)
        case Distance():
            return patterns.distance(maps)
        case Confidence():
            return patterns.confidence(maps, places(kinds.sep))
    raise AssertionError(pattern)


def padded(texts: list[TokenTypes], seed: int, extra: int = 0) -> torch.Tensor:
    """Random maps [text, head, from, to]; padding rows hold rubbish, padding columns nothing."""
    generator = torch.Generator().manual_seed(seed)
    longest = max(len(kinds) for kinds in texts) + extra
    maps = torch.randn(len(texts), 3, longest, longest, generator=generator) * 3
    for text, kinds in enumerate(texts):
        maps[text, :, :, len(kinds) :] = -torch.inf
    return maps.softmax(-1)


@given(seed=st.integers(0, 2**32), extra=st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_every_score_is_the_plain_definition_whatever_the_padding(
    texts: list[TokenTypes], seed: int, extra: int
) -> None:
    maps = padded(texts, seed, extra)
    shape = (maps.shape[-2], maps.shape[-1])
    measures = [pattern.measure for pattern in PATTERNS]
    measurement = Measurement(measures, texts, None, shape, maps.device)
    found = measurement(maps).numpy()
    for text, kinds in enumerate(texts):
        n = len(kinds)
        own = maps[text, :, :n, :n].double().numpy()
        for i, pattern in enumerate(PATTERNS):
            expected = plain(pattern, own, kinds)
            if measurement.applies[i, text]:
                np.testing.assert_allclose(found[i, text], expected, atol=2e-6)
            else:
                assert np.isnan(expected).all(), pattern.name


def test_half_precision_is_measured_in_float32(texts: list[TokenTypes]) -> None:
    maps = padded(texts[:1], 0)
    measures = [Entropy("all"), Offset(1)]
    shape = (maps.shape[-2], maps.shape[-1])
    measurement = Measurement(measures, texts[:1], None, shape, maps.device)
    half = maps.half()
    np.testing.assert_array_equal(measurement(half).numpy(), measurement(half.float()).numpy())


def test_even_attention_is_the_baseline(texts: list[TokenTypes]) -> None:
    maps = padded(texts[:1], 0)
    n = len(texts[0])
    measures = [Entropy("all"), Offset(1), Share("sep"), Share("first"), Distance()]
    measurement = Measurement(measures, texts[:1], None, (n, n), maps.device)
    even = measurement.uniform(causal=False)[:, 0].tolist()
    distance = (n * n - 1) / (3 * n)  # of two places drawn at random
    assert even == pytest.approx([np.log(n), (n - 1) / n**2, 2 / n, 1 / n, distance], abs=1e-5)
    causal = measurement.uniform(causal=True)[:, 0].tolist()
    assert causal[1] == 0
    assert causal[3] == pytest.approx(np.mean([1 / k for k in range(1, n + 1)]), abs=1e-6)


def test_neighbours_do_not_apply_to_cross_attention(texts: list[TokenTypes]) -> None:
    rows, columns = texts[:1], texts[1:2]
    shape = (len(rows[0]), len(columns[0]))
    measures = [Offset(0), Distance(), Among("same word"), Share("sep"), Entropy("all")]
    measurement = Measurement(measures, rows, columns, shape, torch.device("cpu"))
    assert measurement.applies[:, 0].tolist() == [False, False, False, True, True]
    maps = torch.full((1, 2, *shape), 1 / shape[1])
    values = measurement(maps)
    assert values[3, 0].tolist() == pytest.approx([1 / shape[1]] * 2)
    assert values[4, 0].tolist() == pytest.approx([np.log(shape[1])] * 2, abs=1e-5)
