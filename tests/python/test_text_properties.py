"""What holds for any text at all, over four kinds of tokenizers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlens.errors import EmptyTextError
from bertlens.text.encoding import Encoding, encode
from bertlens.text.labels import SAME
from tests.python.tokenizers import KINDS, LINES

# Characters from everywhere, halves of surrogate pairs included, and pieces of real text.
ANY = st.characters(codec=None) | st.characters(categories=["Cs"])
TEXTS = st.lists(
    st.text(ANY, max_size=6)
    | st.sampled_from([word for line in LINES for word in line.split()])
    | st.sampled_from([" ", "  ", "\n", "\t", "[SEP]", "</s>", "▁", "Ġ", "##ing", "​", "<b>"]),
    max_size=8,
).map("".join)

# Printable by Unicode, yet nothing to see alone: variation selectors, a Hangul filler.
UNSEEN = "\ufe0e\ufe0f\u3164"

each_kind = pytest.mark.parametrize("kind", KINDS)
often = settings(max_examples=150, deadline=None, derandomize=True)


def encoded(kind: str, text: str, pair: str | None = None) -> Encoding | None:
    try:
        return encode(KINDS[kind](), text, pair)
    except EmptyTextError:
        return None


def of_segment(encoding: Encoding, segment: int) -> tuple[str, list[tuple[str, int, int]]]:
    """The text of a segment, and label and span of its tokens."""
    text = encoding.text if segment == 0 else encoding.text_pair
    assert text is not None
    spans = [
        (token.label, token.start, token.end)
        for token in encoding.tokens
        if token.segment == segment and token.start is not None and token.end is not None
    ]
    return text, spans


@each_kind
@often
@given(text=TEXTS, pair=st.none() | TEXTS)
def test_labels_are_the_text_at_their_spans_and_spans_are_in_order(
    kind: str, text: str, pair: str | None
) -> None:
    encoding = encoded(kind, text, pair)
    if encoding is None:
        return
    for segment in range(1 if pair is None else 2):
        whole, spans = of_segment(encoding, segment)
        last = 0
        for label, start, end in spans:
            assert 0 <= start <= end <= len(whole)
            if label == SAME:
                assert end <= last
                continue
            assert start >= last
            last = end
            characters = whole[start:end]
            if characters.isprintable() and characters.strip().strip(UNSEEN):
                assert label == characters


@each_kind
@often
@given(text=TEXTS)
def test_every_token_belongs_to_one_word_or_is_special(kind: str, text: str) -> None:
    encoding = encoded(kind, text)
    if encoding is None:
        return
    members = [token for word in encoding.words for token in word.tokens]
    assert members == list(range(len(encoding.tokens)))
    for i, word in enumerate(encoding.words):
        for token in word.tokens:
            assert encoding.tokens[token].word == i
            assert encoding.tokens[token].special == word.special
        assert (word.index is None) == word.special
        assert not word.special or len(word.tokens) == 1
        assert word.text
    assert all(token.label for token in encoding.tokens)


@pytest.mark.parametrize("kind", ["byte-level BPE", "BPE with byte fallback"])
@often
@given(text=TEXTS)
def test_a_tokenizer_that_loses_nothing_covers_every_character(kind: str, text: str) -> None:
    encoding = encoded(kind, text)
    if encoding is None:
        return
    covered: set[int] = set()
    for token in encoding.tokens:
        if token.start is not None and token.end is not None:
            covered.update(range(token.start, token.end))
    specials = sum(len(token.text) for token in encoding.tokens[1:-1] if token.special)
    lost = [c for i, c in enumerate(encoding.text) if i not in covered and not c.isspace()]
    # A special token that a person typed has no span; everything else has.
    assert len(lost) == specials


@each_kind
@often
@given(words=st.lists(st.text(ANY, max_size=5) | st.sampled_from(LINES), max_size=6))
def test_pre_split_words_keep_their_places_whatever_they_are(kind: str, words: list[str]) -> None:
    try:
        encoding = encode(KINDS[kind](), words)
    except EmptyTextError:
        return
    own = [word for word in encoding.words if not word.special]
    indices = [word.index for word in own]
    assert indices == sorted(set(indices), key=lambda i: -1 if i is None else i)
    assert all(index is not None and 0 <= index < len(words) for index in indices)
    for word in own:
        for token in word.tokens:
            assert encoding.tokens[token].word == encoding.words.index(word)
