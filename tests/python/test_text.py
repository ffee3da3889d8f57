"""Every script as its readers know it: labels, spans and words stated by hand."""

from __future__ import annotations

import pytest
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

import bertlens as bl
from bertlens.encoding import Encoding, encode
from bertlens.errors import EmptyTextError, TextTooLongError
from tests.python.tiny import tiny, tokenizer_for
from tests.python.tokenizers import byte_bpe, fallback_bpe, unigram, wordpiece


def labels(encoding: Encoding) -> list[str]:
    """Of the tokens between the first and the last special one."""
    return [token.label for token in encoding.tokens[1:-1]]


def words(encoding: Encoding) -> list[str]:
    return [word.text for word in encoding.words if not word.special]


def test_chinese_characters_are_words_to_wordpiece() -> None:
    assert labels(encode(wordpiece(), "我去了商店,")) == ["我", "去", "了", "商", "店", ","]


def test_a_character_of_several_bytes_is_shown_once_over_its_tokens() -> None:
    # 한 is ED 95 9C in UTF-8, and the tokenizer learned no pair of these.
    encoding = encode(byte_bpe(), "한")
    assert labels(encoding) == ["한", "⋮", "⋮"]
    assert [(t.start, t.end) for t in encoding.tokens[1:-1]] == [(0, 1)] * 3
    assert words(encoding) == ["한"]


def test_an_emoji_of_bytes_is_shown_once_over_its_tokens() -> None:
    encoding = encode(fallback_bpe(), "x 🦀")
    assert labels(encoding)[-4:] == ["🦀", "⋮", "⋮", "⋮"]


def test_an_emoji_sequence_keeps_its_joiners_in_a_word() -> None:
    encoding = encode(wordpiece(), "👩‍👩‍👧 🍓🍓")
    assert words(encoding) == ["👩‍👩‍👧", "🍓🍓"]
    assert {token.text for token in encoding.tokens[1:-1]} == {"[UNK]"}


def test_half_width_kana_keep_their_voicing_mark() -> None:
    # NFKC makes one character of ｶ and ﾞ; both were read.
    assert words(encode(unigram(), "ｶﾞ")) == ["ｶﾞ"]


def test_vowel_signs_that_a_tokenizer_drops_stay_in_the_label() -> None:
    encoding = encode(wordpiece(), "मैं")
    assert labels(encoding) == ["मैं"]


def test_accents_and_case_that_a_tokenizer_drops_stay_in_the_label() -> None:
    decomposed = "Cafe\N{COMBINING ACUTE ACCENT}"
    assert "".join(labels(encode(wordpiece(), "MÜLLER"))) == "MÜLLER"
    assert "".join(labels(encode(wordpiece(), decomposed))) == decomposed


@pytest.mark.parametrize("text", ["ذهبت إلى المتجر", "הלכתי לחנות", "나는 가게에"])
@pytest.mark.parametrize("tokenizer", [wordpiece, byte_bpe, unigram, fallback_bpe])
def test_words_between_spaces_are_words(text: str, tokenizer: object) -> None:
    found = [w for w in words(encode(tokenizer(), text)) if w != "␣"]  # type: ignore[operator]
    assert found == text.split()


def test_thai_and_hindi_marks_are_read_with_their_letters() -> None:
    assert words(encode(unigram(), "ที่ร้าน")) == ["ที่ร้าน"]
    assert words(encode(unigram(), "ताज़ी दुकान")) == ["ताज़ी", "दुकान"]


def test_mathematical_letters_are_themselves() -> None:
    assert "".join(labels(encode(unigram(), "𝒜𝓁𝓅"))).strip("␣") == "𝒜𝓁𝓅"
    assert words(encode(wordpiece(), "𝒜𝓁𝓅")) == ["𝒜𝓁𝓅"]


def test_the_space_mark_of_sentencepiece_is_a_sign_of_no_characters() -> None:
    encoding = encode(unigram(), "我去")
    assert labels(encoding) == ["␣", "我", "去"]
    assert (encoding.tokens[1].start, encoding.tokens[1].end) == (0, 0)
    assert words(encoding) == ["我去"]


def test_a_typed_space_mark_is_text() -> None:
    assert "▁" in labels(encode(fallback_bpe(), "a ▁ b"))


def test_newlines_and_control_characters_are_made_visible() -> None:
    assert labels(encode(byte_bpe(), "c\nd")) == ["c", "⏎", "d"]
    assert labels(encode(byte_bpe(), "c\x07d")) == ["c", "U+0007", "d"]


def test_zero_width_characters_are_named() -> None:
    assert labels(encode(unigram(), "a​b")) == ["␣", "a", "U+200B", "b"]


def test_half_a_surrogate_pair_is_replaced_and_said() -> None:
    encoding = encode(wordpiece(), "x \ud83d y")
    assert encoding.text == "x \N{REPLACEMENT CHARACTER} y"
    assert any("surrogate" in note for note in encoding.notes)
    assert encode(wordpiece(), "x y").notes == ()


def test_typed_specials_are_special() -> None:
    encoding = encode(byte_bpe(), "a</s>b")
    assert [t.text for t in encoding.tokens if t.special] == ["<s>", "</s>", "</s>"]
    assert words(encoding) == ["a", "b"]


def test_a_word_the_tokenizer_does_not_know_shows_its_source() -> None:
    encoding = encode(wordpiece(), "ฉันไป")
    assert [(t.text, t.label) for t in encoding.tokens[1:-1]] == [("[UNK]", "ฉันไป")]


def test_a_long_word_is_one_word_of_many_tokens() -> None:
    encoding = encode(byte_bpe(), "supercalifragilistic")
    assert words(encoding) == ["supercalifragilistic"]
    assert "".join(labels(encoding)) == "supercalifragilistic"


@pytest.mark.parametrize("tokenizer", [wordpiece, byte_bpe, unigram, fallback_bpe])
def test_nothing_is_an_error_in_words(tokenizer: object) -> None:
    with pytest.raises(EmptyTextError, match="empty"):
        encode(tokenizer(), "")  # type: ignore[operator]


@pytest.mark.parametrize("tokenizer", [wordpiece, byte_bpe, unigram, fallback_bpe])
def test_one_word_is_one_word(tokenizer: object) -> None:
    assert words(encode(tokenizer(), "dog")) == ["dog"]  # type: ignore[operator]


def test_ten_thousand_words_are_an_error_with_both_lengths() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    with pytest.raises(TextTooLongError, match=r"10002 tokens .* takes 64\..*truncate.*window"):
        lens("the " * 10_000)
    attention = lens("the " * 10_000, truncate=True)
    assert len(attention.tokens) == 64


def xlnet_like() -> PreTrainedTokenizerFast:
    """Specials at the end, padding at the front."""
    made = PreTrainedTokenizerFast(
        tokenizer_object=unigram().backend_tokenizer.from_str(unigram().backend_tokenizer.to_str()),
        sep_token="</s>",
        cls_token="<s>",
        pad_token="<pad>",
        padding_side="left",
    )
    ids = [(name, made.convert_tokens_to_ids(name)) for name in ("<s>", "</s>")]
    made.backend_tokenizer.post_processor = TemplateProcessing(
        single="$A </s> <s>", pair="$A </s> $B:1 </s>:1 <s>:2", special_tokens=ids
    )
    return made


def test_specials_at_the_end_close_the_segment_before_them() -> None:
    encoding = encode(xlnet_like(), "dog", "fox")
    assert [(t.text, t.segment) for t in encoding.tokens if t.special] == [
        ("</s>", 0),
        ("</s>", 1),
        ("<s>", 1),
    ]
    assert words(encoding) == ["dog", "fox"]


def test_padding_at_the_front_moves_no_label_and_no_weight() -> None:
    lens = bl.Lens(tiny("bert"), xlnet_like())
    short, long = lens.many(["dog", "the quick brown fox jumps"])
    alone = lens("dog")
    assert [t.label for t in short.tokens] == [t.label for t in alone.tokens]
    assert len(short.tokens) < len(long.tokens)
    assert abs(short.weights() - alone.weights()).max() < 1e-5


@pytest.mark.parametrize("tokenizer", [wordpiece, byte_bpe, unigram, fallback_bpe])
def test_pre_split_words_of_several_or_no_tokens_keep_their_places(tokenizer: object) -> None:
    given = ["don't", "", "🦀", "strawberries"]
    encoding = encode(tokenizer(), given)  # type: ignore[operator]
    own = [word for word in encoding.words if not word.special]
    assert [(word.index, word.text) for word in own] == [
        (0, "don't"),
        (2, "🦀"),
        (3, "strawberries"),
    ]


def test_markup_in_a_text_is_text() -> None:
    encoding = encode(wordpiece(), "<b>bold</b>")
    assert "".join(labels(encoding)) == "<b>bold</b>"
