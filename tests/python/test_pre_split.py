"""Words that were split beforehand, with every kind of tokenizer."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertTokenizerLegacy,
    ByT5Tokenizer,
    CanineTokenizer,
    PreTrainedTokenizer,
    PreTrainedTokenizerFast,
)

import bertlens as bl
from bertlens.errors import TextTooLongError
from bertlens.text.encoding import Encoding, encode
from tests.python.tiny import SENTENCES, tiny
from tests.python.tokenizers import byte_bpe, fallback_bpe, unigram, wordpiece

GIVEN = ["store", "the", "cat", "did", "n't", "mind", "(", "café", ")", "."]

QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How Qwen2 cuts a text: a digit at a time."""


@cache
def qwen_like() -> PreTrainedTokenizerFast:
    """Byte-level BPE whose pre-tokenizer is a sequence, without a setting for a space before."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<|endoftext|>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<pad>"
    )


def bert_without_offsets(tmp_path: Any) -> Any:
    vocabulary = tmp_path / "vocab.txt"
    pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] store the cat did n ' t mind ( cafe ) . ##s".split()
    vocabulary.write_text("\n".join(pieces), encoding="utf-8")
    return BertTokenizerLegacy(str(vocabulary))


def texts_of(encoding: Encoding) -> list[str]:
    return [word.text for word in encoding.words if not word.special]


@pytest.mark.parametrize("make", [wordpiece, byte_bpe, unigram, fallback_bpe, qwen_like])
def test_tokens_are_those_of_the_joined_text_and_words_are_the_given_ones(make: Any) -> None:
    split = encode(make(), GIVEN)
    joined = encode(make(), " ".join(GIVEN))
    assert split.inputs["input_ids"] == joined.inputs["input_ids"]
    assert texts_of(split) == GIVEN
    for word in split.words:
        if not word.special:
            own = [split.tokens[i] for i in word.tokens]
            assert "".join(t.label for t in own if t.label not in "⋮␣") == word.text
            assert split.text[own[0].start : own[-1].end] == word.text


@pytest.mark.parametrize("make", [byte_bpe, qwen_like])
def test_no_label_loses_its_first_letter(make: Any) -> None:
    encoding = encode(make(), ["store", "the", "cat"])
    labels = [token.label for token in encoding.tokens if not token.special]
    assert "".join(labels).replace("␣", "") == "storethecat"
    # A space comes before each word but the first, as in running text.
    first = [encoding.tokens[word.tokens[0]].text for word in encoding.words if not word.special]
    assert [piece.startswith("Ġ") for piece in first] == [False, True, True]


@pytest.mark.parametrize("make", [ByT5Tokenizer, CanineTokenizer, bert_without_offsets])
def test_a_tokenizer_without_offsets_reads_a_word_at_a_time(make: Any, tmp_path: Any) -> None:
    tokenizer = make(tmp_path) if make is bert_without_offsets else make()
    encoding = encode(tokenizer, GIVEN)
    assert texts_of(encoding) == GIVEN
    assert [word.index for word in encoding.words if not word.special] == list(range(len(GIVEN)))
    joined = encode(tokenizer, " ".join(GIVEN))
    assert encoding.inputs["input_ids"] == joined.inputs["input_ids"]
    pair = encode(tokenizer, ["the", "cat"], ["did", "mind"])
    assert texts_of(pair) == ["the", "cat", "did", "mind"]
    assert {w.text: w.segment for w in pair.words if not w.special} == {
        "the": 0, "cat": 0, "did": 1, "mind": 1
    }  # fmt: skip


def test_words_without_offsets_are_cut_and_too_long_ones_are_said() -> None:
    tokenizer = ByT5Tokenizer()
    with pytest.raises(TextTooLongError, match="takes 12"):
        encode(tokenizer, GIVEN, limit=12)
    cut = encode(tokenizer, GIVEN, limit=12, truncate=True)
    assert len(cut) == 12
    assert cut.tokens[-1].special
    assert "Cut to 12 of" in cut.notes[-1]
    # The longer text is cut first, as transformers does it.
    pair = encode(tokenizer, ["abcdefghij"], ["xyz"], limit=9, truncate=True)
    alone = tokenizer("abcdefghij", "xyz", truncation=True, max_length=9)["input_ids"]
    assert pair.inputs["input_ids"] == alone


def test_bytes_of_one_character_are_shown_once() -> None:
    encoding = encode(ByT5Tokenizer(), "né 🍓")
    labels = [token.label for token in encoding.tokens if not token.special]
    assert labels == ["n", "é", "⋮", "␣", "🍓", "⋮", "⋮", "⋮"]


class WithoutOffsets(PreTrainedTokenizer):
    """A tokenizer whose pieces are bytes, as Qwen's first one had them."""

    def __init__(self, **options: Any) -> None:
        self._ids = {bytes([i]): i for i in range(256)} | {b" the": 256, b" caf\xc3": 257}
        super().__init__(eos_token="<end>", **options)

    @property
    def vocab_size(self) -> int:
        return 258

    def get_vocab(self) -> dict[str, int]:
        return {str(piece): i for piece, i in self._ids.items()} | self.added_tokens_encoder

    def _tokenize(self, text: str, **_: Any) -> list[Any]:
        data, found = text.encode(), []
        while data:
            piece = next((p for p in (b" the", b" caf\xc3") if data.startswith(p)), data[:1])
            found.append(piece)
            data = data[len(piece) :]
        return found

    def _convert_token_to_id(self, token: Any) -> int:
        return self._ids[token]

    def _convert_id_to_token(self, index: int) -> Any:
        return next(piece for piece, i in self._ids.items() if i == index)


def test_pieces_that_are_bytes_are_read_as_text() -> None:
    encoding = encode(WithoutOffsets(), "a the café")
    assert [token.label for token in encoding.tokens] == ["a", "the", "café"[:3] + "é", "⋮"]
    assert texts_of(encoding)[:2] == ["a", "the"]
    assert not any(token.text.startswith("b'") for token in encoding.tokens)


class MistralLike:
    """What mistral-common's backend has: no `is_fast`, one text at a time, no offsets."""

    all_special_ids = (1, 2)
    unk_token_id = 0
    pad_token_id = None
    model_max_length = 10**30
    _pieces = ("<unk>", "<s>", "</s>", "The", " cat", " sat", ".")

    def __len__(self) -> int:
        return len(self._pieces)

    def __call__(self, text: str, *, add_special_tokens: bool = True, truncation: Any = None,
                 max_length: Any = None, return_special_tokens_mask: bool = False,
                 verbose: bool = True) -> dict[str, list[int]]:  # fmt: skip
        ids = []
        while text:
            piece = next(p for p in self._pieces[3:] if text.startswith(p))
            ids.append(self._pieces.index(piece))
            text = text[len(piece) :]
        ids = [1, *ids] if add_special_tokens else ids
        ids = ids[:max_length] if truncation else ids
        mask = [int(i < 3) for i in ids]
        made = {"input_ids": ids, "attention_mask": [1] * len(ids)}
        return {**made, "special_tokens_mask": mask} if return_special_tokens_mask else made

    def convert_ids_to_tokens(self, ids: Any) -> Any:
        return self._pieces[ids] if isinstance(ids, int) else [self._pieces[i] for i in ids]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        return 1

    def prepare_for_model(self, ids: list[int], **_: Any) -> dict[str, list[int]]:
        return {
            "input_ids": [1, *ids],
            "attention_mask": [1] * (len(ids) + 1),
            "special_tokens_mask": [1] + [0] * len(ids),
        }


def test_a_tokenizer_is_asked_for_what_it_can_do() -> None:
    tokenizer: Any = MistralLike()
    lens = bl.Lens(tiny("llama"), tokenizer)
    att = lens("The cat sat.")
    assert [token.label for token in att.tokens] == ["<s>", "The", "cat", "sat", "."]
    assert [word.text for word in att.words] == ["<s>", "The", "cat", "sat."]
    assert [w.text for w in lens(words=["The", "cat"]).words] == ["<s>", "The", "cat"]
    scores = lens.scan(["The cat sat.", "The cat."], progress=False)
    assert scores.coverage.counted == 2
    assert len(lens.explore("The cat sat.").attention.tokens) == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In 2024, yes", ["In", "2024", ",", "yes"]),
        ("In 2024 we", ["In", "2024", "we"]),
        ("abc123def", ["abc123def"]),
        ("3.14", ["3", ".", "14"]),
    ],
)
def test_numbers_are_words_though_a_tokenizer_parts_their_digits(
    text: str, expected: list[str]
) -> None:
    assert texts_of(encode(qwen_like(), text)) == expected


def test_a_token_that_begins_with_a_bracket_does_not_part_the_word_after_it() -> None:
    words = texts_of(encode(qwen_like(), "a (café) b"))
    assert "".join(words) == "a(café)b"
    assert any("café" in word for word in words)


def test_chinese_words_stay_single_characters() -> None:
    assert texts_of(encode(wordpiece(), "我去了")) == ["我", "去", "了"]
