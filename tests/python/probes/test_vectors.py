"""Word vectors from GloVe's text format, or from any mapping."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bertlens.probes import WordVectors, read_vectors


def test_glove_text_is_read(gzipped: Callable[[str, str], Path]) -> None:
    vectors = read_vectors(gzipped("glove.txt.gz", "the 0.1 0.2\ncat -1 2e-1\n"))
    np.testing.assert_allclose(
        vectors[["Cat", "THE", "dog"]], [[-1, 0.2], [0.1, 0.2], [0, 0]], rtol=1e-6
    )
    assert (len(vectors), vectors.size) == (2, 2)
    assert vectors.coverage(["the", "dog"]) == 0.5


def test_a_word2vec_header_is_left_out() -> None:
    assert read_vectors("2 3\na 1 2 3\nb 4 5 6\n").words == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1 2 3\n", "text, line 2: 'b' has 3 numbers, the lines before have 2"),
        ("a 1 2\nb 1 x\n", "text, line 2: 'b' has what is no number"),
        ("a 1 2\nb\n", "text, line 2: no numbers after 'b'"),
        ("\n", "text has no word vectors"),
    ],
)
def test_a_bad_line_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        read_vectors(text)
    assert message in str(error.value)


def test_any_mapping_will_do() -> None:
    assert WordVectors.of({"a": [1, 2], "b": (3, 4)})[["b"]].tolist() == [[3, 4]]


def test_a_mapping_of_mixed_sizes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"The vector of 'b' has shape \(3,\), not 2 numbers"):
        WordVectors.of({"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(ValueError, match="no word vectors"):
        WordVectors.of({})
    with pytest.raises(TypeError, match="read_vectors"):
        WordVectors.of([[1, 2]])  # type: ignore[arg-type]
