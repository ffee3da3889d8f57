"""Which word each head picks as a word's syntactic head: single heads as classifiers (4.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.corpus.stream import RunSummary
from bertlens.errors import AnnotationError
from bertlens.probes.treebanks.encoded import EncodedSentence, SentenceOptions, stream_sentences
from bertlens.probes.treebanks.pooling import WordPooling
from bertlens.probes.treebanks.treebank import Sentences, Treebank, as_treebank
from bertlens.text.batch import Batch
from bertlens.text.text_model import TextModel

Direction: TypeAlias = Literal["dependent->head", "head->dependent"]
DIRECTIONS: tuple[Direction, Direction] = ("dependent->head", "head->dependent")

NOT_RUN = -1
"""Guessed by every head for the words of sentences that were left out."""


@dataclass(frozen=True)
class Guesses:
    """What every head guesses as the syntactic head of every word of a treebank.

    Attributes:
        treebank: the sentences.
        picked: int16 [direction, word, layer, head]: the number of the word picked, from 1, or
            NOT_RUN. Words are counted through all sentences; directions stand as in DIRECTIONS.
        self_attention: whether a word could be picked as its own head.
        coverage: which sentences were cut or left out.
        model_name: of the model whose heads these are.
    """

    treebank: Treebank
    picked: NDArray[np.int16]
    self_attention: bool
    coverage: RunSummary = field(default_factory=RunSummary)
    model_name: str = ""

    @property
    def n_layers(self) -> int:
        return int(self.picked.shape[2])

    @property
    def n_heads(self) -> int:
        return int(self.picked.shape[3])

    def starts(self) -> NDArray[np.int64]:
        """Where each sentence's words begin among all words; one more entry than sentences."""
        return word_starts(self.treebank)


def word_starts(treebank: Treebank) -> NDArray[np.int64]:
    """Where each sentence's words begin among all words; one more entry than sentences."""
    return np.cumsum([0, *(len(sentence) for sentence in treebank)])


def nothing_picked(starts: NDArray[np.int64], n_layers: int, n_heads: int) -> NDArray[np.int16]:
    """NOT_RUN for every word and head, [direction, word, layer, head]."""
    return np.full((2, int(starts[-1]), n_layers, n_heads), NOT_RUN, np.int16)


def pick(words: Tensor, mask: Tensor, *, self_attention: bool = False) -> tuple[Tensor, Tensor]:
    """The word that each word's syntactic head is guessed to be, in both directions.

    Args:
        words: weights [batch, heads, from, to] between words.
        mask: bool [batch, words], true where there is a word.
        self_attention: let a word pick itself; else its weight to itself is put to 0.

    Returns:
        Two integer tensors [batch, heads, words]: the word that the dependent attends to most, and
        the word that attends to the dependent most. Of equals the first is picked.
    """
    words = words.clone()
    if not self_attention:
        words.diagonal(dim1=-2, dim2=-1).fill_(0)
    # Weights are never negative: what is padding loses to any word.
    words.masked_fill_(~mask[:, None, None, :], -1)
    words.masked_fill_(~mask[:, None, :, None], -1)
    return words.argmax(-1), words.argmax(-2)


def guess(
    lens: TextModel,
    treebank: Sentences,
    options: SentenceOptions | None = None,
    *,
    self_attention: bool = False,
) -> Guesses:
    """Run a treebank through the model and note what every head guesses; see `relations`.

    Memory: one layer of one batch, and 4 bytes a word and head.
    """
    treebank = as_treebank(treebank)
    options = options or SentenceOptions()
    if options.engine == "ray":
        from bertlens.probes.relations.ray import guess_by_ray

        return guess_by_ray(lens, treebank, options, self_attention=self_attention)
    collected = _Collected(treebank, self_attention)
    coverage = stream_sentences(lens, treebank, collected, options)
    return Guesses(treebank, collected.picked(), self_attention, coverage, lens.name)


def checked_guesses(guesses: Guesses) -> Guesses:
    """The guesses, if there are any.

    Raises:
        AnnotationError: every sentence was left out.
    """
    if not guesses.coverage.counted:
        name = guesses.treebank.name
        raise AnnotationError(f"{name}: no sentence could be run ({guesses.coverage}).")
    return guesses


class _Collected:
    """Gathers guesses a layer at a time; a batch that was interrupted leaves no trace."""

    def __init__(self, treebank: Treebank, self_attention: bool) -> None:
        self._starts = word_starts(treebank)
        self._self_attention = self_attention
        self._pooling: tuple[Batch, WordPooling] | None = None
        self._layers: list[Tensor] = []
        self._picked: NDArray[np.int16] | None = None

    def visit(self, layer: int, weights: Tensor, batch: Batch) -> None:
        if self._pooling is None or self._pooling[0] is not batch:
            self._pooling = (batch, WordPooling.of(batch.encodings, weights.device))
            self._layers = []
        pooling = self._pooling[1]
        both = pick(pooling(weights), pooling.mask, self_attention=self._self_attention)
        self._layers.append(torch.stack(both).to(torch.int16))

    def commit(self, batch: Batch) -> None:
        # [direction, batch, words, layer, head]
        found = torch.stack(self._layers, -1).permute(0, 1, 3, 4, 2).cpu().numpy() + np.int16(1)
        if self._picked is None:
            self._picked = nothing_picked(self._starts, *found.shape[3:])
        items: tuple[EncodedSentence, ...] = batch.items
        for b, item in enumerate(items):
            start = self._starts[item.index]
            self._picked[:, start : start + item.n_words] = found[:, b, : item.n_words]

    def picked(self) -> NDArray[np.int16]:
        if self._picked is None:
            return nothing_picked(self._starts, 1, 1)
        return self._picked
