"""Surface patterns measured on batches of maps, in torch on the device where the maps are.

The definitions are those of `scores.patterns`; here everything that depends only on the tokens is
laid out once for a batch, and each layer's weights are then passed over a few times, whole batch at
once: sums over columns are one product with indicators, neighbours are views of diagonals, and
entropies are made in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.scores.patterns import SMOOTHING
from bertlens.text.token_types import Flags, TokenTypes


@dataclass(frozen=True)
class Offset:
    """`patterns.offset`: weight on the token so many steps ahead."""

    steps: int


@dataclass(frozen=True)
class Share:
    """`patterns.attention_to`: weight from rows of a kind to columns of a kind.

    Attributes:
        columns: "cls", "sep", "special", "punctuation" or "first"; or a set of tokens.
        rows: "all", "sep", or "rest" for all but separators.
    """

    columns: str | frozenset[str]
    rows: str = "all"


@dataclass(frozen=True)
class Among:
    """`patterns.attention_among`: weight on related tokens.

    Attributes:
        relation: "same text", "same text, other segment" or "same word".
    """

    relation: str


@dataclass(frozen=True)
class Entropy:
    """Mean of `patterns.entropy` over rows of a kind: "all" or "cls"."""

    rows: str = "all"


@dataclass(frozen=True)
class Distance:
    """`patterns.distance`."""


@dataclass(frozen=True)
class Confidence:
    """`patterns.confidence`, without separators."""


Measure: TypeAlias = Offset | Share | Among | Entropy | Distance | Confidence


class Measurement:
    """Measures of the maps of one batch of texts.

    Args:
        measures: what to measure, each once.
        rows: the kinds of the tokens that attend, for each text.
        columns: of those attended to; the same texts, except in cross-attention.
        shape: (from, to) of the padded maps; tokens are at the beginning.
        device: where the maps are.

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
        self._measures = tuple(measures)
        self._rows = rows
        self._columns = rows if columns is None else columns
        self._crossed = columns is not None
        self._shape = shape
        self._device = device
        # MPS has no float64.
        self._wide = torch.float32 if device.type == "mps" else torch.float64
        self._scratch: tuple[Tensor, Tensor] | None = None
        lengths = [(len(r), len(c)) for r, c in zip(rows, self._columns, strict=True)]
        self._lengths = lengths
        self.applies = np.array([[self._defined(m, t) for t in self._texts] for m in measures])
        self._lay_out_shares()
        self._lay_out_relations()
        self._lay_out_rows()

    def __call__(self, weights: Tensor) -> Tensor:
        """Values [measure, text, head] of weights [text, head, from, to], float64 on the device.

        What does not apply is 0 here; see `applies`.
        """
        if weights.dtype not in (torch.float32, torch.float64):
            weights = weights.float()
        if any(length != self._shape for length in self._lengths):
            # Rows of padding hold whatever the model makes of them, be it NaN.
            weights = weights.clone()
            for text, (n, m) in enumerate(self._lengths):
                weights[text, :, n:] = 0
                weights[text, :, :, m:] = 0
        made: dict[Measure, Tensor] = {}
        made.update(self._offsets(weights))
        made.update(self._shares(weights))
        made.update(self._relations(weights))
        made.update(self._row_statistics(weights))
        values = torch.stack([made[measure].to(self._wide) for measure in self._measures])
        return values.masked_fill(~self._tensor(self.applies)[:, :, None], 0)

    def uniform(self, causal: bool) -> Tensor:
        """Values [measure, text] of attention spread evenly; `causal`: over tokens so far."""
        n, m = self._shape
        maps = np.zeros((len(self._rows), 1, n, m), np.float32)
        for text, (rows, columns) in enumerate(self._lengths):
            even = np.ones((rows, columns))
            if causal:
                even = np.tril(even)
            maps[text, 0, :rows, :columns] = even / even.sum(-1, keepdims=True)
        return self(self._tensor(maps))[:, :, 0]

    @property
    def _texts(self) -> range:
        return range(len(self._rows))

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _buffers(self, like: Tensor) -> tuple[Tensor, Tensor]:
        if self._scratch is None or self._scratch[0].shape != like.shape:
            self._scratch = torch.empty_like(like), torch.empty_like(like)
        return self._scratch

    def _defined(self, measure: Measure, text: int) -> bool:
        rows, columns = self._rows[text], self._columns[text]
        match measure:
            case Offset(steps):
                return not self._crossed and abs(steps) < len(rows)
            case Share():
                to = _column_flags(columns, measure.columns)
                return bool(to.any() and _row_flags(rows, measure.rows).any())
            case Among(relation):
                return not self._crossed and bool(_related(rows, relation).any())
            case Entropy():
                return bool(_row_flags(rows, measure.rows).any())
            case Distance():
                return not self._crossed
            case Confidence():
                return bool((~rows.sep).any() and (~columns.sep).any())

    # Neighbours: views of diagonals.

    def _offsets(self, weights: Tensor) -> dict[Measure, Tensor]:
        made: dict[Measure, Tensor] = {}
        wanted = [m for m in self._measures if isinstance(m, Offset)]
        if not wanted:
            return made
        lengths = torch.tensor([n for n, _ in self._lengths], dtype=self._wide).to(self._device)
        for measure in wanted:
            if self._crossed or abs(measure.steps) >= min(self._shape):
                made[measure] = weights.new_zeros(weights.shape[:2])
                continue
            # Padding is 0 already, so the whole diagonal can be summed.
            diagonal = weights.diagonal(measure.steps, -2, -1)
            made[measure] = diagonal.to(self._wide).sum(-1) / lengths[:, None]
        return made

    # Shares: (rows' means) x weights x (columns' indicators).

    def _lay_out_shares(self) -> None:
        shares = [m for m in self._measures if isinstance(m, Share)]
        self._row_kinds = list(dict.fromkeys(m.rows for m in shares))
        self._column_kinds = list(dict.fromkeys(m.columns for m in shares))
        n, m = self._shape
        means = np.zeros((len(self._rows), len(self._row_kinds), n), np.float32)
        indicators = np.zeros((len(self._rows), m, len(self._column_kinds)), np.float32)
        for text in self._texts:
            for i, kind in enumerate(self._row_kinds):
                means[text, i, : len(self._rows[text])] = _mean(_row_flags(self._rows[text], kind))
            for i, to in enumerate(self._column_kinds):
                columns = self._columns[text]
                indicators[text, : len(columns), i] = _column_flags(columns, to)
        self._means, self._indicators = self._tensor(means), self._tensor(indicators)

    def _shares(self, weights: Tensor) -> dict[Measure, Tensor]:
        made: dict[Measure, Tensor] = {}
        if not self._row_kinds:
            return made
        received = self._means.to(weights.dtype)[:, None] @ weights  # [text, head, row kind, to]
        values = received.to(self._wide) @ self._indicators.to(self._wide)[:, None]
        for measure in self._measures:
            if isinstance(measure, Share):
                row = self._row_kinds.index(measure.rows)
                made[measure] = values[:, :, row, self._column_kinds.index(measure.columns)]
        return made

    # Relations: one product with a template [from, to] for each text and relation.

    def _lay_out_relations(self) -> None:
        self._among = [m for m in self._measures if isinstance(m, Among)]
        n, m = self._shape
        templates = np.zeros((len(self._rows), n, m, len(self._among)), np.float32)
        if not self._crossed:
            for text, kinds in enumerate(self._rows):
                for i, measure in enumerate(self._among):
                    related = _related(kinds, measure.relation)
                    mean = _mean(np.asarray(related.any(-1)))[:, None]
                    templates[text, : len(kinds), : len(kinds), i] = related * mean
        self._templates = self._tensor(templates).flatten(1, 2)

    def _relations(self, weights: Tensor) -> dict[Measure, Tensor]:
        if not self._among:
            return {}
        values = torch.bmm(weights.flatten(2), self._templates.to(weights.dtype))
        return {measure: values[:, :, i] for i, measure in enumerate(self._among)}

    # Row statistics: entropy, distance, confidence.

    def _lay_out_rows(self) -> None:
        n, m = self._shape
        texts = len(self._rows)
        every, first, free = (np.zeros((texts, n)) for _ in range(3))
        # Smoothing makes padding exactly 1 there, whose p log p is 0.
        smooth = np.ones((texts, 1, 1, m), np.float32)
        keep = np.zeros((texts, 1, 1, m), np.float32)
        for text, (rows, columns) in enumerate(zip(self._rows, self._columns, strict=True)):
            every[text, : len(rows)] = _mean(_row_flags(rows, "all"))
            first[text, : len(rows)] = _mean(_row_flags(rows, "cls"))
            free[text, : len(rows)] = _mean(_row_flags(rows, "rest"))
            smooth[text, 0, 0, : len(columns)] = SMOOTHING / len(columns)
            keep[text, 0, 0, : len(columns)] = ~columns.sep
        wide = self._wide
        self._every, self._first, self._free = (
            self._tensor(means).to(wide)[:, :, None] for means in (every, first, free)
        )
        self._smooth, self._keep = self._tensor(smooth), self._tensor(keep)
        apart = abs(np.arange(n)[:, None] - np.arange(m)).astype(np.float32)
        self._apart = self._tensor(apart)

    def _row_statistics(self, weights: Tensor) -> dict[Measure, Tensor]:
        made: dict[Measure, Tensor] = {}
        wanted = set(self._measures)
        if not wanted & {Entropy("all"), Entropy("cls"), Distance(), Confidence()}:
            return made
        one, other = self._buffers(weights)
        if Distance() in wanted:
            spanned = torch.mul(weights, self._apart, out=one).sum(-1).to(self._wide).sum(-1)
            made[Distance()] = spanned / weights.sum(-1).to(self._wide).sum(-1)
        if Confidence() in wanted:
            largest = torch.mul(weights, self._keep, out=one).amax(-1).to(self._wide)
            made[Confidence()] = (largest @ self._free)[..., 0]
        if wanted & {Entropy("all"), Entropy("cls")}:
            torch.add(self._smooth, weights, alpha=1 - SMOOTHING, out=one)
            entropies = -torch.log(one, out=other).mul_(one).sum(-1).to(self._wide)
            made[Entropy("all")] = (entropies @ self._every)[..., 0]
            made[Entropy("cls")] = (entropies @ self._first)[..., 0]
        return made


def _row_flags(kinds: TokenTypes, which: str) -> Flags:
    match which:
        case "all":
            return np.ones(len(kinds), bool)
        case "cls":
            return kinds.cls
        case "sep":
            return kinds.sep
        case "rest":
            return ~kinds.sep
    raise KeyError(which)


def _column_flags(kinds: TokenTypes, which: str | frozenset[str]) -> Flags:
    if isinstance(which, frozenset):
        return kinds.named(which)
    if which == "first":
        return np.asarray(np.arange(len(kinds)) == 0)
    flags: Flags = getattr(kinds, which)
    return flags


def _related(kinds: TokenTypes, relation: str) -> Flags:
    match relation:
        case "same text":
            return kinds.same_text()
        case "same text, other segment":
            return kinds.same_text() & kinds.other_segment()
        case "same word":
            return kinds.same_word()
    raise KeyError(relation)


def _mean(flags: Flags) -> NDArray[np.float64]:
    """What to multiply values with so that their sum is the mean over the flagged ones."""
    return np.asarray(flags / max(1, int(flags.sum())))
