"""Fixed word vectors, such as GloVe's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bertlens.probes.treebanks.treebank import Source, open_lines

Vectors: TypeAlias = "WordVectors | Mapping[str, Any]"


class WordVectors:
    """A vector for each of some words; others have the zero vector. Letter case does not matter.

    Attributes:
        words: in the order of the rows.
        matrix: float32 [word, dimension].

    Raises:
        ValueError: no vectors, or vectors of different sizes.
    """

    def __init__(self, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
        self.words = tuple(words)
        self.matrix = np.asarray(matrix, np.float32)
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix) or not self.matrix.size:
            raise ValueError(
                f"Give one vector a word: {len(self.words)} words, matrix of shape "
                f"{self.matrix.shape}."
            )
        self._rows = {word.lower(): row for row, word in enumerate(self.words)}

    @classmethod
    def of(cls, vectors: Vectors) -> WordVectors:
        """The same, from any mapping of words to sequences of numbers.

        Raises:
            TypeError: not a mapping, such as gensim's KeyedVectors with `{w: kv[w] for w in ...}`.
            ValueError: vectors of different sizes.
        """
        if isinstance(vectors, WordVectors):
            return vectors
        if not isinstance(vectors, Mapping):
            raise TypeError(
                "Word vectors must be a mapping from words to vectors, or what "
                f"bl.probes.read_vectors(path) gives; not {type(vectors).__name__}."
            )
        return cls.stacked((word, np.asarray(vectors[word], np.float32)) for word in vectors)

    @classmethod
    def stacked(cls, pairs: Iterable[tuple[str, NDArray[np.float32]]]) -> WordVectors:
        """Of words and their vectors, all of the size of the first.

        Raises:
            ValueError: see above; the word is named.
        """
        words: list[str] = []
        rows: list[NDArray[np.float32]] = []
        for word, row in pairs:
            if row.ndim != 1 or (rows and row.shape != rows[0].shape):
                expected = f"{rows[0].size} numbers" if rows else "a list of numbers"
                raise ValueError(
                    f"The vector of {word!r} has shape {row.shape}, not {expected} as the first."
                )
            words.append(word)
            rows.append(row)
        if not rows:
            raise ValueError("There are no word vectors.")
        return cls(words, np.stack(rows))

    @property
    def size(self) -> int:
        return int(self.matrix.shape[1])

    def __getitem__(self, words: Sequence[str]) -> NDArray[np.float32]:
        """float32 [word, dimension] of some words."""
        found = np.zeros((len(words), self.size), np.float32)
        for i, word in enumerate(words):
            row = self._rows.get(word.lower())
            if row is not None:
                found[i] = self.matrix[row]
        return found

    def coverage(self, words: Iterable[str]) -> float:
        """The share of words that have a vector."""
        known = [word.lower() in self._rows for word in words]
        return sum(known) / len(known) if known else float("nan")

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"<WordVectors: {len(self)} words, {self.size} dimensions>"


def read_vectors(source: Source) -> WordVectors:
    """Read vectors in GloVe's text format, a word and its numbers a line; gzip is unpacked.

    A first line of two numbers, as word2vec writes, is left out.

    Raises:
        ValueError: a line that is none, or vectors of different sizes; with file and line.
        FileNotFoundError: no such file.
    """
    name, lines = open_lines(source)
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    for number, line in enumerate(lines, 1):
        word, *numbers = line.rstrip().split(" ")
        if not numbers or (number == 1 and len(numbers) == 1):
            if number == 1 or not line.strip():
                continue
            raise ValueError(f"{name}, line {number}: no numbers after {word!r:.40}.")
        try:
            row = np.array(numbers, np.float32)
        except ValueError:
            raise ValueError(
                f"{name}, line {number}: {word!r:.40} has what is no number."
            ) from None
        if rows and row.shape != rows[0].shape:
            raise ValueError(
                f"{name}, line {number}: {word!r:.40} has {len(row)} numbers, the lines before "
                f"have {len(rows[0])}."
            )
        words.append(word)
        rows.append(row)
    if not rows:
        raise ValueError(f"{name} has no word vectors.")
    return WordVectors(words, np.stack(rows))
