"""Single heads as antecedent selectors (paper section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.corpus import stream
from bertlens.corpus.stream import RunSummary
from bertlens.errors import AnnotationError
from bertlens.probes.coreference.antecedents import (
    CANDIDATES,
    Anaphor,
    Candidates,
    anaphors,
    candidate_words,
)
from bertlens.probes.coreference.documents import Document, as_documents
from bertlens.probes.coreference.segments import most_tokens, segments, special_tokens, word_lengths
from bertlens.probes.coreference.table import CoreferenceTable
from bertlens.probes.treebanks.encoded import encode_words
from bertlens.probes.treebanks.pooling import word_tokens
from bertlens.probes.treebanks.treebank import Errors, checked_errors
from bertlens.text.batch import Batch
from bertlens.text.encoding import Encoding
from bertlens.text.text_model import TextModel

Look: TypeAlias = Literal["anaphor->antecedent", "antecedent->anaphor"]


def coreference(
    lens: TextModel,
    documents: Sequence[Document],
    *,
    candidates: Candidates = "mentions_before",
    direction: Look = "anaphor->antecedent",
    singletons: bool = True,
    max_tokens: int | None = None,
    errors: Errors = "raise",
    batch_size: int | None = None,
    progress: bool = True,
) -> CoreferenceTable:
    """How often each head, taken alone, looks from a mention to an antecedent.

    Scored are mentions with an earlier mention of their cluster in the same segment. A head chooses
    the candidate that the mention's head word attends to most; it is right if that is the head word
    of any such earlier mention.

    Args:
        candidates: "mentions_before" (head words of the mentions before), "mentions_any" (of those
            after, too), "words_before" or "words_any".
        direction: look instead at the attention that the mention's head word receives.
        singletons: mentions that are alone in their cluster are candidates, too.
        max_tokens: a segment's tokens, special ones not counted: 510, or what the model takes;
            128 in the paper. Segments are runs of whole sentences; a longer sentence is cut.
        errors: "skip" leaves out documents with a word that gives no token, or more than a segment
            holds.
        batch_size, progress: as in `Lens.scan`.

    Raises:
        TypeError: not documents.
        AnnotationError: no document, no mention with an antecedent, or a word without tokens.
        ValueError: another value of an option.
    """
    checked_errors(errors)
    if candidates not in CANDIDATES:
        raise ValueError(f"candidates must be one of {CANDIDATES}, not {candidates!r}.")
    if direction not in ("anaphor->antecedent", "antecedent->anaphor"):
        raise ValueError(
            f'direction must be "anaphor->antecedent" or "antecedent->anaphor", not {direction!r}.'
        )
    given = as_documents(documents)
    if not singletons:
        given = tuple(document.without_singletons() for document in given)
    most = most_tokens(lens, max_tokens, special_tokens(lens))
    coverage = RunSummary()
    found = _Selections(candidates, outward=direction == "anaphor->antecedent")
    stream.stream(
        lens,
        _segments(lens, given, most, coverage, errors),
        found.visit,
        commit=found.commit,
        text_of=lambda segment: segment.encoding,
        batch_size=batch_size,
        progress=progress,
        summary=coverage,
    )
    scored, right = found.results()
    if not scored:
        raise AnnotationError("No mention has an earlier one of its cluster in the same segment.")
    return CoreferenceTable(
        scored,
        right,
        candidates=candidates,
        direction=direction,
        coverage=coverage,
        model_name=lens.name,
    )


@dataclass(frozen=True)
class _Segment:
    encoding: Encoding
    anaphors: list[Anaphor]


def _segments(
    lens: TextModel, documents: Sequence[Document], most: int, coverage: RunSummary, errors: Errors
) -> Iterator[_Segment]:
    for index, document in enumerate(documents):
        reason = "a word without tokens"
        try:
            lengths = word_lengths(lens, document)
            reason = "a word longer than a segment"
            spans = segments(document.sentences, lengths, most, document.name)
        except AnnotationError:
            if errors == "raise":
                raise
            coverage.skip_unseen(reason, index)
            continue
        for start, end in spans:
            encoding = encode_words(lens, document.words[start:end], document.name)
            yield _Segment(encoding, anaphors(document, (start, end)))


class _Selections:
    """Gathers, a layer at a time, which anaphors each head is right about."""

    def __init__(self, candidates: Candidates, *, outward: bool) -> None:
        self._candidates = candidates
        self._outward = outward
        self._layers: dict[int, list[NDArray[np.bool_]]] = {}
        self._scored: list[Anaphor] = []
        self._right: list[NDArray[np.bool_]] = []

    def visit(self, layer: int, weights: Tensor, batch: Batch) -> None:
        if layer == 0:
            self._layers = {}
        items: tuple[_Segment, ...] = batch.items
        self._layers[layer] = [
            self._choose(weights[b, :, :n, :n], item)
            for b, (item, n) in enumerate(zip(items, batch.lengths, strict=True))
            if item.anaphors
        ]

    def commit(self, batch: Batch) -> None:
        for item in batch.items:
            self._scored += item.anaphors
        layers = [self._layers[layer] for layer in sorted(self._layers)]
        # Each segment: [layer, head, anaphor] -> [anaphor, layer, head]
        self._right += [np.stack(parts).transpose(2, 0, 1) for parts in zip(*layers, strict=True)]

    def results(self) -> tuple[list[Anaphor], NDArray[np.bool_]]:
        """The anaphors, and bool [anaphor, layer, head]: whether each head is right."""
        nothing = np.zeros((0, 1, 1), bool)
        return self._scored, np.concatenate(self._right) if self._right else nothing

    def _choose(self, weights: Tensor, segment: _Segment) -> NDArray[np.bool_]:
        """bool [head, anaphor] of a segment's weights [head, from, to]."""
        groups = word_tokens(segment.encoding)
        first = segment.anaphors[0].segment[0]
        scored = segment.anaphors
        heads = [groups[anaphor.head - first] for anaphor in scored]
        belongs = _belongs(groups, weights)
        own = _belongs(heads, weights)
        # Only the anaphors' own rows, or columns, are pooled: most words are none.
        if self._outward:
            words = own @ weights @ belongs.T  # sum over the word's tokens, [head, anaphor, word]
        else:
            means = belongs / belongs.sum(1, keepdim=True)
            words = ((means @ weights) @ own.T).transpose(1, 2)
        allowed = torch.zeros(len(scored), len(groups), dtype=torch.bool, device=weights.device)
        right = torch.zeros_like(allowed)
        for i, anaphor in enumerate(scored):
            allowed[i, [word - first for word in candidate_words(anaphor, self._candidates)]] = True
            right[i, [word - first for word in anaphor.antecedents]] = True
        choice = words.masked_fill(~allowed, -1).argmax(-1)
        rows = torch.arange(len(scored), device=weights.device)
        return right[rows, choice].cpu().numpy()


def _belongs(groups: Sequence[tuple[int, ...]], weights: Tensor) -> Tensor:
    """[word, token], 1 where a token belongs to a word."""
    belongs = weights.new_zeros(len(groups), weights.shape[-1])
    rows = [row for row, tokens in enumerate(groups) for _ in tokens]
    belongs[rows, [token for tokens in groups for token in tokens]] = 1
    return belongs
