"""Tokens as a person reads them: labels, spans, words, segments."""

from __future__ import annotations

import numpy as np
import pytest
from transformers import BertTokenizerLegacy

import bertlens as bl
from tests.python.tiny import tiny, tokenizer_for


def labels(encoding: object) -> list[str]:
    return [token.label for token in encoding.tokens]  # type: ignore[attr-defined]


def test_tokens_are_those_of_the_reference(
    demo: bl.Lens, minilm_entries: list[dict[str, object]]
) -> None:
    for entry in minilm_entries:
        encoding = demo.encode(*entry["text"])  # type: ignore[misc]
        assert [token.text for token in encoding.tokens] == entry["tokens"]
        assert encoding.inputs["input_ids"] == entry["input_ids"]


def test_labels_are_the_original_text(demo: bl.Lens) -> None:
    encoding = demo.encode("Héloïse Müller DIDN'T.")
    assert labels(encoding)[1:-1] == ["Hé", "lo", "ïse", "Müller", "DIDN", "'", "T", "."]


def test_every_label_is_the_text_at_its_span(demo: bl.Lens) -> None:
    text = "At the store, I bought fresh strawberries."
    for token in demo.encode(text).tokens:
        if not token.special:
            assert text[token.start : token.end] == token.label


def test_a_split_word_is_one_word(demo: bl.Lens) -> None:
    encoding = demo.encode("fresh strawberries.")
    assert [token.text for token in encoding.tokens][2:4] == ["straw", "##berries"]
    assert labels(encoding)[2:4] == ["straw", "berries"]
    assert [word.text for word in encoding.words] == [
        "[CLS]", "fresh", "strawberries", ".", "[SEP]",
    ]  # fmt: skip
    assert [word.tokens for word in encoding.words] == [(0,), (1,), (2, 3), (4,), (5,)]
    assert [word.index for word in encoding.words] == [None, 0, 1, 2, None]
    assert [token.word for token in encoding.tokens] == [0, 1, 2, 2, 3, 4]


def test_words_of_the_second_text_are_not_those_of_the_first(demo: bl.Lens) -> None:
    encoding = demo.encode("I went.", "I came.")
    assert [token.segment for token in encoding.tokens] == [0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert [token.special for token in encoding.tokens] == [True, *[False] * 3] + [True] + [
        False
    ] * 3 + [True]
    assert len(encoding.words) == 9
    assert [word.index for word in encoding.words if word.segment == 1] == [0, 1, 2, None]


def test_pre_split_words_keep_their_place(demo: bl.Lens) -> None:
    encoding = demo.encode(words=["I", "don't", "know", "strawberries"])
    own = [word for word in encoding.words if not word.special]
    assert [word.text for word in own] == ["I", "don't", "know", "strawberries"]
    assert [word.index for word in own] == [0, 1, 2, 3]
    assert [len(word.tokens) for word in own] == [1, 3, 1, 2]
    assert encoding.text == "I don't know strawberries"
    for token in encoding.tokens:
        if not token.special:
            assert encoding.text[token.start : token.end] == token.label


def test_a_pre_split_word_without_a_token_leaves_a_gap(demo: bl.Lens) -> None:
    encoding = demo.encode(words=["I", "​", "know"])
    assert [word.index for word in encoding.words] == [None, 0, 2, None]


def test_pairs_of_pre_split_words(demo: bl.Lens) -> None:
    encoding = demo.encode(words=["I", "know"], words_pair=["You", "do", "not"])
    assert [(word.segment, word.index) for word in encoding.words if not word.special] == [
        (0, 0), (0, 1), (1, 0), (1, 1), (1, 2),
    ]  # fmt: skip
    assert (encoding.text, encoding.text_pair) == ("I know", "You do not")


def test_roberta_pairs_have_segments_without_type_ids() -> None:
    lens = bl.Lens(tiny("roberta"), tokenizer_for("roberta"))
    encoding = lens.encode("I went", "the store")
    specials = [(t.text, t.segment) for t in encoding.tokens if t.special]
    assert [name for name, _ in specials] == ["<s>", "</s>", "</s>", "</s>"]
    assert {t.segment for t in encoding.tokens[:3] if not t.special} == {0}
    assert encoding.tokens[-2].segment == 1
    assert encoding.tokens[-1].segment == 1


def test_byte_level_labels_have_no_space_marks() -> None:
    lens = bl.Lens(tiny("roberta"), tokenizer_for("roberta"))
    encoding = lens.encode("I went to the store.")
    assert not any("Ġ" in label for label in labels(encoding))
    assert [w.text for w in encoding.words if not w.special] == [
        "I", "went", "to", "the", "store", ".",
    ]  # fmt: skip


def test_a_typed_separator_is_special(demo: bl.Lens) -> None:
    encoding = demo.encode("I [SEP] went [MASK]")
    assert [t.text for t in encoding.tokens if t.special] == ["[CLS]", "[SEP]", "[MASK]", "[SEP]"]


def test_an_unknown_piece_shows_its_source(demo: bl.Lens) -> None:
    encoding = demo.encode("I like 🍓🍓 a lot")
    unknown = [t for t in encoding.tokens if t.text == "[UNK]"]
    assert [(t.label, t.special) for t in unknown] == [("🍓🍓", False)]


def test_a_tokenizer_without_offsets_labels_by_its_tokens_and_says_so(tmp_path: object) -> None:
    vocabulary = tmp_path / "vocab.txt"  # type: ignore[operator]
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "i",
        "went",
        "to",
        "the",
        "store",
        "straw",
        "##berries",
        ".",
    ]
    vocabulary.write_text("\n".join(pieces), encoding="utf-8")
    lens = bl.Lens(tiny("bert"), BertTokenizerLegacy(str(vocabulary)))
    attention = lens("I went to the strawberries.", "The store.")
    assert [t.label for t in attention.tokens] == [
        "[CLS]", "i", "went", "to", "the", "straw", "berries", ".", "[SEP]",
        "the", "store", ".", "[SEP]",
    ]  # fmt: skip
    assert [t.segment for t in attention.tokens] == [0] * 9 + [1] * 4
    assert attention.words[5].tokens == (5, 6)
    assert attention.tokens[1].start is None
    assert any("no offsets" in note for note in attention.notes)
    np.testing.assert_allclose(attention.weights().sum(-1), 1, atol=1e-5)


def test_text_and_pair_are_kept_as_given(demo: bl.Lens) -> None:
    attention = demo("I went.", "To the Store.")
    assert (attention.text, attention.text_pair) == ("I went.", "To the Store.")


@pytest.mark.parametrize("family", ["roberta", "gpt2"])
def test_pre_split_words_are_read_as_the_running_text(family: str) -> None:
    lens = bl.Lens(tiny(family), tokenizer_for(family))
    given = ["store", "the", "cat", "went"]
    split = lens.encode(words=given)
    plain = lens.encode("store the cat went")
    assert split.inputs["input_ids"] == plain.inputs["input_ids"]
    assert [t.label for t in split.tokens] == [t.label for t in plain.tokens]
    assert [word.text for word in split.words if not word.special] == given
    assert [(t.start, t.end) for t in split.tokens] == [(t.start, t.end) for t in plain.tokens]
    assert lens.tokenizer.backend_tokenizer.pre_tokenizer.add_prefix_space is False
