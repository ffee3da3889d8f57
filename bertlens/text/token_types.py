"""What the tokens of a text are: delimiters, punctuation, and which tokens go together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bertlens.text.tokens import Token

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Flags = NDArray[np.bool_]

PUNCTUATION = frozenset({".", ","})
"""The tokens that the paper calls punctuation (section 3.2)."""


@dataclass(frozen=True, eq=False)
class TokenTypes:
    """The kinds of a text's tokens, for any tokenizer.

    Attributes:
        tokens: the tokens themselves.
        cls: bool [n], the token that stands for the whole text: the tokenizer's classification
            token, or where it has none its beginning-of-sequence token.
        sep: bool [n], what separates and closes texts: the tokenizer's separator, or where it has
            none its end-of-sequence token.
    """

    tokens: tuple[Token, ...]
    cls: Flags
    sep: Flags

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def special(self) -> Flags:
        """bool [n], delimiters of every kind."""
        return np.array([token.special for token in self.tokens])

    @property
    def punctuation(self) -> Flags:
        """bool [n], "." and ","."""
        return self.named(PUNCTUATION)

    def named(self, names: Collection[str]) -> Flags:
        """bool [n], tokens whose piece or label is one of `names`, such as "the" or "[SEP]"."""
        return np.array([token.text in names or token.label in names for token in self.tokens])

    @property
    def segment(self) -> NDArray[np.int64]:
        """int [n], 0 or 1."""
        return np.array([token.segment for token in self.tokens])

    def same_text(self) -> Flags:
        """bool [n, n], other tokens with the same text; delimiters have none.

        Case and the marks with which some tokenizers begin a word do not count.
        """
        plain = [token.text.lstrip("Ġ▁").casefold() for token in self.tokens]
        numbers = {text: i for i, text in enumerate(dict.fromkeys(plain))}
        # A number of its own for each delimiter, and for a lone mark.
        codes = np.array(
            [
                -1 - i if token.special or not text else numbers[text]
                for i, (token, text) in enumerate(zip(self.tokens, plain, strict=True))
            ]
        )
        same: Flags = codes[:, None] == codes
        np.fill_diagonal(same, False)
        return same

    def same_word(self) -> Flags:
        """bool [n, n], the other tokens of one's own word."""
        words = np.array([token.word for token in self.tokens])
        same: Flags = words[:, None] == words
        np.fill_diagonal(same, False)
        return same

    def other_segment(self) -> Flags:
        """bool [n, n], whether two tokens are of different texts."""
        segment = self.segment
        other: Flags = segment[:, None] != segment
        return other


def token_types_of(
    tokens: Sequence[Token], tokenizer: PreTrainedTokenizerBase | None
) -> TokenTypes:
    """The kinds of a text's tokens, by the tokenizer's own names for its delimiters.

    Without a tokenizer a delimiter that opens the text counts as its classification token and
    every other one as a separator.
    """
    special = [token.special for token in tokens]
    first = np.array([flag and i == 0 for i, flag in enumerate(special)])
    if tokenizer is None:
        return TokenTypes(tuple(tokens), first, np.array(special) & ~first)
    opens = getattr(tokenizer, "cls_token", None) or getattr(tokenizer, "bos_token", None)
    closes = getattr(tokenizer, "sep_token", None) or getattr(tokenizer, "eos_token", None)
    is_open = np.array([token.special and token.text == opens for token in tokens])
    is_close = np.array([token.special and token.text == closes for token in tokens])
    if opens == closes:
        # One token for both, as in GPT-2: it opens a text only where the text begins.
        is_open, is_close = is_open & first, is_close & ~first
    return TokenTypes(tuple(tokens), is_open, is_close)
