"""Token-level weights of a batch to word-level weights (paper section 4.1), in torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertlens.text.encoding import Encoding


@dataclass(frozen=True)
class WordPooling:
    """From tokens to words, for a batch of texts padded on the right.

    Words stand in the order of the text, special tokens left out; texts with fewer words than the
    longest end in empty words, whose weights are 0.

    Attributes:
        belongs: float [batch, words, tokens], 1 where a token belongs to a word.
        sizes: float [batch, words], how many tokens a word has; 1 for an empty word.
        mask: bool [batch, words], true where there is a word.
    """

    belongs: Tensor
    sizes: Tensor
    mask: Tensor

    @classmethod
    def of(
        cls, encodings: Sequence[Encoding], device: torch.device, *, delimiters: bool = False
    ) -> WordPooling:
        """The pooling of a batch.

        Args:
            delimiters: put two more words first: the text's first special token, and its last one
                if that is another; empty words where there are none.
        """
        groups = [word_tokens(encoding) for encoding in encodings]
        if delimiters:
            groups = [
                [*delimiter_tokens(encoding), *words]
                for encoding, words in zip(encodings, groups, strict=True)
            ]
        n_words = max(len(words) for words in groups)
        n_tokens = max(len(encoding) for encoding in encodings)
        texts: list[int] = []
        rows: list[int] = []
        columns: list[int] = []
        for text, words in enumerate(groups):
            for row, tokens in enumerate(words):
                texts += [text] * len(tokens)
                rows += [row] * len(tokens)
                columns += tokens
        belongs = torch.zeros(len(groups), n_words, n_tokens)
        belongs[texts, rows, columns] = 1
        counts = belongs.sum(-1)
        return cls(belongs.to(device), counts.clamp(min=1).to(device), (counts > 0).to(device))

    def __call__(self, weights: Tensor) -> Tensor:
        """Weights [batch, heads, words, words] of weights [batch, heads, tokens, tokens].

        Attention to a word is the sum over its tokens, attention from it their mean.
        """
        batch, heads, rows, columns = weights.shape
        belongs = self.belongs.to(weights.dtype)
        to_words = torch.bmm(
            weights.reshape(batch, heads * rows, columns), belongs.transpose(1, 2)
        ).view(batch, heads, rows, -1)
        summed = torch.matmul(belongs[:, None], to_words)
        return summed / self.sizes.to(weights.dtype)[:, None, :, None]


def word_tokens(encoding: Encoding) -> list[tuple[int, ...]]:
    """The tokens of each word of the text, special tokens left out."""
    return [word.tokens for word in encoding.words if word.index is not None]


def delimiter_tokens(encoding: Encoding) -> list[tuple[int, ...]]:
    """The first special token of a text and its last, each () where there is none."""
    special = [word.tokens for word in encoding.words if word.special]
    first = special[0] if special else ()
    return [first, special[-1] if len(special) > 1 else ()]
