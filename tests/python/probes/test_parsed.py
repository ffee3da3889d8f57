"""Documents parsed by spaCy or Stanza, known by what they offer; neither is installed here."""

from __future__ import annotations

from types import SimpleNamespace as Thing

import pytest

from bertlens.errors import AnnotationError
from bertlens.probes import from_parsed


def spacy_doc(*rows: tuple[str, int, str]) -> Thing:
    """A document of one sentence as spaCy makes it: heads are tokens, the root heads itself."""
    tokens = [
        Thing(text=text, i=i, dep_=dep, is_space=not text.strip())
        for i, (text, _, dep) in enumerate(rows)
    ]
    for token, (_, head, _) in zip(tokens, rows, strict=True):
        token.head = tokens[head]
    return Thing(sents=[tokens])


def test_spacy_heads_become_numbers_from_one() -> None:
    doc = spacy_doc(("Dogs", 1, "nsubj"), ("bark", 1, "ROOT"), ("loudly", 1, "advmod"))
    (sentence,) = from_parsed(doc)
    assert sentence.words == ("Dogs", "bark", "loudly")
    assert sentence.heads == (2, 0, 2)
    assert sentence.relations == ("nsubj", "ROOT", "advmod")


def test_spacy_tokens_of_space_are_left_out() -> None:
    doc = spacy_doc(("Dogs", 2, "nsubj"), ("\n", 0, "dep"), ("bark", 2, "ROOT"))
    (sentence,) = from_parsed(doc)
    assert (sentence.words, sentence.heads) == (("Dogs", "bark"), (2, 0))


def test_stanza_words_keep_their_numbers() -> None:
    words = [
        Thing(text="Dogs", head=2, deprel="nsubj"),
        Thing(text="bark", head=0, deprel="root"),
    ]
    (sentence,) = from_parsed([Thing(sentences=[Thing(words=words)])])
    assert (sentence.words, sentence.heads) == (("Dogs", "bark"), (2, 0))


def test_a_document_that_was_not_parsed_is_refused() -> None:
    with pytest.raises(AnnotationError, match="has no relation: was the text parsed"):
        from_parsed(spacy_doc(("Dogs", 0, ""), ("bark", 1, "")))


def test_anything_else_is_refused_by_its_type() -> None:
    with pytest.raises(TypeError, match="got str"):
        from_parsed("Dogs bark.")
