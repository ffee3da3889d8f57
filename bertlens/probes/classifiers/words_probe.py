"""A probe whose weight of a head depends on the words (section 5, eq. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from bertlens.probes.classifiers.attention_probe import AttentionProbe
from bertlens.probes.classifiers.word_maps import FIRST_WORD
from bertlens.probes.classifiers.word_vectors import Vectors, WordVectors


class AttentionAndWordsProbe(AttentionProbe):
    """A probe whose weight of a head depends on the two words (section 5, eq. 2).

    As AttentionProbe, with w_k = W_k (v_i + v_j concatenated) + a constant, and u_k likewise, where
    v are fixed vectors of the words; the root's is zero.

    Args:
        vectors: what `bl.probes.read_vectors(path)` gives, or any mapping from words to vectors.
        others: as in AttentionProbe.

    Raises:
        ValueError: vectors of different sizes.
    """

    kind: ClassVar[str] = "attention and words"

    def __init__(self, vectors: Vectors, **others: Any) -> None:
        super().__init__(**others)
        self.vectors = WordVectors.of(vectors)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments, as scikit-learn asks for them."""
        return {"vectors": self.vectors, **super().get_params(deep)}

    def _linear(self, pairs: Tensor, words: Sequence[str]) -> Tensor:
        weights = self._known().weights
        # The special tokens, which stand for the root, have the zero vector.
        vectors = torch.zeros(len(words) + FIRST_WORD, self.vectors.size)
        vectors[FIRST_WORD:] = torch.from_numpy(self.vectors[words])
        to = (vectors @ weights["W_candidate"])[:, None] + (vectors @ weights["W_word"])[None]
        back = (vectors @ weights["U_candidate"])[:, None] + (vectors @ weights["U_word"])[None]
        # [from, to, head]: a weight for each pair of words and each head.
        forth = (to + weights["w"]) * pairs
        scores: Tensor = (forth + (back + weights["u"]) * pairs.transpose(0, 1)).sum(-1)
        return scores

    def _initial(self, shape: tuple[int, int]) -> nn.ParameterDict:
        initial = super()._initial(shape)
        for name in ("W_candidate", "W_word", "U_candidate", "U_word"):
            initial[name] = nn.Parameter(torch.zeros(self.vectors.size, shape[0] * shape[1]))
        return initial

    def _extra_state(self) -> dict[str, Any]:
        return {
            "words": list(self.vectors.words),
            "vectors": torch.from_numpy(self.vectors.matrix),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> AttentionAndWordsProbe:
        vectors = WordVectors(state["words"], state["vectors"].numpy())
        return cls(vectors, **state["arguments"])
