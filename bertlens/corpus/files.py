"""Files that are written whole or not at all, and names and cells that are safe in them."""

from __future__ import annotations

import os
import tempfile
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

MAX_NAME_BYTES = 120
"""File systems take names of 255 bytes; this leaves room for a suffix and a temporary name."""

FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins with one of these for a formula."""

_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(1, 10))]
)


def write_text(path: Path, content: str) -> None:
    """Write a file beside its place and move it there, so that no reader sees half of it.

    Raises:
        OSError: the disk is full, or the folder cannot be written; the file is named, and what
            was there before stays.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode("utf-8", "surrogatepass"))
        # mkstemp's files are private; this one is as readable as any other that the user makes.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        raise type(error)(error.errno, f"{error.strerror}; not written", str(path)) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Raise unless files can be written into a folder, which need not exist yet.

    Raises:
        NotADirectoryError, PermissionError: it is a file, or cannot be written.
    """
    for place in (folder, *folder.absolute().parents):
        if not os.path.lexists(place):
            continue
        if not place.is_dir():
            raise NotADirectoryError(20, "a file, not a folder", str(place))
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(13, "the folder cannot be written", str(place))
        return


def check_file(path: Path) -> None:
    """Raise unless a file can be written at `path`.

    Raises:
        IsADirectoryError, NotADirectoryError, PermissionError: it is a folder, or its folder is
            none or cannot be written.
    """
    if path.is_dir():
        raise IsADirectoryError(21, "a folder, not a file", str(path))
    check_folder(path.parent)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file's name for each name, all different, also where letter case does not count.

    Letters, digits, "_", "-", "+" and "." stay; every run of other characters becomes a "-".
    """
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        parts = "".join(c if c.isalnum() or c in "_-+." else " " for c in name).split()
        stem = unicodedata.normalize("NFC", "-".join(parts)).strip(".") or "score"
        stem = stem.encode("utf-8", "ignore")[:MAX_NAME_BYTES].decode("utf-8", "ignore")
        if stem.casefold() in _RESERVED:
            stem += "-score"
        unique, n = stem, 2
        while unique.casefold() in taken:
            unique, n = f"{stem}-{n}", n + 1
        taken.add(unique.casefold())
        chosen[name] = unique
    return chosen


def as_csv(frame: pd.DataFrame) -> str:
    """CSV of a table; text that a spreadsheet would take for a formula is preceded by a "'"."""
    safe = frame.rename(columns=_not_formula)
    for column in safe.columns:
        if safe[column].dtype.kind not in "biuf":
            safe[column] = safe[column].map(_not_formula)
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _not_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_SIGNS) else cell
