"""Files are written whole or not at all; their names and cells are safe."""

from __future__ import annotations

import csv
import errno
import io
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from bertlens.corpus.files import as_csv, check_file, check_folder, file_names, write_text


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file may grow beyond `limit` bytes, as on a disk without room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_earlier_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    write_text(path, "earlier")
    with full_disk(1000), pytest.raises(OSError, match=r"table\.csv") as caught:
        write_text(path, "x" * 100_000)
    assert caught.value.errno == errno.EFBIG
    assert path.read_text() == "earlier"
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


def test_a_written_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "")
    (tmp_path / "b").write_text("")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match=r"a file, not a folder.*/file'"):
            check_folder(folder)
    with pytest.raises(IsADirectoryError, match="a folder, not a file"):
        check_file(tmp_path)
    check_folder(tmp_path / "new" / "folder")
    check_file(tmp_path / "new" / "table.csv")


def test_a_folder_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(PermissionError, match="cannot be written"):
        check_folder(tmp_path / "out")


def test_names_of_files_are_readable_and_different() -> None:
    names = file_names(["entropy", "to:the", "to the", "To:The", "a/b", "..", "$x$", "CON", "été"])
    assert names == {
        "entropy": "entropy",
        "to:the": "to-the",
        "to the": "to-the-2",
        "To:The": "To-The-3",
        "a/b": "a-b",
        "..": "score",
        "$x$": "x",
        "CON": "CON-score",
        "été": "été",
    }
    assert len(file_names(["x" * 999])["x" * 999].encode()) <= 120


def test_text_that_looks_like_a_formula_is_text_in_a_spreadsheet() -> None:
    frame = pd.DataFrame({"=cmd": ["=1+1", "@x", "-", "nsubj", None], "value": [-0.5] * 5})
    rows = list(csv.reader(io.StringIO(as_csv(frame))))
    assert rows == [
        ["'=cmd", "value"],
        ["'=1+1", "-0.5"],
        ["'@x", "-0.5"],
        ["'-", "-0.5"],
        ["nsubj", "-0.5"],
        ["", "-0.5"],
    ]
