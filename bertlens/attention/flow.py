"""Attention flow: the maximum flow from a layer's token to an input token (Abnar & Zuidema 2020).

The network's nodes are (layer, token) and its capacities the weights with the residual stream,
A = 1/2 mean over heads of W + 1/2 I (section 3.2). scipy's Dinic in C does the flows: networkx, in
Python, takes some hundred times as long. scipy wants integers, so a capacity is rounded to 2^-30.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertlens.attention.derived import at_token_level, check_weights, dense, derived
from bertlens.attention.rollout import layers_of, residual

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention

Floats = NDArray[np.float64]

CAVEAT = (
    "Attention flow (Abnar & Zuidema 2020): the most that the layers so far can carry from an "
    "input token, with weights as capacities. In deep models it depends on the input token more "
    "than on where one looks from, and like rollout it leaves out values and feed-forward layers: "
    "an upper bound on a token's share, not what decided the model's output."
)

MOST_TOKENS = 64
"""Longer texts are an error unless asked for: the time grows faster than the tokens squared."""

_ONE = 2**30
_EQUAL = 1e-9


def flow(layers: Iterable[NDArray[np.float32]]) -> Floats:
    """Maximum flow from every token of every layer to every input token.

    Exact to about 1e-6 (capacities are rounded to 2^-30). Many pairs need no flow to be computed:
    what is known of the layer below settles them, see `bounds`.

    Args:
        layers: weights [head, n, n] of each layer, the first one first.

    Returns:
        float64 [layer, n, n]; the first layer's is A itself.
    """
    steps = np.stack([residual(layer) for layer in layers])
    flows = [steps[0]]
    into = steps[0].sum(0)
    for layer in range(1, len(steps)):
        least, found = bounds(steps[layer], flows[-1], into)
        # Over two steps every path has a middle token of its own, and the upper bound is reached.
        if layer > 1:
            network = Network(steps[:layer])
            everywhere = np.ones(len(into))
            into = np.minimum(into, [network.flow(everywhere, j) for j in range(len(into))])
            found = np.minimum(found, into)
            for i, j in np.argwhere(found - least > _EQUAL):
                found[i, j] = network.flow(steps[layer][i], int(j))
        flows.append(found)
    return np.stack(flows)


def bounds(step: Floats, below: Floats, into: Floats) -> tuple[Floats, Floats]:
    """Between which values the flow of a layer lies, given the flows F of the layer below.

    By max-flow min-cut the flow from i to j is the least, over sets S of the tokens below, of the
    capacity from i to the tokens outside S plus the cut between S and j. That cut is at least the
    largest F_kj for k in S, and the flow at most the sum over k of min(A_ik, F_kj); also at most
    what all tokens below can send to j together, and at most one.

    Args:
        step: A, [n, n], rows sum to one.
        below: F, [n, n].
        into: what all tokens below can at most send to each input token together, [n].

    Returns:
        least and most, [n, n] each.
    """
    least, most = np.empty_like(step), np.empty_like(step)
    for j, reach in enumerate(below.T):
        most[:, j] = np.minimum(step, reach).sum(-1)
        # The least cut over S has S = {k: F_kj <= t} for some t, or S empty.
        order = np.argsort(reach)
        outside = 1 - np.cumsum(step[:, order], axis=-1)
        least[:, j] = np.minimum((outside + reach[order]).min(-1), 1)
    most = np.minimum(np.minimum(most, into), 1)
    return np.clip(least, 0, most), most


class Network:
    """The layers below one from which flow is asked for, as scipy wants them.

    Nodes are the outputs of each layer, then a source, the input token, and a drain that lets no
    more than one pass. Only the capacities out of the source and into the input token change.

    Args:
        steps: A of the layers below, [layer, n, n].
    """

    def __init__(self, steps: Floats) -> None:
        layers, n, _ = steps.shape
        source, sink, drain = layers * n, layers * n + 1, layers * n + 2
        inner = np.arange((layers - 1) * n).reshape(layers - 1, 1, n)
        ends = [
            np.full(n, sink),
            np.broadcast_to(inner, (layers - 1, n, n)).ravel(),
            np.arange((layers - 1) * n, layers * n),
            np.array([drain]),
        ]
        per_node = np.r_[np.ones(n), np.full((layers - 1) * n, n), n, 1, 0]
        self._starts = np.r_[0, np.cumsum(per_node)].astype(np.int32)
        self._ends = np.concatenate(ends).astype(np.int32)
        self._inner = _integers(steps[1:].ravel())
        self._into = _integers(steps[0])
        self._source, self._drain = source, drain

    def flow(self, out: Floats, j: int) -> float:
        """The maximum flow to input token j with capacities `out` [n] out of the source."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        capacities = np.r_[self._into[:, j], self._inner, _integers(out), np.int32(_ONE)]
        size = self._drain + 1
        network = csr_array((capacities, self._ends, self._starts), shape=(size, size))
        return float(maximum_flow(network, self._source, self._drain).flow_value) / _ONE


def _integers(capacities: Floats) -> NDArray[np.int32]:
    return np.asarray(np.rint(capacities * _ONE).astype(np.int32))


def flow_of(attention: Attention, most_tokens: int = MOST_TOKENS) -> Attention:
    """Flow of a text's attention, [layer, 1, n, n]: see `Attention.flow`."""
    if attention.level == "word":
        return flow_of(at_token_level(attention, "Flows"), most_tokens).to_words()
    check_weights(attention, "Flow")
    n = len(attention.tokens)
    if n > most_tokens:
        raise ValueError(
            f"The text has {n} tokens, and flow takes a maximum flow for up to {n}² pairs and "
            f"{attention.n_layers} layers. Shorten the text, use rollout(), or pass "
            f"most_tokens={n} and wait."
        )
    maps = flow(layers_of(attention))[:, None]
    return derived(
        attention, dense(maps), "flow", CAVEAT, lambda other: flow_of(other, most_tokens)
    )
