"""Models of images and sounds: patches are named by row and column, frames by seconds."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from transformers import (
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperModel,
)

import bertlens as bl
from tests.python import tiny_models
from tests.python.tiny import eager_weights, tokenizer_for


def test_an_images_patches_are_tokens_by_row_and_column() -> None:
    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
    )
    model = ViTForImageClassification(config).eval()
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    image = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    lens = bl.Lens(model, processor)
    attention = lens(image, exact=True)
    pixels = processor(image, return_tensors="pt")
    wanted = eager_weights(copy.deepcopy(model), pixels)[:, 0]
    np.testing.assert_allclose(attention.weights(), wanted, atol=1e-6, rtol=0)
    # [CLS] and 4 x 4 patches
    labels = [t.label for t in attention.tokens]
    assert labels[:3] == ["[CLS]", "image 0,0", "image 0,1"]
    assert labels[1 + 4 * 3 + 2] == "image 3,2"
    assert [t.special for t in attention.tokens] == [True] + [False] * 16
    by_hand = lens(inputs=dict(pixels), exact=True)
    np.testing.assert_array_equal(by_hand.weights(), attention.weights())
    assert attention.to_words().weights(0).shape == (4, 17, 17)
    assert attention.scores["entropy"].values.shape == (2, 4)


def test_an_image_is_explored_without_a_box_for_text() -> None:
    config = ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, image_size=32)
    model = ViTForImageClassification(config).eval()
    attention = bl.Lens(model)(inputs={"pixel_values": torch.zeros(1, 3, 32, 32)})
    view = attention.explore()
    assert not view.editable
    assert view.meta["from"]["label"][:2] == ["[CLS]", "image 0,0"]


def test_a_model_that_needs_more_than_a_text_says_so() -> None:
    tiny = tiny_models.tiny_model("clip")
    lens = bl.Lens(tiny.model, tokenizer_for("bert"))
    with pytest.raises(bl.BertlensError, match=r"CLIPModel does not run on input_ids, .*inputs="):
        lens("the dog")
    whole = lens(inputs={name: tensor[:1] for name, tensor in tiny.inputs.items()})
    assert whole.kinds == ("vision", "text")
    assert whole.kind("text").weights(0).shape == (4, 12, 12)


def test_a_sounds_frames_are_tokens_by_seconds() -> None:
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
        vocab_size=100,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )
    model = WhisperModel(config).eval()
    extractor = WhisperFeatureExtractor(chunk_length=1)
    sound = np.sin(np.arange(16000) / 20).astype(np.float32)
    attention = bl.Lens(model, extractor)(sound)
    assert attention.kinds == ("encoder",)
    # one second in 50 positions
    assert [t.label for t in attention.tokens[:3]] == ["0.00 s", "0.02 s", "0.04 s"]
    assert len(attention.tokens) == 50
    np.testing.assert_allclose(attention.weights().sum(-1), 1, atol=1e-5)


def test_a_model_of_images_says_that_it_takes_no_text() -> None:
    config = ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, image_size=32)
    model = ViTForImageClassification(config)
    with pytest.raises(TypeError, match=r"takes pixel_values, not text.*inputs="):
        bl.Lens(model)("I went.")
