"""Distances between heads and the map of heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import bertlens as bl
from bertlens.attention.attention import Attention
from bertlens.attention.sources import DenseWeights
from bertlens.corpus.distances import HeadDistances, distances, divergences
from tests.python.tiny import SENTENCES, tiny, tokenizer_for


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


def random_maps(heads: int, n: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(heads, n, n, generator=generator, dtype=torch.float64) * 4).softmax(-1)


@pytest.mark.parametrize("n", [3, 70])  # 70 x 70 weights are more than a block
def test_divergences_are_scipys(n: int) -> None:
    maps = random_maps(4, n)
    smooth = (0.999 * maps + 0.001 / n).numpy()
    expected = [
        [np.square(jensenshannon(smooth[a], smooth[b], axis=-1)).sum() for b in range(4)]
        for a in range(4)
    ]
    np.testing.assert_allclose(divergences(maps), expected, atol=1e-12)
    np.testing.assert_allclose(divergences(maps.float()), expected, atol=1e-5)


def test_a_head_is_at_no_distance_from_itself_and_its_double() -> None:
    maps = random_maps(1, 9).float().repeat(3, 1, 1)
    assert (divergences(maps) == 0).all()


def test_two_heads_that_never_look_at_the_same_token_are_log_2_apart_for_each_row() -> None:
    maps = torch.stack([torch.eye(2), torch.eye(2).flip(0)]).double()
    p = np.array([0.9995, 0.0005])  # smoothed
    entropy = -(p * np.log(p)).sum()
    assert divergences(maps)[0, 1] == pytest.approx(2 * (np.log(2) - entropy))


def test_the_reference_distances(
    demo: bl.Lens, minilm: dict[str, np.ndarray], minilm_texts: list[list[str]]
) -> None:
    total = None
    for number, text in enumerate(minilm_texts):
        encoding = demo.encode(*text)
        maps = DenseWeights(minilm[f"attention_{number}"])
        found = distances(Attention(maps, encoding.tokens, encoding.words, lens=demo))
        total = found if total is None else total.merged(found)
    assert total is not None
    np.testing.assert_allclose(total.values, minilm["head_distances"], atol=1e-6)
    given = [tuple(text) if len(text) == 2 else text[0] for text in minilm_texts]
    scanned = demo.scan(given, distances=True, progress=False).distances
    # In float32, and the forward pass itself moves weights by some 2e-6.
    np.testing.assert_allclose(scanned.values, minilm["head_distances"], atol=1e-4)


def test_a_scan_adds_the_texts_up(lens: bl.Lens) -> None:
    found = lens.scan(SENTENCES, distances=True, progress=False).distances
    alone = [distances(lens(text, exact=True)).values for text in SENTENCES]
    np.testing.assert_allclose(found.values, sum(alone), atol=1e-4)
    assert found.texts == 4


def test_nearest_heads() -> None:
    values = np.array([[0, 3, 1, 2], [3, 0, 5, 5], [1, 5, 0, 5], [2, 5, 5, 0]], float)
    found = HeadDistances(values, n_layers=2, n_heads=2, texts=1)
    assert found.nearest(0, 0, n=2) == [(1, 0, 1.0), (1, 1, 2.0)]
    assert found.nearest(0, 1) == [(0, 0, 3.0), (1, 0, 5.0), (1, 1, 5.0)]
    assert found.between((0, 0), (0, 1)) == 3.0
    with pytest.raises(IndexError, match="no layer 2"):
        found.nearest(2, 0)


def test_the_map_places_heads_by_their_distances() -> None:
    places = np.array([[0, 0], [3, 0], [0, 4], [3, 4]], float)
    apart = np.linalg.norm(places[:, None] - places, axis=-1)
    found = HeadDistances(apart, n_layers=2, n_heads=2, texts=1).map(seed=1)
    points = found.points.reshape(4, 2)
    made = np.linalg.norm(points[:, None] - points, axis=-1)
    np.testing.assert_allclose(made, apart, atol=1e-2)
    again = HeadDistances(apart, n_layers=2, n_heads=2, texts=1).map(seed=1)
    np.testing.assert_array_equal(found.points, again.points)


def test_the_map_carries_behaviours(lens: bl.Lens) -> None:
    scores = lens.scan(SENTENCES, distances=True, progress=False)
    found = scores.map()
    assert found.points.shape == (3, 4, 2)
    assert found.labels.tolist() == scores["behaviour"].labels.tolist()
    with pytest.raises(ValueError, match="scan with distances=True"):
        lens.scan(SENTENCES, progress=False).map()
    with pytest.raises(ValueError, match="labels must be"):
        scores.distances.map([["broad"]])
