"""The scores of every head on one text."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from bertlens.scores import catalogue
from bertlens.scores.catalogue import PATTERNS, Pattern
from bertlens.scores.head_scores import HeadScores, ScoreTable
from bertlens.scores.statistics import ScoreCollector
from bertlens.text.token_types import TokenTypes, token_types_of

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention


class TextScores(ScoreTable):
    """Every score of one text by name; also any offset, and attention to any token.

    `scores["offset:-3"]` is attention to the third token before, `scores["to:the"]` attention to
    the tokens "the"; `offset` and `to_tokens` do the same with numbers and sets of tokens.
    """

    def __init__(self, attention: Attention) -> None:
        self._attention = attention
        super().__init__(self._measured(list(PATTERNS.values())))

    def __getitem__(self, name: str) -> HeadScores:
        if name not in self._scores and ":" in name:
            self._scores[name] = self._one(catalogue.pattern(name))
        return super().__getitem__(name)

    def offset(self, steps: int) -> HeadScores:
        """Attention to the token so many steps ahead; behind, if negative."""
        return self._one(catalogue.offset(steps))

    def to_tokens(self, *tokens: str, name: str | None = None) -> HeadScores:
        """Attention to tokens whose piece or label is one of these, such as to_tokens("a", "the").

        NaN where the text has none.

        Raises:
            ValueError: no token is given.
        """
        return self._one(catalogue.to_tokens(name or f"to:{'/'.join(tokens)}", tokens))

    toward = to_tokens  # its name up to 0.1

    def _one(self, pattern: Pattern) -> HeadScores:
        return self._measured([pattern])[pattern.name]

    def _measured(self, patterns: Collection[Pattern]) -> dict[str, HeadScores]:
        attention = self._attention
        tokenizer = None if attention.lens is None else attention.lens.tokenizer
        rows = token_types_of(attention.tokens, tokenizer)
        columns: TokenTypes | None = None
        if attention.to_tokens is not attention.tokens:
            columns = token_types_of(attention.to_tokens, tokenizer)
        collector = ScoreCollector(tokenizer, patterns)
        collector.count(
            rows, columns, (attention.weights(layer) for layer in range(attention.n_layers))
        )
        return collector.stats.scores()
