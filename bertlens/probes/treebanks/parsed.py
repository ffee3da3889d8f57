"""Sentences out of documents that spaCy or Stanza parsed, without depending on either."""

from __future__ import annotations

from typing import Any

from bertlens.errors import AnnotationError
from bertlens.probes.treebanks.treebank import ROOT, Errors, Sentence, Treebank, checked_errors


def from_parsed(document: Any, *, errors: Errors = "raise") -> Treebank:
    """The sentences of a spaCy Doc or a Stanza Document, or of a list of them.

    Known by what they offer: spaCy's documents have `sents` of tokens with `head` and `dep_`,
    Stanza's have `sentences` of `words` with `head` and `deprel`. spaCy's tokens that are only
    space are left out, and what hangs on one is hung on its head.

    Raises:
        TypeError: neither of the two.
        AnnotationError: a sentence that is not a tree, such as one that was never parsed.
    """
    checked_errors(errors)
    documents = document if isinstance(document, list | tuple) else [document]
    found: list[Sentence] = []
    skipped: list[str] = []
    for i, one in enumerate(documents):
        for j, read in enumerate(_sentences(one)):
            try:
                source = f"document {i}, sentence {j}"
                found.append(Sentence(*read, source))
            except AnnotationError as error:
                if errors == "raise":
                    raise
                skipped.append(str(error))
    return Treebank(found, "parsed document", skipped)


_Columns = tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]


def _sentences(document: Any) -> list[_Columns]:
    if hasattr(document, "sentences"):
        return [_from_stanza(sentence) for sentence in document.sentences]
    if hasattr(type(document), "sents") or "sents" in getattr(document, "__dict__", {}):
        try:
            sentences = list(document.sents)
        except ValueError as error:  # spaCy's E030
            raise AnnotationError(
                "The spaCy Doc has no sentences: it was not parsed. Run it through a pipeline with "
                "a parser, such as spacy.load(name)(text)."
            ) from error
        return [columns for columns in map(_from_spacy, sentences) if columns[0]]
    raise TypeError(
        f"Expected a parsed spaCy Doc or Stanza Document, got {type(document).__name__}."
    )


def _from_stanza(sentence: Any) -> _Columns:
    words = sentence.words
    return (
        tuple(word.text for word in words),
        tuple(ROOT if word.head is None else int(word.head) for word in words),
        tuple(word.deprel or "" for word in words),
    )


def _from_spacy(sentence: Any) -> _Columns:
    tokens = [token for token in sentence if not token.is_space]
    number = {token.i: i for i, token in enumerate(tokens, 1)}

    def head(token: Any) -> int:
        at = token
        # spaCy's root is its own head.
        while at.head.i != at.i:
            at = at.head
            if at.i in number:
                return number[at.i]
        return ROOT

    return (
        tuple(token.text for token in tokens),
        tuple(head(token) for token in tokens),
        tuple(token.dep_ or "" for token in tokens),
    )
