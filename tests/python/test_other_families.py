"""Families that once came out wrong or not at all: kinds, poolers, streams, chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import (
    BertConfig,
    BertModel,
    Data2VecVisionConfig,
    Data2VecVisionModel,
    DetrConfig,
    DetrModel,
    DINOv3ViTConfig,
    DINOv3ViTModel,
    LxmertConfig,
    LxmertModel,
    ProphetNetConfig,
    ProphetNetModel,
    ResNetConfig,
    Sam3LiteTextTextConfig,
    VideoPrismConfig,
    ViltConfig,
    ViltModel,
)
from transformers.models.sam3_lite_text.modeling_sam3_lite_text import Sam3LiteTextTextModel
from transformers.models.videoprism.modeling_videoprism import VideoPrismClipModel

import bertlens as bl
from bertlens import capture

_SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}
_PICTURES = {"image_size": 32, "patch_size": 8}
_IDS = {"input_ids": torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12]])}


def made(model: type, config: Any) -> Any:
    torch.manual_seed(0)
    return model(config).eval()


def pixels(size: int = 32) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return {"pixel_values": torch.randn(1, 3, size, size, generator=generator)}


def listed(model: Any, inputs: dict[str, Tensor]) -> Any:
    """What the model itself returns in eager attention."""
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


def assert_layers(found: list[capture.Layer], wanted: Any) -> None:
    assert len(found) == len(wanted)
    for layer, own in zip(found, wanted, strict=True):
        torch.testing.assert_close(layer.weights(), own, atol=1e-6, rtol=0)


def test_lxmert_has_a_language_a_vision_and_a_cross_kind() -> None:
    config = LxmertConfig(
        hidden_size=32,
        num_attention_heads=4,
        intermediate_size=48,
        vocab_size=50,
        l_layers=2,
        r_layers=1,
        x_layers=3,
        visual_feat_dim=16,
    )
    generator = torch.Generator().manual_seed(1)
    inputs = {
        **_IDS,
        "visual_feats": torch.randn(1, 5, 16, generator=generator),
        "visual_pos": torch.rand(1, 5, 4, generator=generator),
    }
    stored = capture.store(made(LxmertModel, config), inputs, exact=True)
    assert stored.plan.kinds == ("language", "vision", "cross")
    own = listed(made(LxmertModel, config), inputs)
    assert_layers(stored.kinds["language"], own.language_attentions)
    assert_layers(stored.kinds["vision"], own.vision_attentions)
    # Eight words look at five regions of the picture; what the regions see is not listed.
    assert [layer.shape for layer in stored.kinds["cross"]] == [(8, 5)] * 3
    assert_layers(stored.kinds["cross"], own.cross_encoder_attentions)


def test_prophetnets_scores_become_weights_and_its_main_stream_is_shown() -> None:
    config = ProphetNetConfig(
        vocab_size=50,
        hidden_size=32,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_encoder_layers=2,
        num_decoder_layers=2,
        num_encoder_attention_heads=4,
        num_decoder_attention_heads=4,
        ngram=2,
        pad_token_id=0,
    )
    inputs = {**_IDS, "decoder_input_ids": torch.tensor([[1, 20, 21, 22, 23]])}
    stored = capture.store(made(ProphetNetModel, config), inputs, exact=True)
    assert stored.plan.kinds == ("encoder", "decoder", "cross")
    own = listed(made(ProphetNetModel, config), inputs)
    assert_layers(stored.kinds["decoder"], own.decoder_attentions)
    assert_layers(stored.kinds["encoder"], [raw.softmax(-1) for raw in own.encoder_attentions])
    # 15 rows: five tokens, then two predictions from each of them.
    assert own.cross_attentions[0].shape == (1, 4, 15, 8)
    rows = [raw[:, :, :5].softmax(-1) for raw in own.cross_attentions]
    assert_layers(stored.kinds["cross"], rows)
    assert any("decoder_ngram attention is left out" in note for note in stored.notes)
    assert any("several streams" in note for note in stored.notes)


def test_a_detector_shows_encoder_decoder_and_cross_without_a_target() -> None:
    backbone = ResNetConfig(
        embedding_size=8, hidden_sizes=[8] * 4, depths=[1] * 4, out_features=["stage4"]
    )
    config = DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        d_model=32,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        num_queries=5,
    )
    stored = capture.store(made(DetrModel, config), pixels(64), exact=True)
    own = listed(made(DetrModel, config), pixels(64))
    assert stored.plan.kinds == ("encoder", "decoder", "cross")
    assert_layers(stored.kinds["encoder"], own.encoder_attentions)
    assert_layers(stored.kinds["decoder"], own.decoder_attentions)
    assert_layers(stored.kinds["cross"], own.cross_attentions)


def test_a_model_whose_inner_stack_takes_no_pictures_is_run_as_a_whole() -> None:
    config = DINOv3ViTConfig(**_SIZES, **_PICTURES)
    stored = capture.store(made(DINOv3ViTModel, config), pixels(), exact=True)
    own = listed(made(DINOv3ViTModel, config), pixels())
    assert len(own.attentions) == 2
    assert_layers(stored.kinds["self"], own.attentions)


def test_layers_that_mix_without_attention_are_not_counted() -> None:
    config = Sam3LiteTextTextConfig(
        **{**_SIZES, "num_hidden_layers": 4}, vocab_size=50, projection_dim=32
    )
    stored = capture.store(made(Sam3LiteTextTextModel, config), _IDS, exact=True)
    own = listed(made(Sam3LiteTextTextModel, config), _IDS)
    # The first and the last of four layers are convolutions.
    assert len(own.attentions) == 2
    assert_layers(stored.kinds["self"], own.attentions)
    shallow = Sam3LiteTextTextConfig(**_SIZES, vocab_size=50, projection_dim=32)
    with pytest.raises(bl.BertlensError, match="has no attention"):
        capture.store(made(Sam3LiteTextTextModel, shallow), _IDS)


def test_a_model_made_for_sdpa_alone_says_how_to_load_it() -> None:
    config = Data2VecVisionConfig(**_SIZES, **_PICTURES)
    with pytest.raises(bl.BertlensError, match=r'Load it with attn_implementation="eager"'):
        capture.store(made(Data2VecVisionModel, config), pixels())
    config._attn_implementation = "eager"
    stored = capture.store(made(Data2VecVisionModel, config), pixels(), exact=True)
    own = listed(made(Data2VecVisionModel, config), pixels())
    assert_layers(stored.kinds["self"], own.attentions)


def test_a_pooling_head_that_asks_with_one_query_is_a_kind_of_its_own() -> None:
    vision = {
        **{name: value for name, value in _SIZES.items() if name != "num_hidden_layers"},
        "image_size": 16,
        "num_frames": 3,
        "tubelet_size": [1, 8, 8],
        "num_spatial_layers": 2,
        "num_temporal_layers": 2,
        "num_auxiliary_layers": 1,
    }
    text = {**_SIZES, "vocab_size": 50, "max_position_embeddings": 16}
    film = torch.randn(1, 3, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    model = made(VideoPrismClipModel, VideoPrismConfig(text_config=text, vision_config=vision))
    inputs = {**_IDS, "attention_mask": torch.ones(1, 8), "pixel_values_videos": film}
    stored = capture.store(model, inputs, exact=True)
    shapes = {kind: [layer.shape for layer in found] for kind, found in stored.kinds.items()}
    assert shapes == {
        "video 0": [(4, 4)] * 2,  # 2 x 2 patches of a frame
        "video 1": [(3, 3)] * 2,  # three frames of a patch
        "text": [(9, 9)] * 2,  # eight words and the model's own [CLS]
        "video_model 0": [(12, 12)],  # all patches of all frames
        "video_model 1": [(1, 12)],  # one query looks at all of them
    }


def test_patches_picked_by_chance_are_the_same_in_every_capture() -> None:
    config = ViltConfig(**_SIZES, **_PICTURES, vocab_size=50, max_image_length=4)
    model = made(ViltModel, config)
    lens_inputs = {**_IDS, **pixels()}
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first = capture.store(model, lens_inputs)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(8)
    again = capture.store(model, lens_inputs)
    for one, other in zip(first.kinds["self"], again.kinds["self"], strict=True):
        np.testing.assert_array_equal(one.weights().numpy(), other.weights().numpy())


def test_a_file_with_two_eager_functions_gives_each_module_its_own() -> None:
    from transformers.models.tipsv2 import modeling_tipsv2 as file

    from bertlens.capture.attention_function import eager_function

    text = file.Tipsv2TextAttention.__new__(file.Tipsv2TextAttention)
    vision = file.Tipsv2VisionAttention.__new__(file.Tipsv2VisionAttention)
    assert eager_function(text) is file.text_eager_attention_forward
    assert eager_function(vision) is file.eager_attention_forward


def test_a_list_of_something_else_does_not_hide_what_the_calls_show() -> None:
    class ListsItsOutputs(BertModel):
        """As SAM does: its attentions are what the attention modules put out, by rows."""

        def forward(self, *args: Any, **options: Any) -> Any:
            wants = options.pop("output_attentions", False)
            outputs = super().forward(*args, **options)
            if wants:
                outputs["attentions"] = (outputs.last_hidden_state[:, None] - 5,) * 2
            return outputs

    config = BertConfig(**_SIZES, vocab_size=50)
    stored = capture.store(made(ListsItsOutputs, config), _IDS, exact=True)
    assert stored.notes == ()
    assert_layers(stored.kinds["self"], listed(made(BertModel, config), _IDS).attentions)
