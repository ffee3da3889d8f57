"""From scores of word pairs to a head for every word: one by one, or as a tree."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bertlens.errors import require
from bertlens.probes.treebanks.treebank import ROOT

Decoding: TypeAlias = Literal["greedy", "tree"]


def greedy(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """The candidate with the highest score for each word; the first of equals.

    Args:
        scores: [candidate, word], the root as candidate 0; -inf where there is no candidate, as
            for a word itself.

    Returns:
        The number of each word's head, from 1; 0 is the root.
    """
    heads: NDArray[np.int64] = scores.argmax(0)
    # A word alone, without a root to choose, can only be the root.
    heads[np.isneginf(scores).all(0)] = ROOT
    return heads


def tree(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """The heads that make the tree with the highest sum of scores, with exactly one root.

    By networkx's maximum spanning arborescence (Edmonds 1967).

    Args:
        scores: as in `greedy`; where the root is no candidate, any word may become the root.

    Raises:
        MissingExtraError: networkx is not installed.
    """
    picked = greedy(scores)
    if _is_tree(picked):
        # The best of each word alone is the best of all, and mostly a tree where probes are good.
        return picked
    require("networkx", "analysis")
    import networkx

    finite = np.isfinite(scores)
    if not finite[ROOT].any():
        scores = scores.copy()
        scores[ROOT] = 0
        finite[ROOT] = True
    span = float(np.ptp(scores[finite])) + 1.0
    graph = networkx.DiGraph()
    for head, word in zip(*np.nonzero(finite), strict=True):
        # A second root would cost more than it could bring.
        fine = span * scores.shape[1] if head == ROOT else 0.0
        graph.add_edge(int(head), int(word) + 1, weight=float(scores[head, word]) - fine)
    found = networkx.maximum_spanning_arborescence(graph)
    heads = np.zeros(scores.shape[1], np.int64)
    for head, word in found.edges:
        heads[word - 1] = head
    return heads


def _is_tree(heads: NDArray[np.int64]) -> bool:
    """Whether there is one root and every word leads to it."""
    if (heads == ROOT).sum() != 1:
        return False
    at = np.arange(1, len(heads) + 1)
    over = np.concatenate([[ROOT], heads])
    for _ in range(len(heads)):
        at = over[at]
    return bool((at == ROOT).all())
