"""All heads together: probes that learn to find heads from attention, BERT frozen (section 5)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bertlens.probes.classifiers import training
from bertlens.probes.classifiers.decoding import Decoding, greedy, tree
from bertlens.probes.classifiers.gold import Gold
from bertlens.probes.classifiers.training import Epoch
from bertlens.probes.classifiers.uas import Attachment, attachment
from bertlens.probes.classifiers.word_maps import (
    END,
    FIRST_WORD,
    START,
    PairMaps,
    WordMaps,
    word_maps,
)
from bertlens.scores.head_scores import HeadScores
from bertlens.text.text_model import TextModel

if TYPE_CHECKING:
    from bertlens.probes.treebanks.treebank import Sentences


class NotFittedError(ValueError, AttributeError):
    """The probe has learned nothing yet."""


class _Fitted(NamedTuple):
    weights: nn.ParameterDict
    shape: tuple[int, int]


class AttentionProbe:
    """A probe that weighs every head's attention to and from a candidate (section 5, eq. 1).

    The score of candidate i as head of word j is the sum over the model's heads k of
    w_k A^k_ij + u_k A^k_ji, where A^k_ij is attention from word i to word j; a softmax over
    candidates gives p(i|j). The root's attention is that of the first special token times s, plus
    that of the last times e. Learned are w, u, s and e.

    Args:
        root: the root is a candidate; else roots are neither learned from nor scored.
        epochs: passes over the treebank, at most.
        learning_rate: of Adam, one sentence a step.
        patience: with a development set, stop after so many epochs without a better UAS, and keep
            the best.
        shuffle: visit sentences in a random order, by `seed`; else in the treebank's.
        seed: of that order.
        decoding: "greedy" picks each word's best candidate, "tree" the best tree.

    Attributes:
        history: loss a word, and UAS on the development set, of each epoch.
    """

    kind: ClassVar[str] = "attention"

    def __init__(
        self,
        *,
        root: bool = True,
        epochs: int = 1,
        learning_rate: float = 0.002,
        patience: int = 2,
        shuffle: bool = False,
        seed: int = 0,
        decoding: Decoding = "greedy",
    ) -> None:
        if decoding not in ("greedy", "tree"):
            raise ValueError(f'decoding must be "greedy" or "tree", not {decoding!r}.')
        if epochs < 1 or patience < 1:
            raise ValueError(f"epochs and patience must be 1 or more: {epochs}, {patience}.")
        self.root = root
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.patience = patience
        self.shuffle = shuffle
        self.seed = seed
        self.decoding: Decoding = decoding
        self.history: list[Epoch] = []
        self._fitted: _Fitted | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments, as scikit-learn asks for them."""
        names = "root epochs learning_rate patience shuffle seed decoding".split()
        return {name: getattr(self, name) for name in names}

    def fit(
        self,
        lens: TextModel | PairMaps,
        treebank: Sentences | None = None,
        *,
        dev: Sentences | PairMaps | None = None,
        progress: bool = True,
    ) -> AttentionProbe:
        """Learn from a treebank; returns the probe itself.

        Args:
            lens, treebank: a model and sentences; or instead of both the maps that
                `bl.probes.word_maps(lens, treebank)` extracted once.
            dev: sentences (or maps) for stopping early.
            progress: show a progress bar.

        Raises:
            ValueError: the root is to be a candidate and the tokenizer adds no special token.
            AnnotationError: no sentence can be run.
        """
        maps = self._maps(lens, treebank, progress)
        dev_maps = None if dev is None else self._maps(lens, dev, progress)
        return self.fit_golds(maps, maps.golds, dev=dev_maps, progress=progress)

    def fit_golds(
        self,
        maps: PairMaps,
        golds: Sequence[Gold],
        *,
        dev: PairMaps | None = None,
        progress: bool = True,
    ) -> AttentionProbe:
        """Learn other heads than the treebank's, such as those of a control task."""
        if self.root and not maps.rootable:
            raise ValueError(
                "This tokenizer adds no special token to stand for the root; pass root=False."
            )
        self._fitted = _Fitted(self._initial(maps.shape), maps.shape)
        self.history = training.train(
            self, self._fitted.weights, maps, golds, dev=dev, progress=progress
        )
        return self

    def predict(
        self,
        lens: TextModel | PairMaps,
        treebank: Sentences | None = None,
        *,
        progress: bool = False,
    ) -> list[NDArray[np.int64] | None]:
        """The head of every word of every sentence: numbers from 1, 0 for the root.

        A sentence that the model cannot take has None.

        Raises:
            NotFittedError: `fit` was not called.
            ValueError: the model has another shape than the one it was fitted on.
        """
        maps = self._maps(lens, treebank, progress)
        found = [self.predict_map(maps, i) for i in range(len(maps))]
        if not isinstance(maps, WordMaps):
            return list(found)
        heads: list[NDArray[np.int64] | None] = [None] * len(maps.treebank)
        for place, one in zip(maps.places, found, strict=True):
            heads[place] = one
        return heads

    def predict_map(self, maps: PairMaps, index: int) -> NDArray[np.int64]:
        """The heads of one sentence of extracted maps."""
        with torch.no_grad():
            scores = self.pair_scores(maps.map(index), maps.golds[index].words).numpy()
        return greedy(scores) if self.decoding == "greedy" else tree(scores)

    def evaluate(
        self,
        lens: TextModel | PairMaps,
        treebank: Sentences | None = None,
        *,
        progress: bool = False,
    ) -> Attachment:
        """UAS without punctuation and with it, with support and intervals."""
        maps = self._maps(lens, treebank, progress)
        return self.evaluate_golds(maps, maps.golds)

    def evaluate_golds(self, maps: PairMaps, golds: Sequence[Gold]) -> Attachment:
        """The same against other heads than the treebank's."""
        found = [self.predict_map(maps, i) for i in range(len(maps))]
        return attachment(golds, found, roots=self.root)

    def score(
        self,
        lens: TextModel | PairMaps,
        treebank: Sentences | None = None,
        *,
        punctuation: bool = False,
        progress: bool = False,
    ) -> float:
        """UAS, a share from 0 to 1: how many words are given their right head.

        Args:
            punctuation: count punctuation, too. Roots count where the root is a candidate.
        """
        found = self.evaluate(lens, treebank, progress=progress)
        return found.uas_with_punctuation if punctuation else found.uas

    def head_weights(self) -> HeadScores:
        """How much the probe listens to each head: the length of all weights on its attention.

        Raises:
            NotFittedError: `fit` was not called.
        """
        fitted = self._known()
        with torch.no_grad():
            squares = sum(
                parameter.detach().square().reshape(-1, *fitted.shape).sum(0)
                for name, parameter in sorted(fitted.weights.items())
                if name not in ("start", "end")
            )
        assert isinstance(squares, Tensor)
        return HeadScores(
            f"{self.kind} probe",
            squares.sqrt().numpy().astype(np.float64),
            unit="log-odds per unit of attention",
            description="How much a probe that finds syntactic heads from all attention heads "
            "together listens to each: the length of its weights.",
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the probe to a file.

        Raises:
            NotFittedError: `fit` was not called.
        """
        fitted = self._known()
        torch.save(
            {
                "bertlens probe": self.kind,
                "arguments": AttentionProbe.get_params(self),
                "shape": list(fitted.shape),
                "weights": {name: p.detach() for name, p in fitted.weights.items()},
                "history": [list(epoch) for epoch in self.history],
                **self._extra_state(),
            },
            path,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> AttentionProbe:
        """Read a probe from a file that `save` wrote; nothing in it is executed.

        Raises:
            ValueError: the file is no probe of this kind.
            FileNotFoundError: no such file.
        """
        try:
            state = torch.load(path, weights_only=True)
            kind = state["bertlens probe"]
        except FileNotFoundError:
            raise
        except Exception as error:
            raise ValueError(f"{os.fspath(path)} is no probe that bertlens saved.") from error
        if kind != cls.kind:
            raise ValueError(
                f"{os.fspath(path)} is a probe of kind {kind!r}; load it with its own class."
            )
        probe = cls._from_state(state)
        shape = (state["shape"][0], state["shape"][1])
        weights = nn.ParameterDict({name: nn.Parameter(t) for name, t in state["weights"].items()})
        probe._fitted = _Fitted(weights, shape)
        probe.history = [Epoch(*epoch) for epoch in state["history"]]
        return probe

    def pair_scores(self, pairs: Tensor, words: Sequence[str]) -> Tensor:
        """Scores [candidate, word] of a sentence; candidate 0 is the root, -inf if it is none.

        Args:
            pairs: float [from, to, number], with START, END and the words along both sides.
        """
        fitted = self._known()
        if pairs.shape[-1] != fitted.shape[0] * fitted.shape[1]:
            raise ValueError(
                f"The probe was fitted on {fitted.shape[0]} layers x {fitted.shape[1]} heads; "
                f"this model has {pairs.shape[-1]} heads in all."
            )
        both = self._linear(pairs, words)
        n = both.shape[0] - FIRST_WORD
        among = both[FIRST_WORD:, FIRST_WORD:].masked_fill(
            torch.eye(n, dtype=torch.bool), -torch.inf
        )
        if self.root:
            weights = fitted.weights
            root = weights["start"] * both[START] + weights["end"] * both[END]
            return torch.cat([root[None, FIRST_WORD:], among])
        return torch.cat([among.new_full((1, n), -torch.inf), among])

    def _linear(self, pairs: Tensor, words: Sequence[str]) -> Tensor:
        """w A_ij + u A_ji for all i, j, [from, to]."""
        weights = self._known().weights
        scores: Tensor = pairs @ weights["w"] + (pairs @ weights["u"]).T
        return scores

    def _initial(self, shape: tuple[int, int]) -> nn.ParameterDict:
        n = shape[0] * shape[1]
        return nn.ParameterDict(
            {
                "w": nn.Parameter(torch.zeros(n)),
                "u": nn.Parameter(torch.zeros(n)),
                **self._scalars(),
            }
        )

    def _scalars(self) -> dict[str, nn.Parameter]:
        if not self.root:
            return {}
        return {name: nn.Parameter(torch.ones(())) for name in ("start", "end")}

    def _maps(self, lens: Any, treebank: Any, progress: bool) -> PairMaps:
        if treebank is None or hasattr(treebank, "map"):
            maps: PairMaps = lens if treebank is None else treebank
            if not hasattr(maps, "map"):
                raise TypeError("Give a lens and a treebank, or maps that word_maps extracted.")
            return maps
        return word_maps(lens, treebank, progress=progress)

    def _known(self) -> _Fitted:
        if self._fitted is None:
            raise NotFittedError("This probe has learned nothing yet: call fit(lens, treebank).")
        return self._fitted

    def _extra_state(self) -> dict[str, Any]:
        return {}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> AttentionProbe:
        return cls(**state["arguments"])

    def __repr__(self) -> str:
        state = "not fitted" if self._fitted is None else "fitted"
        return f"<{type(self).__name__}: {state}>"
