"""Corpora that are tables, and files with a fault at their end."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bertlens as bl
from bertlens.errors import CorpusError
from tests.python.tiny import SENTENCES, tiny, tokenizer_for


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


class Rows:
    """A dataset as Hugging Face has them: rows by name, and the names of its columns."""

    column_names = ("id", "sentence")

    def __iter__(self) -> Any:
        return iter({"id": i, "sentence": text} for i, text in enumerate(SENTENCES))


def counted(lens: bl.Lens, texts: Any, **options: Any) -> Any:
    return lens.scan(texts, scores=["entropy"], progress=False, **options)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"id": [1, 2, 3, 4], "sentence": SENTENCES}),
        {"id": [1, 2, 3, 4], "sentence": SENTENCES},
        Rows(),
    ],
)
def test_a_table_is_read_by_column_or_its_columns_are_named(lens: bl.Lens, table: Any) -> None:
    expected = counted(lens, SENTENCES)["entropy"].values
    found = counted(lens, table, column="sentence")
    assert found.coverage.counted == 4
    assert np.array_equal(found["entropy"].values, expected)
    with pytest.raises(ValueError, match="no column 'text'; it has 'id', 'sentence'"):
        counted(lens, table)


def test_a_dict_of_tables_names_its_tables(lens: bl.Lens) -> None:
    splits = {"train": Rows(), "test": Rows()}
    with pytest.raises(ValueError, match=r"several tables: train, test.*texts\['train'\]"):
        counted(lens, splits)


def test_a_column_of_a_frame_is_texts(lens: bl.Lens) -> None:
    assert counted(lens, pd.Series(SENTENCES)).coverage.counted == 4


def test_a_late_byte_that_is_no_text_loses_nothing(lens: bl.Lens, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    lines = [s.encode() for s in SENTENCES] * 100
    path.write_bytes(b"\n".join([*lines, b"caf\xe9 latin", lines[0]]) + b"\n")
    with pytest.raises(CorpusError, match=r"texts\.txt, line 401: not UTF-8") as caught:
        counted(lens, path)
    partial: Any = caught.value.partial  # type: ignore[attr-defined]
    assert partial.partial
    n = partial.coverage.counted
    assert 0 < n <= 400
    assert partial["entropy"].support.max() == n
    skipped = counted(lens, path, errors="skip")
    assert skipped.coverage.counted == 401
    assert dict(skipped.coverage.skipped) == {"not UTF-8": 1}
    assert counted(lens, path, errors="replace").coverage.counted == 402
    with pytest.raises(ValueError, match="errors must be"):
        counted(lens, path, errors="ignore")


def test_a_compressed_file_that_is_cut_gives_what_it_has(lens: bl.Lens, tmp_path: Path) -> None:
    path = tmp_path / "texts.gz"
    whole = gzip.compress("\n".join(f"{SENTENCES[i % 4]} {i}" for i in range(3000)).encode())
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(CorpusError, match="compressed file is damaged"):
        counted(lens, path)
    found = counted(lens, path, errors="skip")
    assert found.coverage.counted > 100
    assert found.coverage.skipped["damaged file"] == 1
    path.write_bytes(b"no gzip at all")
    with pytest.raises(CorpusError, match="damaged"):
        counted(lens, path)


def test_a_byte_order_mark_is_no_text(lens: bl.Lens, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes(b"\xef\xbb\xbfThe cat\n\nThe dog\n")
    from bertlens.corpus.sources import read, sources

    assert list(read(path)) == ["The cat", "", "The dog"]
    assert list(sources(lens, path)) == ["The cat", "The dog"]


def test_an_interrupt_while_a_batch_is_added_adds_it_whole(lens: bl.Lens) -> None:
    import os
    import signal

    from bertlens.corpus.distances import DistanceCounter

    original = DistanceCounter.commit

    def commit(self: Any, batch: Any) -> None:
        original(self, batch)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DistanceCounter, "commit", commit)
        found = counted(lens, SENTENCES[:1] * 12, distances=True, batch_size=4)
    assert found.partial
    assert found.coverage.counted == 4
    alone = counted(lens, SENTENCES[:1] * 4, distances=True, batch_size=4)
    assert np.allclose(found.distances.values, alone.distances.values)
    assert found["entropy"].support.max() == 4
