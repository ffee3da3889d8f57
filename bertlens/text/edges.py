"""Where the edges that a knockout names are in the tokens of texts."""

from __future__ import annotations

from collections.abc import Sequence

from bertlens.capture import EdgeEdit, Edit, Places
from bertlens.text.encoding import Encoding
from bertlens.text.pointed import pointed


def knocked_out(
    edits: Sequence[Edit], encodings: Sequence[Encoding], targets: Sequence[Encoding] | None = None
) -> dict[int, list[Places | None]]:
    """For each knockout by its number, its rows and columns in each text.

    None where a text has none of the tokens: nothing is cut there.
    """
    found: dict[int, list[Places | None]] = {}
    for number, edit in enumerate(edits):
        if isinstance(edit, EdgeEdit):
            found[number] = [
                _places(edit, encoding, targets[i] if targets else encoding)
                for i, encoding in enumerate(encodings)
            ]
    return found


def check_edges(edits: Sequence[Edit], source: Encoding, target: Encoding | None = None) -> None:
    """Make sure that a text has the tokens that knockouts name.

    Raises:
        ValueError: no token has such a label; the message lists the labels.
        IndexError: no token has such an index.
    """
    for edit in edits:
        if isinstance(edit, EdgeEdit):
            rows, columns = _sides(edit, source, target or source)
            pointed(rows.tokens, edit.from_, "from_")
            pointed(columns.tokens, edit.to, "to")


def _sides(edit: EdgeEdit, source: Encoding, target: Encoding) -> tuple[Encoding, Encoding]:
    if edit.kind == "decoder":
        return target, target
    return (target, source) if edit.kind == "cross" else (source, source)


def _places(edit: EdgeEdit, source: Encoding, target: Encoding) -> Places | None:
    rows, columns = _sides(edit, source, target)
    try:
        return (
            tuple(pointed(rows.tokens, edit.from_, "from_")),
            tuple(pointed(columns.tokens, edit.to, "to")),
        )
    except (ValueError, IndexError):
        return None
