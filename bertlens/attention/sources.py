"""Sources of weights: in memory, derived from another source, or pooled from tokens to words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bertlens.text.tokens import Word

Weights = NDArray[np.float32]


class WeightSource(Protocol):
    """Where weights come from, a layer at a time."""

    @property
    def n_layers(self) -> int: ...

    @property
    def n_heads(self) -> int: ...

    @property
    def holds_tensors(self) -> bool:
        """Whether weights can be made without running the model again."""
        ...

    def layer(self, layer: int) -> Weights:
        """Weights [head, from, to] of a layer; not to be written to, as they may be kept."""
        ...

    def rows(self, layer: int, rows: Sequence[int]) -> Weights:
        """Weights [head, row, to] of some rows of a layer."""
        ...

    def close(self) -> None:
        """Let go of tensors; asking again afterwards makes them anew where that is possible."""
        ...


class DenseWeights:
    """Weights in memory: float32 [layer, head, from, to]."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._weights.setflags(write=False)

    @property
    def n_layers(self) -> int:
        return int(self._weights.shape[0])

    @property
    def n_heads(self) -> int:
        return int(self._weights.shape[1])

    @property
    def holds_tensors(self) -> bool:
        return True

    def layer(self, layer: int) -> Weights:
        maps: Weights = self._weights[layer]
        return maps

    def rows(self, layer: int, rows: Sequence[int]) -> Weights:
        maps: Weights = self._weights[layer][:, list(rows)]
        return maps

    def close(self) -> None:
        """Nothing to let go: there is no way back to these weights."""


class DerivedWeights:
    """Numbers computed from another source, a layer at a time; base of such sources."""

    def __init__(self, source: WeightSource) -> None:
        self._source = source

    @property
    def n_layers(self) -> int:
        return self._source.n_layers

    @property
    def n_heads(self) -> int:
        return self._source.n_heads

    @property
    def holds_tensors(self) -> bool:
        return self._source.holds_tensors

    def layer(self, layer: int) -> Weights:
        raise NotImplementedError

    def rows(self, layer: int, rows: Sequence[int]) -> Weights:
        return self.layer(layer)[:, list(rows)]

    def close(self) -> None:
        self._source.close()


class WordPooled(DerivedWeights):
    """Word-level weights of a token-level source (Clark et al. 2019, section 4.1).

    Attention to a word is the sum over its tokens, attention from a word the mean over its tokens;
    rows keep their sums.
    """

    def __init__(self, source: WeightSource, rows: Sequence[Word], columns: Sequence[Word]) -> None:
        super().__init__(source)
        self._tokens = [word.tokens for word in rows]
        self._rows = _places(rows)
        self._columns = _places(columns)
        counts = np.array([len(word.tokens) for word in rows], np.float32)
        self._row_counts = counts[:, None]

    def layer(self, layer: int) -> Weights:
        summed = self._summed(self._source.layer(layer))
        (words, tokens), *more = self._rows
        pooled = summed[..., tokens, :]
        for words, tokens in more:
            pooled[..., words, :] += summed[..., tokens, :]
        pooled /= self._row_counts
        return pooled

    def rows(self, layer: int, rows: Sequence[int]) -> Weights:
        tokens = [self._tokens[row] for row in rows]
        starts = np.cumsum([0, *map(len, tokens)])
        flat = [token for own in tokens for token in own]
        summed = self._summed(self._source.rows(layer, flat))
        return np.stack(
            [summed[:, a:b].mean(1) for a, b in pairwise(starts)], axis=1, dtype=np.float32
        )

    def _summed(self, weights: Weights) -> Weights:
        """[..., to token] to [..., to word]."""
        # Most words are one token: take those, then add what the others have beside.
        (words, tokens), *more = self._columns
        summed = np.take(weights, tokens, axis=-1)
        for words, tokens in more:
            summed[..., words] += weights[..., tokens]
        return summed


def _places(words: Sequence[Word]) -> list[tuple[list[int], list[int]]]:
    """Words and their first tokens, then the words that have a second and it, and so on."""
    most = max(len(word.tokens) for word in words)
    return [
        (
            [i for i, word in enumerate(words) if len(word.tokens) > place],
            [word.tokens[place] for word in words if len(word.tokens) > place],
        )
        for place in range(most)
    ]
