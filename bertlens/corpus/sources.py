"""Where texts come from: lists, tables, files with one text a line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from bertlens.corpus.packing import packed
from bertlens.corpus.stream import RunSummary
from bertlens.errors import CorpusError
from bertlens.text.text_model import TextModel

Errors: TypeAlias = Literal["strict", "replace", "skip"]

MAX_LINE_BYTES = 2**26
"""A line is read up to so many bytes (64 MB); the rest of it is left out, and the text counted as
truncated where the model has a limit."""


def sources(
    lens: TextModel,
    texts: Any,
    segments: int | None = None,
    *,
    column: str = "text",
    errors: Errors = "strict",
) -> Iterable[Any]:
    """The texts to be counted: those of `read`, packed into segments where that is asked for."""
    found = read(texts, column=column, errors=errors)
    if segments is not None:
        return packed(lens.tokenizer, found, segments)
    if isinstance(found, CountedLines):
        # In a file an empty line is a gap between texts, not an empty text.
        return found.without_gaps()
    return found


def read(texts: Any, *, column: str = "text", errors: Errors = "strict") -> Iterable[Any]:
    """The texts of a source: any iterable, a table, or the path of a file with one text a line.

    Lines are read as a stream; a file whose name ends in .gz is unpacked.

    Args:
        column: of a table (a DataFrame, a dataset, a dict of lists), where its texts are.
        errors: what to do with a line that is not UTF-8, or a .gz that is cut: "strict" raises,
            "replace" puts \ufffd in place of what cannot be read, "skip" leaves the line out.

    Raises:
        ValueError: a string that is no path of a file; a table without such a column; no such
            `errors`.
        TypeError: not iterable.
    """
    if errors not in ("strict", "replace", "skip"):
        raise ValueError(f'errors must be "strict", "replace" or "skip", not {errors!r}.')
    if isinstance(texts, str | os.PathLike):
        path = Path(texts)
        if not _is_file(path):
            raise ValueError(
                f"{str(texts)[:200]!r} is no file. Give a list of texts, or the path of a text "
                "file with one text a line; for one text, put it in a list or call the lens."
            )
        return CountedLines(path, errors)
    columns = _columns(texts)
    if columns is not None:
        return _column(texts, columns, column)
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"texts must be iterable or a path, not {type(texts).__name__}.")
    return texts


def _columns(texts: Any) -> list[str] | None:
    """The names of a table's columns; None where it is none."""
    if isinstance(texts, Mapping):
        return [str(name) for name in texts]
    for name in ("column_names", "columns"):  # of a dataset, of a frame
        found = getattr(texts, name, None)
        if found is not None and not callable(found):
            return [str(one) for one in found]
    return None


def _column(texts: Any, columns: list[str], column: str) -> Iterable[Any]:
    if isinstance(texts, Mapping) and any(_columns(value) is not None for value in texts.values()):
        raise ValueError(
            f"This holds several tables: {', '.join(columns)}. Scan one of them, such as "
            f"texts[{columns[0]!r}]."
        )
    if column not in columns:
        raise ValueError(
            f"The table has no column {column!r}; it has {', '.join(map(repr, columns))}. Name the "
            "one with the texts: column=..."
        )
    if hasattr(texts, "column_names") and not isinstance(texts, Mapping):
        return (row[column] for row in texts)  # a dataset, which may be a stream
    values: Iterable[Any] = texts[column]
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"The column {column!r} holds {values!r:.80}, not a list of texts.")
    return values


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # A long text is no possible path.
        return False


@dataclass(frozen=True)
class CountedLines:
    """The lines of a text file, read as a stream.

    Attributes:
        path: of the file.
        errors: as in `read`.
        gaps: whether empty lines are texts.
        summary: where lines that are left out are counted.
    """

    path: Path
    errors: Errors
    gaps: bool = True
    summary: RunSummary | None = None

    def without_gaps(self) -> CountedLines:
        """The same without empty lines."""
        return CountedLines(self.path, self.errors, False, self.summary)

    def counting(self, summary: RunSummary) -> CountedLines:
        """The same, which counts in `summary` what it leaves out."""
        return CountedLines(self.path, self.errors, self.gaps, summary)

    def __iter__(self) -> Iterator[str]:
        opened: Any = gzip.open if self.path.suffix == ".gz" else open
        with opened(self.path, "rb") as file:
            number = 0
            while True:
                number += 1
                try:
                    line = _line(file)
                except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                    if self.errors == "strict":
                        raise CorpusError(
                            f"{self.path}, line {number}: the compressed file is damaged ({error})."
                            f" {_ADVICE}"
                        ) from error
                    self._leave_out("damaged file", number)
                    return
                if not line:
                    return
                text = self._decoded(line, number)
                if text is not None and (self.gaps or text.strip()):
                    yield text

    def _decoded(self, line: bytes, number: int) -> str | None:
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            return line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            if len(line) >= MAX_LINE_BYTES and error.start > len(line) - 4:
                return line[: error.start].decode()  # cut inside a character
            if self.errors == "replace":
                return line.decode(errors="replace").rstrip("\r\n")
            if self.errors == "skip":
                self._leave_out("not UTF-8", number)
                return None
            raise CorpusError(
                f"{self.path}, line {number}: not UTF-8 ({error.reason} at byte {error.start}). "
                f"{_ADVICE}"
            ) from error

    def _leave_out(self, reason: str, number: int) -> None:
        if self.summary is not None:
            self.summary.skip_unseen(reason, number - 1)


_ADVICE = (
    'Pass errors="replace" or errors="skip" to go on; what was counted so far is in the error\'s '
    "`partial`."
)


def _line(file: IO[bytes]) -> bytes:
    """A line; of a very long one the beginning."""
    line = file.readline(MAX_LINE_BYTES)
    if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
        while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
    return line
