"""Segments packed from paragraphs."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

import bertlens as bl
from bertlens.corpus.packing import packed, sentences
from tests.python.tiny import SENTENCES, byte_bpe, tiny, tokenizer_for, wordpiece


def test_sentences_end_at_marks_outside_titles() -> None:
    text = "Mr. Bennet said: “Oh! No.” She left… J. Smith came (alone.) 你好。再见！ the end"
    assert sentences(text) == [
        "Mr. Bennet said: “Oh!",
        "No.”",
        "She left…",
        "J. Smith came (alone.)",
        "你好。",
        "再见！",
        "the end",
    ]
    assert sentences(" ") == []


def test_sentences_are_packed_and_cut_where_the_halves_are_most_alike() -> None:
    # "the" is one token, "the the." three: with [CLS] and two [SEP]s, 12 tokens hold three.
    paragraph = "The the. The the. The the. The the."
    assert list(packed(wordpiece(), [paragraph], 12)) == [
        ("The the.", "The the. The the."),
        "The the.",
    ]


def test_an_empty_paragraph_ends_a_document() -> None:
    found = list(packed(wordpiece(), ["The the.", "The cat.", "", "The the."], 40))
    assert found == [("The the.", "The cat."), "The the."]


def test_a_long_sentence_is_cut_at_words() -> None:
    found = list(packed(wordpiece(), ["the " * 20], 12))
    assert found == [" ".join(["the"] * 9)] * 2 + ["the the"]


@pytest.mark.parametrize("tokenizer", [wordpiece(), byte_bpe()])
def test_no_segment_is_longer_than_asked_and_no_word_is_lost(tokenizer: object) -> None:
    paragraphs = [" ".join(SENTENCES), " ".join(reversed(SENTENCES)), "the " * 90]
    found = list(packed(tokenizer, paragraphs, 48))
    words = []
    for segment in found:
        pair = (segment,) if isinstance(segment, str) else segment
        assert len(tokenizer(*pair)["input_ids"]) <= 48
        words += [word for text in pair for word in text.split()]
    assert words == [word for paragraph in paragraphs for word in paragraph.split()]


def test_segments_need_room_and_strings() -> None:
    with pytest.raises(ValueError, match="Segments of 4 tokens leave no room"):
        list(packed(wordpiece(), ["the"], 4))
    with pytest.raises(TypeError, match="text 1 must be a string, not tuple"):
        list(packed(wordpiece(), ["the", ("a", "b")], 40))


def test_a_scan_packs_paragraphs() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    found = lens.scan(SENTENCES, segments=40, progress=False)
    segments = list(packed(lens.tokenizer, SENTENCES, 40))
    assert found.coverage.texts == found.coverage.counted == len(segments) > 1


def test_segments_of_novels_are_nearly_full(demo: bl.Lens, shared: Path) -> None:
    with gzip.open(shared / "data" / "raw" / "gutenberg.txt.gz", "rt", encoding="utf-8") as lines:
        found = list(islice(packed(demo.tokenizer, lines, 128), 200))
    pairs = [segment for segment in found if isinstance(segment, tuple)]
    assert len(pairs) > 150
    lengths = [len(demo.tokenizer(*pair)["input_ids"]) for pair in pairs]
    assert max(lengths) <= 128
    assert sum(lengths) / len(lengths) > 100
