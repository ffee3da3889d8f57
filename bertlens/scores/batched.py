"""Measures of attention maps over batches, in torch on the device where the maps are.

The definitions are those of `scores.patterns`. Each measure is a class: `prepare` lays out once for
a batch what depends only on its tokens, and a call takes one layer's weights. What several measures
need (sums over rows, entropies) is computed once a layer, see `LayerMaps`. A new measure is a class
here and a line in `scores.catalogue`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.scores.patterns import SMOOTHING
from bertlens.text.token_types import Flags, TokenTypes

ROWS = ("all", "cls", "sep", "rest")
"""Which rows count: all, those of [CLS], of separators, or of all but separators."""


class TokenBatch:
    """The tokens of a padded batch.

    Args:
        rows: the types of the tokens that attend, for each text.
        columns: of those attended to; the same texts, except in cross-attention.
        shape: (from, to) of the padded maps; tokens are at the beginning.
        device: where the maps are.

    Attributes:
        crossed: whether rows and columns are different texts.
        lengths: (from, to) of each text without padding.
    """

    def __init__(
        self,
        rows: Sequence[TokenTypes],
        columns: Sequence[TokenTypes] | None,
        shape: tuple[int, int],
        device: torch.device,
    ) -> None:
        self.rows = rows
        self.columns = rows if columns is None else columns
        self.crossed = columns is not None
        self.shape = shape
        self.device = device
        # MPS has no float64.
        self.wide = torch.float32 if device.type == "mps" else torch.float64
        self.lengths = [(len(r), len(c)) for r, c in zip(rows, self.columns, strict=True)]
        self._scratch: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def tensor(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    @cached_property
    def row_means(self) -> Tensor:
        """What to multiply rows with so that their sum is a mean, [text, one of ROWS, from]."""
        means = np.zeros((len(self), len(ROWS), self.shape[0]), np.float32)
        for text, types in enumerate(self.rows):
            for i, which in enumerate(ROWS):
                means[text, i, : len(types)] = _mean(row_flags(types, which))
        return self.tensor(means)

    @cached_property
    def smoothing(self) -> Tensor:
        """What entropies add to a weight, [text, 1, 1, to]; 1 in padding, whose p log p is 0."""
        smooth = np.ones((len(self), 1, 1, self.shape[1]), np.float32)
        for text, (_, n) in enumerate(self.lengths):
            smooth[text, ..., :n] = SMOOTHING / n
        return self.tensor(smooth)

    def scratch(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Two tensors of a layer's size to work in, kept from layer to layer."""
        if self._scratch is None or self._scratch[0].shape != like.shape:
            self._scratch = torch.empty_like(like), torch.empty_like(like)
        return self._scratch


class LayerMaps:
    """One layer's weights [text, head, from, to] and what several measures take from them."""

    def __init__(self, weights: Tensor, batch: TokenBatch) -> None:
        if weights.dtype not in (torch.float32, torch.float64):
            weights = weights.float()
        if any(length != batch.shape for length in batch.lengths):
            # Rows of padding hold whatever the model computes for them, be it NaN.
            weights = weights.clone()
            for text, (n, m) in enumerate(batch.lengths):
                weights[text, :, n:] = 0
                weights[text, :, :, m:] = 0
        self.weights = weights
        self.batch = batch

    def received(self, rows: str) -> Tensor:
        """The mean over rows of what each column gets, [text, head, to]."""
        return self._received[:, :, ROWS.index(rows)]

    @cached_property
    def _received(self) -> Tensor:
        means = self.batch.row_means.to(self.weights.dtype)
        return (means[:, None] @ self.weights).to(self.batch.wide)

    def row_mean(self, values: Tensor, rows: str) -> Tensor:
        """The mean over rows of values [text, head, from], as [text, head]."""
        means = self.batch.row_means[:, ROWS.index(rows)].to(self.batch.wide)
        return (values @ means[:, :, None])[..., 0]

    @cached_property
    def entropies(self) -> Tensor:
        """Each row's smoothed entropy in nats, [text, head, from]."""
        one, other = self.batch.scratch(self.weights)
        torch.add(self.batch.smoothing, self.weights, alpha=1 - SMOOTHING, out=one)
        return -torch.log(one, out=other).mul_(one).sum(-1).to(self.batch.wide)


class Measure(ABC):
    """A number for each head and text."""

    def defined(self, rows: TokenTypes, columns: TokenTypes, crossed: bool) -> bool:
        """Whether a text has what is measured; by default, where rows and columns are one text."""
        return not crossed

    def prepare(self, batch: TokenBatch) -> Tensor | None:
        """What depends only on the tokens of a batch."""
        return None

    @abstractmethod
    def __call__(self, maps: LayerMaps, prepared: Any) -> Tensor:
        """Values [text, head] of one layer; anything where the measure is not defined."""


@dataclass(frozen=True)
class Offset(Measure):
    """`patterns.offset`: weight on the token that is `steps` ahead."""

    steps: int

    def defined(self, rows: TokenTypes, columns: TokenTypes, crossed: bool) -> bool:
        return not crossed and abs(self.steps) < len(rows)

    def __call__(self, maps: LayerMaps, prepared: None) -> Tensor:
        batch = maps.batch
        if batch.crossed or abs(self.steps) >= min(batch.shape):
            return maps.weights.new_zeros(maps.weights.shape[:2])
        # Padding is 0 already, so the whole diagonal can be summed.
        diagonal = maps.weights.diagonal(self.steps, -2, -1)
        lengths = torch.tensor([n for n, _ in batch.lengths], dtype=batch.wide, device="cpu")
        return diagonal.to(batch.wide).sum(-1) / lengths.to(batch.device)[:, None]


@dataclass(frozen=True)
class Share(Measure):
    """`patterns.attention_to`: weight from rows of a type to columns of a type.

    Attributes:
        columns: "cls", "sep", "special", "punctuation" or "first"; or a set of tokens.
        rows: one of ROWS.
    """

    columns: str | frozenset[str]
    rows: str = "all"

    def defined(self, rows: TokenTypes, columns: TokenTypes, crossed: bool) -> bool:
        return bool(self._columns(columns).any() and row_flags(rows, self.rows).any())

    def prepare(self, batch: TokenBatch) -> Tensor:
        """Which columns are meant, 0 or 1, [text, to, 1]."""
        indicators = np.zeros((len(batch), batch.shape[1], 1), np.float32)
        for text, types in enumerate(batch.columns):
            indicators[text, : len(types), 0] = self._columns(types)
        return batch.tensor(indicators).to(batch.wide)

    def __call__(self, maps: LayerMaps, prepared: Tensor) -> Tensor:
        return (maps.received(self.rows) @ prepared)[..., 0]

    def _columns(self, types: TokenTypes) -> Flags:
        if isinstance(self.columns, frozenset):
            return types.named(self.columns)
        if self.columns == "first":
            return np.asarray(np.arange(len(types)) == 0)
        flags: Flags = getattr(types, self.columns)
        return flags


@dataclass(frozen=True)
class Among(Measure):
    """`patterns.attention_among`: weight on related tokens.

    Attributes:
        relation: "same text", "same text, other segment" or "same word".
    """

    relation: str

    def defined(self, rows: TokenTypes, columns: TokenTypes, crossed: bool) -> bool:
        return not crossed and bool(self._related(rows).any())

    def prepare(self, batch: TokenBatch) -> Tensor:
        """The share of the mean that each pair of tokens has, [text, from * to, 1]."""
        template = np.zeros((len(batch), *batch.shape, 1), np.float32)
        if not batch.crossed:
            for text, types in enumerate(batch.rows):
                related = self._related(types)
                mean = _mean(np.asarray(related.any(-1)))[:, None]
                template[text, : len(types), : len(types), 0] = related * mean
        return batch.tensor(template).flatten(1, 2)

    def __call__(self, maps: LayerMaps, prepared: Tensor) -> Tensor:
        return torch.bmm(maps.weights.flatten(2), prepared.to(maps.weights.dtype))[..., 0]

    def _related(self, types: TokenTypes) -> Flags:
        match self.relation:
            case "same text":
                return types.same_text()
            case "same text, other segment":
                return types.same_text() & types.other_segment()
            case "same word":
                return types.same_word()
        raise KeyError(self.relation)


@dataclass(frozen=True)
class Entropy(Measure):
    """Mean of `patterns.entropy` over rows, one of ROWS."""

    rows: str = "all"

    def defined(self, rows: TokenTypes, columns: TokenTypes, crossed: bool) -> bool:
        return bool(row_flags(rows, self.rows).any())

    def __call__(self, maps: LayerMaps, prepared: None) -> Tensor:
        return maps.row_mean(maps.entropies, self.rows)


@dataclass(frozen=True)
class Distance(Measure):
    """`patterns.distance`."""

    def prepare(self, batch: TokenBatch) -> Tensor:
        """How far apart two tokens are, [from, to]."""
        n, m = batch.shape
        return batch.tensor(abs(np.arange(n)[:, None] - np.arange(m)).astype(np.float32))

    def __call__(self, maps: LayerMaps, prepared: Tensor) -> Tensor:
        one, _ = maps.batch.scratch(maps.weights)
        wide = maps.batch.wide
        spanned = torch.mul(maps.weights, prepared, out=one).sum(-1).to(wide).sum(-1)
        return spanned / maps.weights.sum(-1).to(wide).sum(-1)


@dataclass(frozen=True)
class Confidence(Measure):
    """`patterns.confidence`, without separators."""

    def defined(self, rows: TokenTypes, columns: TokenTypes, crossed: bool) -> bool:
        return bool((~rows.sep).any() and (~columns.sep).any())

    def prepare(self, batch: TokenBatch) -> Tensor:
        """Which columns count, 0 or 1, [text, 1, 1, to]."""
        keep = np.zeros((len(batch), 1, 1, batch.shape[1]), np.float32)
        for text, types in enumerate(batch.columns):
            keep[text, ..., : len(types)] = ~types.sep
        return batch.tensor(keep)

    def __call__(self, maps: LayerMaps, prepared: Tensor) -> Tensor:
        one, _ = maps.batch.scratch(maps.weights)
        largest = torch.mul(maps.weights, prepared, out=one).amax(-1)
        return maps.row_mean(largest.to(maps.batch.wide), "rest")


class Measurement:
    """Measures of the maps of one batch of texts.

    Args:
        measures: what to measure, each once.
        rows, columns, shape, device: see TokenBatch.

    Attributes:
        applies: bool [measure, text], whether the measure is defined for the text.
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        rows: Sequence[TokenTypes],
        columns: Sequence[TokenTypes] | None,
        shape: tuple[int, int],
        device: torch.device,
    ) -> None:
        self._batch = batch = TokenBatch(rows, columns, shape, device)
        self.applies = np.array(
            [
                [m.defined(r, c, batch.crossed) for r, c in zip(rows, batch.columns, strict=True)]
                for m in measures
            ]
        )
        self._undefined = ~batch.tensor(self.applies)[:, :, None]
        self._measures = [(measure, measure.prepare(batch)) for measure in measures]

    def __call__(self, weights: Tensor) -> Tensor:
        """Values [measure, text, head] of weights [text, head, from, to], float64 on the device.

        What does not apply is 0 here; see `applies`.
        """
        maps = LayerMaps(weights, self._batch)
        wide = self._batch.wide
        values = [measure(maps, prepared).to(wide) for measure, prepared in self._measures]
        return torch.stack(values).masked_fill(self._undefined, 0)

    def uniform(self, causal: bool) -> Tensor:
        """Values [measure, text] of attention spread evenly; `causal`: over tokens so far."""
        batch = self._batch
        maps = np.zeros((len(batch), 1, *batch.shape), np.float32)
        for text, (rows, columns) in enumerate(batch.lengths):
            even = np.ones((rows, columns))
            if causal:
                even = np.tril(even)
            maps[text, 0, :rows, :columns] = even / even.sum(-1, keepdims=True)
        return self(batch.tensor(maps))[:, :, 0]


def row_flags(types: TokenTypes, which: str) -> Flags:
    """bool [from]: which rows count; `which` is one of ROWS."""
    match which:
        case "all":
            return np.ones(len(types), bool)
        case "cls":
            return types.cls
        case "sep":
            return types.sep
        case "rest":
            return ~types.sep
    raise KeyError(which)


def _mean(flags: Flags) -> NDArray[np.float64]:
    """What to multiply values with so that their sum is the mean over the flagged ones."""
    return np.asarray(flags / max(1, int(flags.sum())))
