"""Word-level maps of every head over a treebank, extracted once: what probes learn from."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.corpus.stream import RunSummary
from bertlens.errors import AnnotationError
from bertlens.probes.classifiers.gold import Gold
from bertlens.probes.treebanks.encoded import (
    BATCH_SIZE,
    EncodedSentence,
    Long,
    SentenceOptions,
    stream_sentences,
)
from bertlens.probes.treebanks.pooling import WordPooling
from bertlens.probes.treebanks.treebank import Errors, Sentences, Treebank, as_treebank
from bertlens.text.batch import Batch
from bertlens.text.text_model import TextModel

START, END, FIRST_WORD = 0, 1, 2
"""Rows and columns of a map: the first special token, the last one, then the words."""

MAX_BYTES = 2**30
"""So many bytes of maps are kept in memory; more go to a temporary file."""


class PairMaps(Protocol):
    """Numbers for every pair of words of a sentence, and for its first and last special token."""

    @property
    def golds(self) -> Sequence[Gold]: ...

    @property
    def shape(self) -> tuple[int, int]:
        """What the numbers of a pair stand for, such as (layers, heads)."""
        ...

    @property
    def rootable(self) -> bool:
        """Whether there is a special token through which a root can be a candidate."""
        ...

    def __len__(self) -> int: ...

    def map(self, index: int) -> Tensor:
        """float32 [from, to, number], with START, END and then the words along both sides."""
        ...


class WordMaps:
    """Attention between words, of every layer and head, for each sentence of a treebank.

    Kept as float16: that moves an argmax in one decision of 2,000.

    Attributes:
        treebank: all sentences that were given.
        places: the place in it of each sentence that was run.
        golds: the words and heads of each of these.
        shape: (layers, heads).
        rootable: whether every sentence has a special token, through which a root can be found.
        coverage: what became of the other sentences.
    """

    def __init__(
        self,
        treebank: Treebank,
        lengths: Mapping[int, int],
        starts: Mapping[int, int],
        maps: NDArray[np.float16],
        shape: tuple[int, int],
        *,
        rootable: bool,
        coverage: RunSummary,
    ) -> None:
        self.treebank = treebank
        self.places = tuple(sorted(starts))
        self.golds: Sequence[Gold] = [
            Gold.of(treebank[place], lengths[place]) for place in self.places
        ]
        self.shape = shape
        self.rootable = rootable
        self.coverage = coverage
        self._starts = [starts[place] for place in self.places]
        self._maps = maps

    @property
    def on_disk(self) -> bool:
        """Whether the maps lie in a temporary file."""
        return isinstance(self._maps, np.memmap)

    def map(self, index: int) -> Tensor:
        n_words = len(self.golds[index])
        start = self._starts[index]
        flat = self._maps[start : start + _size(n_words, self.shape)]
        side = n_words + FIRST_WORD
        return torch.from_numpy(flat.astype(np.float32)).view(side, side, -1)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        where = "on disk" if self.on_disk else "in memory"
        size = self._maps.nbytes / 1e6
        return f"<WordMaps of {len(self)} sentences of {self.treebank.name}: {size:.0f} MB {where}>"


def word_maps(
    lens: TextModel,
    treebank: Sentences,
    *,
    memory: int = MAX_BYTES,
    long: Long = "skip",
    errors: Errors = "raise",
    batch_size: int | None = BATCH_SIZE,
    progress: bool = True,
) -> WordMaps:
    """Run a treebank through the model and keep word-level attention of every head.

    Args:
        memory: bytes to keep in memory; larger maps go to a temporary file, deleted with them.
        long: what becomes of sentences that the model cannot take: "skip" them, "cut" their last
            words (words whose heads are cut off are not scored) or raise an "error".
        errors: "skip" leaves out sentences with a word that gives no token.
        batch_size: the most sentences at once; None is as in `Lens.scan`.
        progress: show a progress bar.

    Raises:
        AnnotationError: no sentence can be run, or a word gives no token.
    """
    treebank = as_treebank(treebank)
    collected = _Collected(treebank, memory)
    options = SentenceOptions(long, errors, batch_size, progress)
    coverage = stream_sentences(lens, treebank, collected, options)
    return collected.maps(coverage)


def _size(n_words: int, shape: tuple[int, int]) -> int:
    return (n_words + FIRST_WORD) ** 2 * shape[0] * shape[1]


class _Collected:
    """Writes each batch's maps to their place as it comes."""

    def __init__(self, treebank: Treebank, memory: int) -> None:
        self._treebank = treebank
        self._memory = memory
        self._pooling: tuple[Batch, WordPooling] | None = None
        self._layers: list[Tensor] = []
        self._store: NDArray[np.float16] | None = None
        self._starts: dict[int, int] = {}
        self._lengths: dict[int, int] = {}
        self._at = 0
        self._shape = (0, 0)
        self._rootable = True

    def visit(self, layer: int, weights: Tensor, batch: Batch) -> None:
        if self._pooling is None or self._pooling[0] is not batch:
            pooling = WordPooling.of(batch.encodings, weights.device, delimiters=True)
            self._pooling = (batch, pooling)
            self._layers = []
        self._layers.append(self._pooling[1](weights.float()).half())

    def commit(self, batch: Batch) -> None:
        assert self._pooling is not None
        # [batch, from, to, layer, head]
        found = torch.stack(self._layers, 1).permute(0, 3, 4, 1, 2).cpu().numpy()
        self._shape = (found.shape[3], found.shape[4])
        self._rootable &= bool(self._pooling[1].mask[:, START].all())
        if self._store is None:
            self._store = self._room()
        items: tuple[EncodedSentence, ...] = batch.items
        for b, item in enumerate(items):
            side = item.n_words + FIRST_WORD
            flat = found[b, :side, :side].ravel()
            self._store[self._at : self._at + len(flat)] = flat
            self._starts[item.index] = self._at
            self._lengths[item.index] = item.n_words
            self._at += len(flat)

    def _room(self) -> NDArray[np.float16]:
        size = sum(_size(len(sentence), self._shape) for sentence in self._treebank)
        if 2 * size <= self._memory:
            return np.empty(size, np.float16)
        file = tempfile.TemporaryFile(prefix="bertlens-maps-")  # noqa: SIM115  # lives with the map
        return np.memmap(file, np.float16, "w+", shape=(size,))

    def maps(self, coverage: RunSummary) -> WordMaps:
        if self._store is None:
            raise AnnotationError(f"{self._treebank.name}: no sentence could be run ({coverage}).")
        return WordMaps(
            self._treebank,
            self._lengths,
            self._starts,
            self._store[: self._at],
            self._shape,
            rootable=self._rootable,
            coverage=coverage,
        )
