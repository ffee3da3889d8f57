"""Rollout, flow and means mix heads and layers as Abnar & Zuidema (2020) define them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import bertlens as bl
from bertlens.attention import flow, rollout
from tests.python.opened import attention_of

# Layer 0 looks across, layer 1 of token 0 at itself and of token 1 at both, layer 2 at token 1.
TWO_TOKENS = np.array([[[[0, 1], [1, 0]]], [[[1, 0], [0.5, 0.5]]], [[[0, 1], [0, 1]]]], np.float32)


def random_weights(shape: tuple[int, ...], *, causal: bool = False) -> NDArray[np.float32]:
    logits = 3 * np.random.default_rng(5).normal(size=shape)
    if causal:
        logits += np.triu(np.full(shape[-2:], -np.inf), 1)
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def test_a_step_halves_the_mean_over_heads_and_adds_half_the_residual_stream() -> None:
    heads = np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], np.float32)
    assert rollout.residual(heads).tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_rollout_of_two_tokens_worked_by_hand() -> None:
    # A = (.5 .5 / .5 .5), (1 0 / .25 .75), (.5 .5 / 0 1); every product with the first is even.
    found = rollout.rollout(TWO_TOKENS[[1, 2]])
    assert found[0].tolist() == [[1, 0], [0.25, 0.75]]
    assert found[1].tolist() == [[0.625, 0.375], [0.25, 0.75]]
    assert rollout.rollout(TWO_TOKENS)[2].tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_rollouts_rows_sum_to_one(demo: bl.Lens) -> None:
    rolled = demo("I went to the store.", "At the store, I bought fresh strawberries.").rollout()
    sums = rolled.weights().sum(-1)
    np.testing.assert_allclose(sums, 1, atol=1e-6)
    assert (rolled.n_layers, rolled.n_heads) == (6, 1)


def test_flow_of_two_tokens_worked_by_hand() -> None:
    found = flow.flow(TWO_TOKENS)
    assert found[0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    # From token 1: .25 by way of token 0, and of the .75 by way of token 1 no more than .5.
    np.testing.assert_allclose(found[1], [[0.5, 0.5], [0.75, 0.75]], atol=1e-6)
    # From token 0: .5 by way of each, all of which gets through; from token 1 as before.
    np.testing.assert_allclose(found[2], [[1, 1], [0.75, 0.75]], atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_flow_is_networkx_maximum_flow(causal: bool) -> None:
    networkx = pytest.importorskip("networkx")
    weights = random_weights((4, 2, 5, 5), causal=causal)
    graph = networkx.DiGraph()
    for layer, heads in enumerate(weights):
        step = 0.5 * heads.mean(0, dtype=float) + 0.5 * np.eye(5)
        for (i, j), capacity in np.ndenumerate(step):
            graph.add_edge((layer + 1, i), (layer, j), capacity=capacity)
    expected = np.empty((4, 5, 5))
    for layer, i, j in np.ndindex(4, 5, 5):
        expected[layer, i, j] = networkx.maximum_flow_value(graph, (layer + 1, i), (0, j))
    np.testing.assert_allclose(flow.flow(weights), expected, atol=1e-6)


def test_bounds_hold_what_networks_give() -> None:
    weights = random_weights((4, 2, 7, 7))
    flows = flow.flow(weights)
    steps = [rollout.residual(heads) for heads in weights]
    for layer in (1, 2, 3):
        least, most = flow.bounds(steps[layer], flows[layer - 1], steps[0].sum(0))
        assert (least <= flows[layer] + 1e-6).all()
        assert (most >= flows[layer] - 1e-6).all()


def test_flow_explores_like_a_head() -> None:
    flowed = attention_of("llama").flow()
    assert flowed.n_heads == 1
    later = np.triu(np.ones((len(flowed.tokens),) * 2, dtype=bool), 1)
    assert (flowed.weights(2, 0)[later] == 0).all()
    assert "Abnar & Zuidema 2020" in flowed.notes[-1]


def test_a_long_text_is_not_flowed_unasked() -> None:
    attention = attention_of("bert")
    with pytest.raises(ValueError) as caught:
        attention.flow(most_tokens=5)
    assert f"most_tokens={len(attention.tokens)}" in str(caught.value)


@pytest.mark.parametrize(
    ("over", "shape", "axes"),
    [("heads", (3, 1), 1), ("layers", (1, 4), 0), ("all", (1, 1), (0, 1))],
)
def test_means(over: str, shape: tuple[int, int], axes: int | tuple[int, int]) -> None:
    attention = attention_of("bert")
    found = attention.mean(over)  # type: ignore[arg-type]
    assert (found.n_layers, found.n_heads) == shape
    expected = attention.weights().mean(axes, keepdims=True)
    np.testing.assert_allclose(found.weights(), expected, atol=1e-6)


def test_a_mean_over_something_else_is_an_error() -> None:
    with pytest.raises(ValueError) as caught:
        attention_of("bert").mean("tokens")  # type: ignore[arg-type]
    assert "'tokens'" in str(caught.value)


def test_words_are_pooled_after_mixing() -> None:
    attention = attention_of("bert")
    np.testing.assert_allclose(
        attention.to_words().rollout().weights(),
        attention.rollout().to_words().weights(),
        atol=1e-6,
    )


def test_what_is_mixed_is_not_mixed_again() -> None:
    rolled = attention_of("bert").rollout()
    assert "rollout" in repr(rolled)
    with pytest.raises(ValueError) as caught:
        rolled.flow()
    assert "these are rollout" in str(caught.value)
