"""A model's own inputs: ids are labelled by the tokenizer, images by row and column."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)

import bertlens as bl
from tests.python.tiny import byte_bpe, tiny, tokenizer_for, wordpiece

PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
def test_plain_ids_are_labelled_as_the_text_is(family: str) -> None:
    tokenizer = tokenizer_for(family)
    lens = bl.Lens(tiny(family), tokenizer)
    text = PAIR[1].lower() if family == "bert" else PAIR[1]
    expected = lens(text)
    found = lens(inputs=tokenizer(text, return_tensors="pt"))
    assert [t.label for t in found.tokens] == [t.label for t in expected.tokens]
    assert [w.text for w in found.words] == [w.text for w in expected.words]
    assert found.text == text
    np.testing.assert_allclose(found.weights(), expected.weights(), atol=1e-6)


def test_ids_of_a_pair_keep_their_segments() -> None:
    lens = bl.Lens(tiny("bert"), wordpiece())
    lowered = [text.lower() for text in PAIR]
    expected = lens(*lowered)
    both = wordpiece()(*lowered, return_tensors="pt", return_token_type_ids=True)
    found = lens(inputs=both)
    assert found.tokens == expected.tokens
    assert (found.text, found.text_pair) == tuple(lowered)


def test_a_chat_is_labelled_and_has_one_beginning() -> None:
    tokenizer = byte_bpe()
    template = (
        "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{{ eos_token }}"
        "{% endfor %}"
    )
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": "The cat"}, {"role": "bot", "content": "sat on the mat"}],
        chat_template=template,
        return_dict=True,
        return_tensors="pt",
    )
    attention = bl.Lens(tiny("llama"), tokenizer)(inputs=inputs)
    assert len(attention.tokens) == inputs["input_ids"].shape[1]
    assert [t.text for t in attention.tokens] == tokenizer.convert_ids_to_tokens(
        inputs["input_ids"][0].tolist()
    )
    words = [word.text for word in attention.words]
    assert words.count("<s>") == 1
    assert words.count("</s>") == 2
    assert {"The", "cat", "sat", "on", "the", "mat"} <= set(words)
    assert [t.label for t in attention.tokens if t.special] == ["<s>", "</s>", "</s>"]


def test_ids_that_no_text_gives_are_labelled_by_their_pieces() -> None:
    tokenizer = byte_bpe()
    ids = tokenizer("you", add_special_tokens=False)["input_ids"]
    letters = [tokenizer.convert_tokens_to_ids(letter) for letter in "you"]
    assert letters != ids
    attention = bl.Lens(tiny("gpt2"), tokenizer)(inputs={"input_ids": torch.tensor([letters])})
    assert [t.label for t in attention.tokens] == ["y", "o", "u"]
    assert [w.text for w in attention.words] == ["you"]


def test_a_list_of_ids_will_do_and_ids_without_a_name_are_numbered() -> None:
    lens = bl.Lens(tiny("bert"), wordpiece())
    assert lens(inputs={"input_ids": [2, 7, 3]}).tokens[0].label == "[CLS]"
    beyond = len(wordpiece()) + 5
    attention = lens(inputs={"input_ids": torch.tensor([[2, beyond, 3]])})
    assert [t.label for t in attention.tokens] == ["0", "1", "2"]


def test_a_batch_of_inputs_is_an_error() -> None:
    lens = bl.Lens(tiny("bert"), wordpiece())
    with pytest.raises(ValueError, match=r"batch of 2: input_ids is \(2, 3\)"):
        lens(inputs={"input_ids": torch.tensor([[2, 7, 3], [2, 8, 3]])})


def test_an_images_places_in_a_text() -> None:
    tokenizer: Any = wordpiece()
    vocabulary = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 48,
    }
    place = tokenizer.convert_tokens_to_ids("[MASK]")
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**vocabulary, image_size=32, patch_size=8),
        text_config=LlamaConfig(**vocabulary, vocab_size=420, max_position_embeddings=64),
        image_token_id=place,
        vision_feature_layer=-1,
    )
    torch.manual_seed(0)
    model = LlavaForConditionalGeneration(config).eval()
    words = tokenizer("the cat sat", add_special_tokens=False)["input_ids"]
    ids = torch.tensor([[*words[:1], *[place] * 16, *words[1:]]])
    attention = bl.Lens(model, tokenizer)(
        inputs={"input_ids": ids, "pixel_values": torch.rand(1, 3, 32, 32)}
    )
    kind = next(
        name for name in attention.kinds if len(attention.kind(name).tokens) == ids.shape[1]
    )
    tokens = attention.kind(kind).tokens
    labels = [t.label for t in tokens]
    assert labels[0] == "the"
    assert labels[1:17] == [f"image {r},{c}" for r in range(4) for c in range(4)]
    assert "cat" in "".join(labels[17:])
    assert not any(t.special for t in tokens[1:17])


def test_the_text_that_a_decoder_of_sounds_reads() -> None:
    torch.manual_seed(0)
    config = WhisperConfig(
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_source_positions=50,
        max_target_positions=16,
        vocab_size=420,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    model = WhisperForConditionalGeneration(config).eval()
    extractor = WhisperFeatureExtractor(chunk_length=1)
    processor = SimpleNamespace(feature_extractor=extractor, tokenizer=byte_bpe())
    features = extractor(np.zeros(16000, np.float32), sampling_rate=16000, return_tensors="pt")
    ids = byte_bpe()("The cat", return_tensors="pt")["input_ids"]
    attention = bl.Lens(model, processor)(inputs={**features, "decoder_input_ids": ids})
    assert attention.kinds == ("encoder", "decoder", "cross")
    cross = attention.kind("cross")
    assert [t.text for t in cross.tokens] == byte_bpe().convert_ids_to_tokens(ids[0].tolist())
    assert "".join(t.label for t in cross.tokens if not t.special) == "Thecat"
    assert [t.label for t in cross.to_tokens[:2]] == ["0.00 s", "0.02 s"]
    assert attention.kind("decoder").tokens == cross.tokens
