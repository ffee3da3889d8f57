"""Mergeable sufficient statistics (n, sum, sum of squares) per score and head."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.scores import patterns
from bertlens.scores.batched import Measurement
from bertlens.scores.catalogue import BEHAVIOUR, BEHAVIOUR_INPUTS, Pattern
from bertlens.scores.head_scores import HeadScores, Notable
from bertlens.text.token_types import TokenTypes, token_types_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from bertlens.text.encoding import Encoding

Numbers = NDArray[np.float64]


class EncodedTexts(Protocol):
    """Texts that went through the model together."""

    @property
    def encodings(self) -> Sequence[Encoding]: ...


class ScoreInfo(Protocol):
    """What a score is called and means; see HeadScores."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def notable(self) -> Notable: ...


@dataclass(frozen=True, eq=False)
class RunningStats:
    """Sums over texts of some patterns; their size does not grow with the number of texts.

    Attributes:
        patterns: what is measured.
        layers: for each layer, float64 [2, pattern, head]: sums of the texts' values, and of
            their squares.
        texts: float64 [2, pattern]: how many texts the pattern applies to, and the sum of the
            values of even attention on these, NaN where there is no such thing.
    """

    patterns: tuple[ScoreInfo, ...]
    layers: tuple[Numbers, ...] = ()
    texts: Numbers | None = None

    def merged(self, other: RunningStats) -> RunningStats:
        """Both together; neither is changed.

        Raises:
            ValueError: they count different patterns, or heads of models of different shapes.
        """
        if self.patterns != other.patterns:
            raise ValueError("Only statistics of the same patterns can be merged.")
        if other.texts is None:
            return self
        if self.texts is None:
            return other
        if [part.shape for part in self.layers] != [part.shape for part in other.layers]:
            raise ValueError(
                "Only statistics of models with the same layers and heads can be merged."
            )
        layers = tuple(a + b for a, b in zip(self.layers, other.layers, strict=True))
        return RunningStats(self.patterns, layers, self.texts + other.texts)

    def scores(self) -> dict[str, HeadScores]:
        """The mean over texts of every pattern, with a 95% interval (Student's t over texts)."""
        if self.texts is None:
            return {}
        heads = max(part.shape[-1] for part in self.layers)
        sums = np.full((2, len(self.patterns), len(self.layers), heads), np.nan)
        for layer, part in enumerate(self.layers):
            sums[:, :, layer, : part.shape[-1]] = part
        made = {}
        for i, pattern in enumerate(self.patterns):
            count, even = self.texts[:, i]
            shape = sums.shape[2:]
            mean = sums[0, i] / count if count else np.full(shape, np.nan)
            low = high = None
            if count > 1:
                variance = np.maximum(sums[1, i] - count * mean**2, 0) / (count - 1)
                half = student(int(count) - 1) * np.sqrt(variance / count)
                low, high = mean - half, mean + half
            made[pattern.name] = HeadScores(
                pattern.name,
                mean,
                unit=pattern.unit,
                description=pattern.description,
                notable=pattern.notable,
                support=np.full(shape, count),
                low=low,
                high=high,
                baseline=even / count if count and not np.isnan(even) else None,
            )
        if all(name in made for name in BEHAVIOUR_INPUTS):
            made[BEHAVIOUR] = behaviour({name: made[name] for name in BEHAVIOUR_INPUTS})
        return made


def behaviour(scores: dict[str, HeadScores]) -> HeadScores:
    """Heads' behaviour (Clark et al. 2019, section 6); a value indexes `categories`."""
    labels = patterns.behaviours({name: score.values for name, score in scores.items()})
    numbers = np.zeros(labels.shape)
    for number, label in enumerate(patterns.BEHAVIOURS):
        numbers[labels == label] = number
    undefined = np.isnan(scores["entropy"].values)
    return HeadScores(
        BEHAVIOUR,
        np.where(undefined, np.nan, numbers),
        description="What the head mostly does: broad above 3.8 nats of entropy, next or previous "
        "above 0.5, [CLS], [SEP] or punctuation above 0.6.",
        support=scores["entropy"].support,
        categories=patterns.BEHAVIOURS,
    )


class ScoreCollector:
    """Counts patterns batch by batch; `visit` and `commit` go to `corpus.stream`.

    A batch enters the statistics whole, in one assignment, so an interrupt leaves none half
    counted.

    Attributes:
        stats: of the batches so far.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase | None, selected: Collection[Pattern]
    ) -> None:
        self._tokenizer = tokenizer
        self.stats = RunningStats(tuple(selected))
        self._measures = list(dict.fromkeys(pattern.measure for pattern in selected))
        self._order = [self._measures.index(pattern.measure) for pattern in selected]
        self._measurement: Measurement | None = None
        self._even: Tensor | None = None
        self._values: list[Tensor] = []

    def visit(self, layer: int, weights: Tensor, batch: EncodedTexts) -> None:
        """Measure a layer's weights [text, head, from, to]."""
        if layer == 0 or self._measurement is None:
            self._values = []
            types = [
                token_types_of(encoding.tokens, self._tokenizer) for encoding in batch.encodings
            ]
            self._start(types, None, weights)
        assert self._measurement is not None
        self._values.append(self._measurement(weights))

    def commit(self, batch: EncodedTexts) -> None:
        """Add the batch that was visited."""
        self.stats = self.stats.merged(self._counted())

    def _start(
        self, rows: list[TokenTypes], columns: list[TokenTypes] | None, weights: Tensor
    ) -> None:
        shape = (int(weights.shape[-2]), int(weights.shape[-1]))
        self._measurement = Measurement(self._measures, rows, columns, shape, weights.device)
        n = min(len(rows[0]), shape[1])
        causal = columns is None and is_causal(weights[0, :, :n, :n])
        self._even = self._measurement.uniform(causal)

    def _counted(self) -> RunningStats:
        measurement, even = self._measurement, self._even
        assert measurement is not None
        assert even is not None
        order = self._order
        layers = []
        for values in self._values:
            counted = values.cpu().double().numpy()[order]
            layers.append(np.stack([counted.sum(1), (counted**2).sum(1)]))
        applies = measurement.applies[order].sum(1)
        texts = np.stack([applies, even.cpu().double().numpy()[order].sum(1)])
        self._measurement = self._even = None
        self._values = []
        return RunningStats(self.stats.patterns, tuple(layers), texts)

    def count(
        self, rows: TokenTypes, columns: TokenTypes | None, layers: Iterable[NDArray[np.float32]]
    ) -> None:
        """Count one text whose maps [head, from, to] are there already."""
        for i, layer in enumerate(layers):
            weights = torch.tensor(layer, device="cpu")[None]
            if i == 0:
                self._start([rows], None if columns is None else [columns], weights)
            assert self._measurement is not None
            self._values.append(self._measurement(weights))
        self.stats = self.stats.merged(self._counted())


def is_causal(maps: Tensor) -> bool:
    """Whether no token looks ahead, as far as the maps [head, n, n] of one text tell."""
    return maps.shape[-1] > 1 and not bool(maps.triu(1).any())


def student(freedom: int) -> float:
    """Student's t that leaves 2.5% on either side."""
    from scipy.stats import t

    return float(t.ppf(0.975, freedom))
