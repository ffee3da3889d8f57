"""A Lens: what it takes, and what it says when it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    FNetConfig,
    FNetModel,
    GPT2Config,
    GPT2LMHeadModel,
    MambaConfig,
    MambaModel,
    ViTConfig,
    ViTImageProcessor,
    ViTModel,
)

import bertlens as bl
from bertlens.errors import (
    EmptyTextError,
    NoAttentionError,
    TextTooLongError,
    VocabularyError,
)
from tests.python.tiny import tiny, tokenizer_for


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


def test_the_model_and_tokenizer_are_the_persons_own() -> None:
    model, tokenizer = tiny("bert"), tokenizer_for("bert")
    lens = bl.Lens(model, tokenizer)
    assert lens.model is model
    assert lens.tokenizer is tokenizer


def test_a_model_comes_from_a_folder(tmp_path: Any) -> None:
    tiny("bert").save_pretrained(tmp_path / "mine")
    tokenizer_for("bert").save_pretrained(tmp_path / "mine")
    lens = bl.Lens.from_pretrained(tmp_path / "mine")
    assert lens.name == "mine"
    assert lens("I went to the store.").n_layers == 3


def test_the_packaged_model_has_six_layers_of_twelve_heads(demo: bl.Lens) -> None:
    attention = demo("I went to the store.")
    assert (attention.n_layers, attention.n_heads) == (6, 12)
    assert attention.model_name == "all-MiniLM-L6-v2"
    assert attention.dtype == "float32"


def test_a_name_instead_of_a_model_is_pointed_to_from_pretrained() -> None:
    with pytest.raises(TypeError, match=r"not str.*Lens\.from_pretrained"):
        bl.Lens("bert-base-uncased", tokenizer_for("bert"))  # type: ignore[arg-type]


def test_something_else_instead_of_a_tokenizer_is_named() -> None:
    with pytest.raises(TypeError, match="must be a transformers tokenizer, not dict"):
        bl.Lens(tiny("bert"), {})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "​"])
def test_a_text_without_a_token_is_an_error(lens: bl.Lens, text: str) -> None:
    with pytest.raises(EmptyTextError, match="empty"):
        lens(text)
    with pytest.raises(EmptyTextError):
        lens(words=[text])
    with pytest.raises(EmptyTextError):
        lens(words=[])


@pytest.mark.parametrize("text", [3, b"I went", 1.5, {"text": "I"}])
def test_a_text_that_is_no_string_is_named_by_its_type(lens: bl.Lens, text: Any) -> None:
    with pytest.raises(TypeError, match=f"must be a string, not {type(text).__name__}"):
        lens(text)
    with pytest.raises(TypeError, match=f"must be a string, not {type(text).__name__}"):
        lens("I went.", text)


def test_a_list_instead_of_a_text_is_pointed_to_words(lens: bl.Lens) -> None:
    with pytest.raises(TypeError, match="words="):
        lens(["I", "went"])  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [{}, {"text": "I", "words": ["I"]}])
def test_either_a_text_or_words_is_given(lens: bl.Lens, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="Give either a text or words"):
        lens(**arguments)


def test_words_are_a_list_of_strings(lens: bl.Lens) -> None:
    with pytest.raises(TypeError, match="list of strings"):
        lens(words="I went")
    with pytest.raises(TypeError, match="list of strings"):
        lens(words=["I", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="text_pair goes with text"):
        lens(words=["I"], text_pair="went")
    with pytest.raises(TypeError, match="words_pair goes with words"):
        lens("I", words_pair=["went"])


def test_a_text_past_the_limit_is_an_error_with_both_lengths(lens: bl.Lens) -> None:
    # 100 times "the", [CLS] and [SEP], in a model of 64 positions
    with pytest.raises(TextTooLongError, match=r"102 tokens.* 64\. .*truncate=True"):
        lens("the " * 100)


def test_a_text_past_the_limit_is_cut_when_asked_and_says_so(lens: bl.Lens) -> None:
    attention = lens("the " * 100, truncate=True)
    assert len(attention.tokens) == 64
    assert attention.tokens[-1].text == "[SEP]"
    assert attention.notes == ("Cut to 64 of 102 tokens.",)


def test_a_text_within_the_limit_carries_no_note(lens: bl.Lens) -> None:
    assert lens("the " * 62, truncate=True).notes == ()


@pytest.mark.parametrize(
    ("family", "limit"), [("bert", 64), ("roberta", 64), ("gpt2", 64), ("llama", 64)]
)
def test_the_limit_is_the_number_of_usable_positions(family: str, limit: int) -> None:
    # RoBERTa has 66 positions of which padding takes the first two.
    lens = bl.Lens(tiny(family), tokenizer_for(family))
    assert lens.max_tokens == limit
    specials = len(lens.encode("x").tokens) - 1
    assert len(lens("x" * (limit - specials)).tokens) == limit


def test_a_text_with_an_id_that_the_model_does_not_embed_is_an_error() -> None:
    config = BertConfig(
        vocab_size=50,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
    )
    tokenizer = tokenizer_for("bert")
    lens = bl.Lens(BertModel(config), tokenizer)
    with pytest.raises(VocabularyError, match=r"The token '\w+' has the id \d+ .* only 50"):
        lens("I went to the store.")


def test_fnet_has_no_attention() -> None:
    config = FNetConfig(vocab_size=420, hidden_size=16, num_hidden_layers=2, intermediate_size=16)
    lens = bl.Lens(FNetModel(config).eval(), tokenizer_for("bert"))
    with pytest.raises(NoAttentionError, match="FNetModel has no attention"):
        lens("I went to the store.")


def test_mamba_has_no_attention() -> None:
    config = MambaConfig(vocab_size=420, hidden_size=16, num_hidden_layers=2, state_size=4)
    lens = bl.Lens(MambaModel(config).eval(), tokenizer_for("gpt2"))
    with pytest.raises(NoAttentionError, match="MambaModel has no attention"):
        lens("I went to the store.")


def test_the_lens_names_model_and_precision() -> None:
    model = tiny("bert").to(torch.float16)
    lens = bl.Lens(model, tokenizer_for("bert"), name="mine")
    assert repr(lens) == "<Lens mine (BertModel, float16)>"


@pytest.mark.parametrize(
    ("cls", "says"),
    [
        (BertForSequenceClassification, "BertForSequenceClassification"),
        (BertForMaskedLM, "BertModel"),
        (BertModel, "BertModel"),
    ],
)
def test_a_fine_tuned_model_is_loaded_with_the_head_that_says_something(
    cls: Any, says: str, tmp_path: Any
) -> None:
    config = BertConfig(
        vocab_size=420,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
    )
    cls(config).save_pretrained(tmp_path)
    tokenizer_for("bert").save_pretrained(tmp_path)
    lens = bl.Lens.from_pretrained(tmp_path)
    assert type(lens.model).__name__ == says
    assert (lens("I went.").prediction is not None) == says.endswith("Classification")


def test_a_language_model_is_loaded_with_the_head_that_writes(tmp_path: Any) -> None:
    config = GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=420, n_positions=64)
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    tokenizer_for("gpt2").save_pretrained(tmp_path)
    lens = bl.Lens.from_pretrained(tmp_path)
    assert len(lens.generate("I went", max_new_tokens=3).tokens) > 3


def test_a_model_of_images_is_loaded_with_its_processor(tmp_path: Any) -> None:
    config = ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=32)
    ViTModel(config).save_pretrained(tmp_path)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    lens = bl.Lens.from_pretrained(tmp_path)
    image = np.zeros((32, 32, 3), np.uint8)
    assert len(lens(image).tokens) == 5  # [CLS] and 2 x 2 patches of 16


def test_a_folder_gives_its_last_part_as_name(tmp_path: Path) -> None:
    folder = tmp_path / "my-bert"
    tiny("bert").save_pretrained(folder)
    tokenizer_for("bert").save_pretrained(folder)
    assert bl.Lens.from_pretrained(folder).name == "my-bert"
    loaded = transformers.AutoModel.from_pretrained(folder)
    assert bl.Lens(loaded, tokenizer_for("bert")).name == "my-bert"


def test_arguments_that_would_change_nothing_are_refused() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    with pytest.raises(TypeError, match="give window="):
        lens("I went to the store.", overlap=2)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="leave out truncate="):
        lens("I went to the store.", window=8, truncate=True)  # type: ignore[call-overload]
