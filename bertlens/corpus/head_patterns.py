"""Heads ranked by their weight along a pattern of tokens, over many texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bertlens.attention.maps import as_tokens
from bertlens.corpus import stream
from bertlens.corpus.sources import read
from bertlens.scores.catalogue import SHARE
from bertlens.scores.head_scores import HeadScores
from bertlens.scores.statistics import is_causal
from bertlens.text.encoding import Encoding
from bertlens.text.tokens import Token

if TYPE_CHECKING:
    from bertlens.text.batch import Batch
    from bertlens.text.text_model import TextModel

Flags = NDArray[np.bool_]


class PairPattern(Protocol):
    """A pattern that needs the whole text, such as "the next verb"."""

    def pairs(self, tokens: Sequence[Token]) -> Flags:
        """bool [n, n]: whether row token and column token belong together."""
        ...


Pattern: TypeAlias = Callable[[Token, Token], Any] | PairPattern


def same_text(a: Token, b: Token) -> bool:
    """Another token that reads the same; case does not count, delimiters have none."""
    return not (a.special or b.special) and a.label.casefold() == b.label.casefold()


def same_word(a: Token, b: Token) -> bool:
    """Another piece of the same word."""
    return a.word == b.word


def any_of(*words: str) -> Callable[[Token, Token], bool]:
    """Any token that reads like one of these words; case does not count."""
    wanted = {word.casefold() for word in words}

    def to_any_of(a: Token, b: Token) -> bool:
        return b.label.casefold() in wanted

    return to_any_of


@dataclass(frozen=True)
class Nearest:
    """The nearest token, before or after, that fulfils a condition."""

    condition: Callable[[Token], Any]
    step: Literal[-1, 1]

    @property
    def __name__(self) -> str:
        return "next_such" if self.step == 1 else "previous_such"

    def pairs(self, tokens: Sequence[Token]) -> Flags:
        n = len(tokens)
        fits = [bool(self.condition(token)) for token in tokens]
        found = np.zeros((n, n), bool)
        nearest: int | None = None
        for i in range(n)[:: -self.step]:
            if nearest is not None:
                found[i, nearest] = True
            if fits[i]:
                nearest = i
        return found


def next_such(condition: Callable[[Token], Any]) -> Nearest:
    """The next token that fulfils a condition: `next_such(lambda t: t.label in verbs)`."""
    return Nearest(condition, 1)


def previous_such(condition: Callable[[Token], Any]) -> Nearest:
    """The last token before that fulfils a condition."""
    return Nearest(condition, -1)


def pairs(pattern: Pattern, tokens: Sequence[Token]) -> Flags:
    """bool [n, n]: which tokens a pattern joins, row to column; a token is not joined to itself."""
    n = len(tokens)
    if hasattr(pattern, "pairs"):
        found = np.array(pattern.pairs(tokens), dtype=bool)
        if found.shape != (n, n):
            raise ValueError(f"pairs() must give [{n}, {n}] for {n} tokens, not {found.shape}.")
    else:
        found = np.array([[bool(pattern(a, b)) for b in tokens] for a in tokens])
    np.fill_diagonal(found, False)
    return found


def over_texts(
    lens: TextModel,
    pattern: Pattern,
    texts: Any,
    *,
    level: Literal["token", "word"] = "token",
    name: str | None = None,
    truncate: bool = True,
    batch_size: int | None = None,
    progress: bool = True,
) -> HeadScores:
    """Each head's weight along a pattern, over many texts: see `Lens.find_heads`."""
    if level not in ("token", "word"):
        raise ValueError(f'level must be "token" or "word", not {level!r}.')
    if not callable(pattern) and not hasattr(pattern, "pairs"):
        raise TypeError(
            "The pattern must be a function of two tokens, such as "
            f"lambda a, b: a.label == b.label, not {pattern!r}."
        )
    count = _Count(pattern, level)
    coverage = stream.stream(
        lens,
        read(texts),
        count.visit,
        commit=count.commit,
        truncate=truncate,
        batch_size=batch_size,
        progress=progress,
        total=len(texts) if isinstance(texts, Collection) and not isinstance(texts, str) else None,
    )
    if count.sums is None:
        raise ValueError(f"There is nothing to count: {coverage}.")
    values = count.sums / count.rows if count.rows else np.full_like(count.sums, np.nan)
    own = getattr(pattern, "__name__", type(pattern).__name__)
    name = name or ("pattern" if own == "<lambda>" else own)
    return HeadScores(
        name,
        values,
        unit=SHARE,
        description=f"Attention to the {level}s that '{name}' joins a {level} to, mean over "
        f"{level}s that have one ({count.rows}); the baseline is even attention. {coverage}.",
        support=np.full(values.shape, count.rows),
        baseline=count.even / count.rows if count.rows else None,
    )


class _Count:
    """Sums over the rows that a pattern gives a partner; a batch enters whole, in `commit`."""

    def __init__(self, pattern: Pattern, level: str) -> None:
        self._pattern = pattern
        self._level = level
        self.sums: NDArray[np.float64] | None = None
        self.rows = 0
        self.even = 0.0
        self._layers: list[NDArray[np.float64]] = []
        self._templates: Tensor | None = None
        self._batch = (0, 0.0)

    def visit(self, layer: int, weights: Tensor, batch: Batch) -> None:
        if layer == 0:
            self._start(weights, batch)
        assert self._templates is not None
        # Rows of padding may hold anything, also what is not a number.
        wanted = weights.float().masked_fill((self._templates == 0)[:, None], 0)
        found = torch.einsum("bhij,bij->h", wanted, self._templates)
        self._layers.append(found.cpu().double().numpy())

    def _start(self, weights: Tensor, batch: Batch) -> None:
        self._layers = []
        templates = np.zeros((len(batch), *weights.shape[2:]), np.float32)
        rows, even = 0, 0.0
        n = batch.lengths[0]
        causal = is_causal(weights[0, :, :n, :n])
        for text, encoding in enumerate(batch.encodings):
            made, count = template(self._pattern, encoding, self._level)
            n = len(made)
            templates[text, :n, :n] = made
            seen = np.tril(np.ones((n, n))) if causal else np.ones((n, n))
            rows += count
            even += float((made * seen / seen.sum(-1, keepdims=True)).sum())
        self._templates = torch.from_numpy(templates).to(weights.device)
        self._batch = (rows, even)

    def commit(self, batch: Batch) -> None:
        n_heads = max(len(layer) for layer in self._layers)
        found = np.full((len(self._layers), n_heads), np.nan)
        for layer, values in zip(found, self._layers, strict=True):
            layer[: len(values)] = values
        self.sums = found if self.sums is None else self.sums + found
        self.rows += self._batch[0]
        self.even += self._batch[1]


def template(pattern: Pattern, encoding: Encoding, level: str) -> tuple[NDArray[np.float32], int]:
    """T [n, n] such that sum(A * T) is a text's share of the pattern, and how many rows count.

    At word level T undoes what pooling does: columns of a word count alike, rows by their share.
    """
    if level == "token":
        found = pairs(pattern, encoding.tokens)
        return found.astype(np.float32), int(found.any(-1).sum())
    words, _ = as_tokens(encoding.words, encoding.tokens)
    found = pairs(pattern, words)
    word = np.array([token.word for token in encoding.tokens])
    sizes = np.bincount(word, minlength=len(words))
    spread = found[word][:, word] / sizes[word][:, None]
    return spread.astype(np.float32), int(found.any(-1).sum())
