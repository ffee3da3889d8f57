"""Sentences with their dependency trees, read from CoNLL-U or built by hand."""

from __future__ import annotations

import gzip
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

from bertlens.errors import AnnotationError, require

Errors: TypeAlias = Literal["raise", "skip"]
Source: TypeAlias = str | os.PathLike[str] | Iterable[str]

ROOT = 0
"""The head of a word that has none among the words, as CoNLL-U writes it."""

COLUMNS = 10


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its dependency tree; a graph with several roots is taken too.

    Attributes:
        words: the syntactic words.
        heads: the number of each word's head, from 1; 0 for a root, as in CoNLL-U.
        relations: the relation of each word to its head, such as "nsubj".
        source: where it was read, such as "dev.conllu, line 12"; named in errors.
        sent_id: its own name in the treebank, "" where it has none.

    Raises:
        AnnotationError: lengths differ, no words, a head outside the sentence or the word itself,
            no root, or a cycle.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    source: str = ""
    sent_id: str = ""

    def __post_init__(self) -> None:
        for name in ("words", "heads", "relations"):
            given = getattr(self, name)
            if isinstance(given, str):
                raise TypeError(f"{name} must be a list, one entry a word, not one string.")
            wrong = [one for one in given if name != "heads" and not isinstance(one, str)]
            if wrong:
                raise TypeError(f"{name} must be strings, not {wrong[0]!r:.80}.")
            object.__setattr__(self, name, tuple(given))
        problem = _problem(self.words, self.heads, self.relations)
        if problem:
            raise AnnotationError(f"{self.source}: {problem}" if self.source else problem)

    @property
    def punctuation(self) -> tuple[bool, ...]:
        """Which words are punctuation: those whose relation is "punct"."""
        return tuple(relation.split(":")[0] == "punct" for relation in self.relations)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def __len__(self) -> int:
        return len(self.words)


class Treebank(Sequence[Sentence]):
    """Sentences with trees, in order.

    Attributes:
        name: for tables and errors.
        skipped: what was wrong with each sentence that `errors="skip"` left out.

    Raises:
        AnnotationError: there is no sentence.
    """

    def __init__(
        self, sentences: Iterable[Sentence], name: str = "treebank", skipped: Sequence[str] = ()
    ) -> None:
        self.sentences = tuple(sentences)
        self.name = name
        self.skipped = tuple(skipped)
        if not self.sentences:
            reason = f"; the first problem: {self.skipped[0]}" if self.skipped else ""
            raise AnnotationError(f"{name} has no sentence to work on{reason}.")

    @property
    def n_words(self) -> int:
        return sum(len(sentence) for sentence in self.sentences)

    @property
    def relations(self) -> Counter[str]:
        """How often each relation occurs, roots included."""
        return Counter(relation for sentence in self for relation in sentence.relations)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Treebank: ...
    def __getitem__(self, index: int | slice) -> Sentence | Treebank:
        if isinstance(index, slice):
            return Treebank(self.sentences[index], self.name)
        return self.sentences[index]

    def __len__(self) -> int:
        return len(self.sentences)

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"<Treebank {self.name}: {len(self)} sentences, {self.n_words} words{skipped}>"


Sentences: TypeAlias = Treebank | Iterable[Sentence]
"""What a person may give where a treebank is wanted."""


def as_treebank(given: Sentences, name: str = "treebank") -> Treebank:
    """A Treebank of what a person gave.

    Raises:
        TypeError: neither a treebank nor sentences.
    """
    if isinstance(given, Treebank):
        return given
    hint = "Read a file with bl.probes.read_conllu(path), a parsed document with from_parsed(doc)."
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        raise TypeError(f"A treebank is wanted, not {given!r:.80}. {hint}")
    sentences = list(given)
    for sentence in sentences:
        if not isinstance(sentence, Sentence):
            raise TypeError(f"A treebank holds Sentence objects, not {sentence!r:.80}. {hint}")
    return Treebank(sentences, name)


def read_conllu(source: Source, *, errors: Errors = "raise") -> Treebank:
    """Read a treebank in CoNLL-U: Universal or Stanford Dependencies, or any others.

    Multiword-token lines (4-5) and empty nodes (8.1) are left out, as they have no basic head.

    Args:
        source: a path (plain or gzip), the text itself (a string of several lines), or an iterable
            of lines.
        errors: "raise" at the first bad sentence, or "skip" it and list it in `.skipped`.

    Raises:
        AnnotationError: a bad line, named with its file and number; or nothing is left.
        FileNotFoundError: no such file.
        MissingExtraError: the package conllu is not installed.
        ValueError: another value of `errors`.
    """
    require("conllu", "analysis")
    checked_errors(errors)
    name, lines = open_lines(source)
    sentences: list[Sentence] = []
    skipped: list[str] = []
    try:
        for first, block in _blocks(lines):
            try:
                sentences.append(_sentence(name, first, block))
            except AnnotationError as error:
                if errors == "raise":
                    raise
                skipped.append(str(error))
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
        raise AnnotationError(f"{name} cannot be read as UTF-8 text or gzip: {error}") from error
    return Treebank(sentences, name, skipped)


def checked_errors(errors: str) -> None:
    """Raises ValueError unless it says what to do with bad input."""
    if errors not in ("raise", "skip"):
        raise ValueError(f'errors must be "raise" or "skip", not {errors!r}.')


def open_lines(source: Source) -> tuple[str, Iterator[str]]:
    """A name for error messages, and the lines."""
    if isinstance(source, str) and ("\n" in source or "\t" in source):
        return "text", iter(io.StringIO(source.removeprefix("\ufeff")))
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return path.name, _file_lines(path)
    return str(getattr(source, "name", "lines")), iter(source)


def _file_lines(path: Path) -> Iterator[str]:
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    opened: Any = gzip.open if packed else open
    with opened(path, "rt", encoding="utf-8-sig") as text:
        yield from text


def _blocks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines between empty ones, with the number of the first line."""
    block: list[str] = []
    number = 0
    for number, line in enumerate(lines, 1):
        if line.strip():
            block.append(line.rstrip("\r\n"))
        elif block:
            if not _is_comment(block):
                yield number - len(block), block
            block = []
    if block and not _is_comment(block):
        yield number + 1 - len(block), block


def _is_comment(block: list[str]) -> bool:
    """Whether a block is comments alone, such as a file's licence."""
    return all(line.startswith("#") for line in block)


def _sentence(name: str, first: int, block: list[str]) -> Sentence:
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    for number, line in enumerate(block, first):
        if line.startswith("#"):
            continue
        try:
            token = _token(line)
            if not isinstance(token["id"], int):
                continue
            if token["id"] != len(words) + 1:
                raise AnnotationError(f"the id is {token['id']}, not {len(words) + 1}")
            if token["head"] is None or token["deprel"] in ("", "_"):
                raise AnnotationError("the word has no head or no relation")
        except AnnotationError as error:
            raise AnnotationError(f"{name}, line {number}: {error} ({line!r:.60})") from error
        words.append(token["form"])
        heads.append(token["head"])
        relations.append(token["deprel"])
    sent_id = next((m[1] for line in block if (m := _SENT_ID.match(line))), "")
    source = f"{name}, line {first}"
    return Sentence(tuple(words), tuple(heads), tuple(relations), source, sent_id)


_SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(\S+)")


def _token(line: str) -> dict[str, Any]:
    import conllu
    from conllu.exceptions import ParseException

    # conllu takes fewer columns, and spaces between them; CoNLL-U has ten, and tabs.
    n_columns = line.count("\t") + 1
    if n_columns != COLUMNS:
        raise AnnotationError(f"there are {n_columns} columns with tabs between, not {COLUMNS}")
    try:
        return dict(conllu.parse(line, field_parsers=_UNREAD)[0][0])
    except ParseException as error:
        raise AnnotationError(str(error)) from error


_UNREAD: dict[str, Any] = {
    name: lambda columns, i: columns[i] for name in ("feats", "deps", "misc")
}
"""Columns that no probe uses are not parsed: a mistake there harms nobody."""


def _problem(words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> str | None:
    """What keeps this from being a tree, in words; None if it is one."""
    n = len(words)
    if not n:
        return "a sentence has no words"
    if not n == len(heads) == len(relations):
        return f"{n} words, {len(heads)} heads and {len(relations)} relations; give as many of each"
    for i, (word, head) in enumerate(zip(words, heads, strict=True), 1):
        if not isinstance(head, int) or not 0 <= head <= n:
            return f"word {i} ({word!r}) has head {head!r}; heads are 0 (root) to {n}"
        if head == i:
            return f"word {i} ({word!r}) is its own head"
    for i, relation in enumerate(relations, 1):
        if not relation:
            return f"word {i} ({words[i - 1]!r}) has no relation: was the text parsed?"
    if ROOT not in heads:
        return "no word is the root (head 0)"
    rooted = [False] * (n + 1)
    rooted[ROOT] = True
    for start in range(1, n + 1):
        path: list[int] = []
        on_path: set[int] = set()
        at = start
        while not rooted[at]:
            if at in on_path:
                around = [*path[path.index(at) :], at]
                shown = [*map(str, around[:20]), *(["..."] if len(around) > 20 else [])]
                cycle = " -> ".join(shown)
                return f"the heads go round in a cycle: {cycle}"
            path.append(at)
            on_path.add(at)
            at = heads[at - 1]
        for i in path:
            rooted[i] = True
    return None


def sample_treebank() -> Treebank:
    """Some 70 short sentences in Universal Dependencies, annotated by hand, that come along.

    They are few: good for trying a probe out, not for a result to report.

    Raises:
        FileNotFoundError: the notebooks, beside which they lie, are missing from this installation.
    """
    package = Path(__file__).parents[2]
    for folder in (package / "notebooks", package.parent / "notebooks"):
        path = folder / "treebank.conllu"
        if path.is_file():
            return read_conllu(path)
    raise FileNotFoundError(f"no treebank.conllu in {package / 'notebooks'}: reinstall bertlens")
