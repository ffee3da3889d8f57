"""Every script as its readers know it: labels, spans and words stated by hand."""

from __future__ import annotations

import pytest
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

import bertlens as bl
from bertlens.errors import EmptyTextError, TextTooLongError
from bertlens.text.encoding import Encoding, encode
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


@pytest.mark.parametrize(
    "text", ["الْعَرَبِيَّةُ", "दुकान", "ที่ร้าน", "שָׁלוֹם", "Cafe\N{COMBINING ACUTE ACCENT}s"]
)
def test_a_word_is_not_cut_at_its_marks(text: str) -> None:
    for tokenizer in (byte_bpe, unigram, fallback_bpe):
        assert words(encode(tokenizer(), f"{text} {text}")) == [text, text]


@pytest.mark.parametrize("end", ["\n", "\r"])
def test_a_line_end_between_words_from_right_to_left_is_a_sign_between_them(end: str) -> None:
    encoding = encode(byte_bpe(), f"שלום{end}עולם")
    assert words(encoding) == ["שלום", "⏎", "עולם"]
    at = [t.label for t in encoding.tokens].index("⏎")
    assert (encoding.tokens[at].start, encoding.tokens[at].end) == (4, 5)
    # Unigram's pieces carry no line ends: the words stay apart all the same.
    assert words(encode(unigram(), f"שלום{end}עולם")) == ["שלום", "עולם"]


def test_every_space_of_byte_level_pieces_is_there_once() -> None:
    encoding = encode(byte_bpe(), "  a  b ")
    assert labels(encoding) == ["␣", "␣", "a", "␣", "b", "␣"]
    spans = [(t.start, t.end) for t in encoding.tokens[1:-1]]
    assert spans == [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 7)]


def without_prefix_space() -> PreTrainedTokenizerFast:
    """Unigram as LLaMA's later tokenizers use it: no ▁ before the first word."""
    own = unigram().backend_tokenizer
    made = own.from_str(own.to_str())
    made.pre_tokenizer = Metaspace(prepend_scheme="never")
    return PreTrainedTokenizerFast(tokenizer_object=made, cls_token="<s>", sep_token="</s>")


def test_sentencepiece_with_and_without_a_prefix_space_gives_the_same_words() -> None:
    with_space, without = (encode(made, "dog fox") for made in (unigram(), without_prefix_space()))
    assert with_space.tokens[1].text == "▁"
    assert without.tokens[1].text == "d"
    assert words(with_space) == words(without) == ["dog", "fox"]
    assert (without.tokens[1].start, without.tokens[1].end) == (0, 1)


def test_a_lone_space_mark_before_a_word_has_a_span_of_its_own() -> None:
    # The tokenizer's spans of ▁ and b overlap; here none does.
    encoding = encode(unigram(), "a 我")
    assert [(t.label, t.start, t.end) for t in encoding.tokens[1:-1]] == [
        ("␣", 0, 0),
        ("a", 0, 1),
        ("␣", 1, 2),
        ("我", 2, 3),
    ]


def test_flags_and_skin_tones_are_one_word() -> None:
    for tokenizer in (wordpiece, byte_bpe, unigram, fallback_bpe):
        assert words(encode(tokenizer(), "👍🏽🏳️‍🌈")) == ["👍🏽🏳️‍🌈"]


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


def test_ten_thousand_words_come_in_windows() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    windows = lens("the " * 10_000, window=64, overlap=0)
    # 62 of 10,000 in each but the last, beside [CLS] and [SEP]
    assert len(windows) == 162
    assert len(windows[161].tokens) == 10_000 - 161 * 62 + 2
    assert windows[161].weights(0).shape == (4, 20, 20)


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
