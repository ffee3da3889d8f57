"""Four kinds of tokenizers, trained here on a few lines in many scripts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

LINES = [
    "I went to the store. At the store, I bought fresh strawberries.",
    "Don't you think that the quick brown fox jumps over the lazy dog?",
    "Héloïse Müller naïvely ate a crème brûlée in São Paulo.",
    "我去了商店,买了新鲜的草莓。",
    "私は店に行って、新鮮なイチゴを買いました。ハンカクカナ",
    "나는 가게에 가서 신선한 딸기를 샀다.",
    "ذهبت إلى المتجر واشتريت فراولة طازجة.",
    "הלכתי לחנות וקניתי תותים טריים.",
    "ฉันไปที่ร้านและซื้อสตรอเบอร์รี่สด",
    "मैं दुकान गया और ताज़ी स्ट्रॉबेरी खरीदी।",
    "👩‍👩‍👧 🍓🍓 👍🏽 🏳️‍🌈 𝒜𝓁𝓅𝒽𝒶 ∑ ∫",
]


def _wrapped(
    tokenizer: Tokenizer, cls: str, sep: str, pad: str, unk: str
) -> PreTrainedTokenizerFast:
    tokenizer.post_processor = TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} $B:1 {sep}:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (cls, sep)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token=cls, sep_token=sep, pad_token=pad, unk_token=unk
    )


@cache
def wordpiece() -> PreTrainedTokenizerFast:
    """BERT's: lower case, no accents, [UNK] for what it has never seen."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    )
    tokenizer.train_from_iterator(LINES[:4], trainer)
    return _wrapped(tokenizer, "[CLS]", "[SEP]", "[PAD]", "[UNK]")


@cache
def byte_bpe() -> PreTrainedTokenizerFast:
    """GPT-2's and RoBERTa's: bytes, so that nothing is unknown."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return _wrapped(tokenizer, "<s>", "</s>", "<pad>", "<unk>")


@cache
def unigram() -> PreTrainedTokenizerFast:
    """XLM-R's and T5's: SentencePiece's Unigram, with ▁ for a space."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>"
    )
    tokenizer.train_from_iterator(LINES, trainer)
    tokenizer.decoder = decoders.Metaspace()
    return _wrapped(tokenizer, "<s>", "</s>", "<pad>", "<unk>")


@cache
def fallback_bpe() -> PreTrainedTokenizerFast:
    """LLaMA's: SentencePiece's BPE without a pre-tokenizer, bytes for what it has never seen."""
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=[*specials, *(f"<0x{i:02X}>" for i in range(256))]
    )
    tokenizer.train_from_iterator(LINES[:4], trainer)
    return _wrapped(tokenizer, "<s>", "</s>", "<pad>", "<unk>")


KINDS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "wordpiece": wordpiece,
    "byte-level BPE": byte_bpe,
    "unigram": unigram,
    "BPE with byte fallback": fallback_bpe,
}
