"""Coreference documents from files: JSON lines, and the columns of CoNLL-2012."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bertlens.errors import AnnotationError
from bertlens.probes.coreference.documents import Document, Mention
from bertlens.probes.coreference.head_rules import phrase_heads
from bertlens.probes.treebanks.treebank import Errors, Source, checked_errors, open_lines

_BEGIN = re.compile(r"#begin document (?P<name>.*?)(; part (?P<part>\d+))?\s*$")
_TAG, _PARSE = 4, 5


def read_coreference(source: Source, *, errors: Errors = "raise") -> list[Document]:
    """Read documents from JSON lines, one document a line.

    A line has `words`, `sentences` ([start, end) each) and `mentions`, each with `start`, `end`,
    `cluster` and perhaps `head`; `id` and `tags` if there are any. Other entries are left alone.

    Args:
        source: a path (plain or gzip), the text, or an iterable of lines.
        errors: "raise" at the first bad document, or "skip" it.

    Raises:
        AnnotationError: a bad document, named with file and line; or none is left.
        FileNotFoundError: no such file.
    """
    checked_errors(errors)
    name, lines = open_lines(source)
    documents: list[Document] = []
    problem = ""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            documents.append(_from_json(line))
        except (AnnotationError, KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            problem = f"{name}, line {number}: {what}"
            if errors == "raise":
                raise AnnotationError(problem) from error
    return _some(documents, name, problem)


def read_conll2012(source: Source, *, errors: Errors = "raise") -> list[Document]:
    """Read documents in the columns of the CoNLL-2012 shared task (OntoNotes).

    Words, tags, parse bits and the last column, coreference, are used. A mention's head comes from
    the parse; without one it is the last word.

    Raises:
        AnnotationError: a bad line, named with its file and number; or no document is left.
        FileNotFoundError: no such file.
    """
    checked_errors(errors)
    name, lines = open_lines(source)
    documents: list[Document] = []
    problem = ""
    for title, rows in _parts(lines):
        try:
            documents.append(_from_columns(name, title, rows))
        except AnnotationError as error:
            problem = str(error)
            if errors == "raise":
                raise
    return _some(documents, name, problem)


def _some(documents: list[Document], name: str, problem: str) -> list[Document]:
    if not documents:
        reason = f"; the last problem: {problem}" if problem else ""
        raise AnnotationError(f"{name} has no document to work on{reason}.")
    return documents


def _from_json(line: str) -> Document:
    data = json.loads(line)
    if not isinstance(data, dict):
        raise TypeError("a line must be a JSON object")
    mentions = tuple(
        Mention(int(m["start"]), int(m["end"]), str(m["cluster"]), m.get("head"))
        for m in data["mentions"]
    )
    return Document(
        str(data.get("id", "document")),
        tuple(data["words"]),
        tuple(data["sentences"]),
        mentions,
        data.get("tags"),
    )


Row = tuple[int, list[str]]
"""A line's number and columns; no columns for an empty line."""


def _parts(lines: Iterator[str]) -> Iterator[tuple[str, list[Row]]]:
    title = "document"
    rows: list[Row] = []
    for number, line in enumerate(lines, 1):
        begin = _BEGIN.match(line)
        if begin or line.startswith("#end document"):
            if any(columns for _, columns in rows):
                yield title, rows
            rows = []
            if begin:
                part = begin["part"]
                title = begin["name"].strip("()") + (f", part {int(part)}" if part else "")
        elif not line.startswith("#"):
            rows.append((number, line.split()))
    if any(columns for _, columns in rows):
        yield title, rows


def _from_columns(file: str, title: str, rows: Sequence[Row]) -> Document:
    words: list[str] = []
    tags: list[str] = []
    bits: list[str] = []
    sentences: list[tuple[int, int]] = []
    spans: list[tuple[int, int, str]] = []
    open_spans: dict[str, list[int]] = {}
    begin = 0
    for number, columns in [*rows, (0, [])]:
        if not columns:
            if len(words) > begin:
                sentences.append((begin, len(words)))
            begin = len(words)
            continue
        if len(columns) < 7:
            raise AnnotationError(f"{file}, line {number}: {len(columns)} columns, not 7 or more")
        _coreference(f"{file}, line {number}", columns[-1], len(words), open_spans, spans)
        words.append(columns[3])
        tags.append(columns[_TAG])
        bits.append(columns[_PARSE])
    for cluster, starts in open_spans.items():
        if starts:
            raise AnnotationError(f"{file}, {title}: a mention of cluster {cluster} never ends")
    heads = phrase_heads(tags, bits, sentences)
    mentions = tuple(
        Mention(start, end, cluster, heads.get((start, end))) for start, end, cluster in spans
    )
    return Document(title, tuple(words), tuple(sentences), mentions, tuple(tags))


def _coreference(
    where: str, column: str, word: int, open_spans: dict[str, list[int]], spans: list[Any]
) -> None:
    """Read one word's "(0|(12)|3)": mentions that begin, both, and end here."""
    if column in ("-", "_"):
        return
    for part in column.split("|"):
        found = re.fullmatch(r"(\()?([^()]+)(\))?", part)
        if not found or not (found[1] or found[3]):
            raise AnnotationError(f"{where}: the coreference column says {column!r}")
        cluster = found[2]
        if found[1]:
            open_spans.setdefault(cluster, []).append(word)
        if found[3]:
            if not open_spans.get(cluster):
                raise AnnotationError(f"{where}: cluster {cluster} ends but never began")
            spans.append((open_spans[cluster].pop(), word + 1, cluster))
