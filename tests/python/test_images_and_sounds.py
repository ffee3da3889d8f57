"""Models of images and sounds: patches are named by row and column, frames by seconds."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import (
    BertForNextSentencePrediction,
    GPT2Config,
    GPT2LMHeadModel,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessor,
    ViTModel,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
    WhisperModel,
    pipeline,
)

import bertlens as bl
from tests.python import tiny_models
from tests.python.tiny import byte_bpe, eager_weights, tiny, tokenizer_for


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
    clip = tiny_models.tiny_model("clip")
    lens = bl.Lens(clip.model, tokenizer_for("bert"))
    with pytest.raises(bl.BertlensError, match=r"CLIPModel does not run on input_ids, .*inputs="):
        lens("the dog")
    whole = lens(inputs={name: tensor[:1] for name, tensor in clip.inputs.items()})
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


def _image() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)


def _vit(**settings: object) -> ViTConfig:
    return ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=48,
        image_size=32,
        patch_size=8,
        **settings,
    )


def test_a_classifier_of_images_says_its_label_and_a_pipeline_brings_its_processor() -> None:
    torch.manual_seed(0)
    model = ViTForImageClassification(_vit(id2label={0: "cat", 1: "dog", 2: "hat"})).eval()
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    pipe = pipeline("image-classification", model=model, image_processor=processor)
    image = _image()
    with torch.no_grad():
        chances = model(**processor(image, return_tensors="pt")).logits[0].softmax(-1)
    prediction = bl.Lens(pipe)(image).prediction
    assert prediction is not None
    assert prediction.label == model.config.id2label[int(chances.argmax())]
    assert prediction.probability == pytest.approx(float(chances.max()), abs=1e-5)
    assert len(prediction.ranked) == 3


def test_a_head_for_the_next_sentence_says_what_its_labels_mean() -> None:
    torch.manual_seed(0)
    base = tokenizer_for("bert")
    config = copy.deepcopy(tiny("bert").config)
    model = BertForNextSentencePrediction(config).eval()
    for bias, label in (((9.0, 0.0), "is the next sentence"), ((0.0, 9.0), "is a random sentence")):
        model.cls.seq_relationship.bias.data = torch.tensor(bias)
        prediction = bl.Lens(model, base)("the cat sat", "the dog went").prediction
        assert prediction is not None
        assert prediction.label == label


def test_a_sound_and_what_is_written_about_it() -> None:
    torch.manual_seed(0)
    tokenizer = byte_bpe()
    start = tokenizer.convert_tokens_to_ids("<s>")
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
        bos_token_id=start,
        eos_token_id=2,
        decoder_start_token_id=start,
    )
    model = WhisperForConditionalGeneration(config).eval()
    extractor = WhisperFeatureExtractor(chunk_length=1)
    sound = np.sin(np.arange(16000) / 20).astype(np.float32)
    processor = SimpleNamespace(feature_extractor=extractor, tokenizer=tokenizer)
    attention = bl.Lens(model, processor)(sound, "The cat sat")
    assert attention.kinds == ("encoder", "decoder", "cross")
    cross = attention.kind("cross")
    ids = tokenizer("The cat sat", add_special_tokens=False)["input_ids"]
    pieces = tokenizer.convert_ids_to_tokens([start, *ids])
    assert [t.text for t in cross.tokens] == pieces
    assert cross.to_tokens[1].label == "0.02 s"
    features = extractor(sound, sampling_rate=16000, return_tensors="pt")
    wanted = copy.deepcopy(model)
    wanted.set_attn_implementation("eager")
    with torch.no_grad():
        out = wanted(
            **features, decoder_input_ids=torch.tensor([[start, *ids]]), output_attentions=True
        )
    np.testing.assert_allclose(cross.weights(1), out.cross_attentions[1][0].numpy(), atol=1e-5)
    with pytest.raises(TypeError, match="no tokenizer for a text"):
        bl.Lens(model, extractor)(sound, "The cat sat")


def test_an_image_and_what_is_written_about_it() -> None:
    torch.manual_seed(0)
    tokenizer = byte_bpe()
    decoder = GPT2LMHeadModel(
        GPT2Config(
            n_embd=32,
            n_layer=2,
            n_head=4,
            vocab_size=420,
            n_positions=64,
            add_cross_attention=True,
            is_decoder=True,
        )
    )
    model = VisionEncoderDecoderModel(encoder=ViTModel(_vit()), decoder=decoder).eval()
    model.config.decoder_start_token_id = tokenizer.convert_tokens_to_ids("<s>")
    model.config.pad_token_id = 0
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    both = SimpleNamespace(image_processor=processor, tokenizer=tokenizer)
    attention = bl.Lens(model, both)(_image(), "The cat sat")
    assert len(attention.kinds) == 3
    cross = attention.kind("cross")
    assert "".join(t.label for t in cross.tokens if not t.special) == "Thecatsat"
    assert cross.to_tokens[1].label == "image 0,0"
    vit = bl.Lens(ViTForImageClassification(_vit()).eval(), processor)
    with pytest.raises(TypeError, match="no decoder"):
        vit(_image(), "The cat sat")
