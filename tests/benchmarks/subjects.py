"""The models and texts that both sides are measured on."""

from __future__ import annotations

from functools import cache
from pydoc_data.topics import topics
from typing import Any

import torch

import bertlens as bl

LENGTHS = (16, 128, 256, 512)


def prose() -> str:
    """English prose that every Python brings along: its own reference on objects."""
    return " ".join(word for word in topics["objects"].split() if any(map(str.isalnum, word)))


@cache
def minilm() -> bl.Lens:
    """The packaged model, 6 layers x 12 heads, on one thread."""
    torch.set_num_threads(1)
    return bl.Lens.demo()


@cache
def base_size() -> bl.Lens:
    """A model of BERT-base's size, 12 x 12, with random weights."""
    from transformers import BertConfig, BertModel

    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = minilm().tokenizer
    model = BertModel(BertConfig(vocab_size=len(tokenizer))).eval()
    return bl.Lens(model, tokenizer, name="BERT-base size")


def text_of(n: int, skipped: int = 0) -> str:
    """Prose of exactly `n` wordpieces, [CLS] and [SEP] included, after `skipped` words."""
    tokenizer = minilm().tokenizer
    words = prose().split()[skipped:]
    for count in range(n, 0, -1):
        text = " ".join(words[:count])
        length = len(tokenizer(text, verbose=False)["input_ids"])
        if length == n:
            return text
        if length < n:  # the last word had several pieces: fill up with words of one
            return text + " a" * (n - length)
    raise ValueError(f"no text of {n} tokens")


@cache
def eager(n: int) -> tuple[tuple[Any, ...], list[str]]:
    """What BertViz is given: the attentions of every layer and the tokens, for `n` tokens."""
    from transformers import AutoModel

    tokenizer = minilm().tokenizer
    model = AutoModel.from_pretrained(minilm().model.name_or_path, attn_implementation="eager")
    inputs = tokenizer(text_of(n), return_tensors="pt")
    assert inputs["input_ids"].shape == (1, n)
    with torch.no_grad():
        attentions = model(**inputs, output_attentions=True).attentions
    return attentions, tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
