"""Weights that are elsewhere or rounded, modules of one's own, and a default device."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import cpu_offload, disk_offload, dispatch_model
from torch import Tensor, nn
from transformers import (
    BertModel,
    GptOssConfig,
    GptOssModel,
    LongformerConfig,
    LongformerForSequenceClassification,
)

import bertlens as bl
from bertlens.errors import NoAttentionError, OutOfReachError
from tests.python.tiny import byte_bpe, tiny, tokenizer_for, wordpiece

TEXT = "the cat sat on the mat"


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
@pytest.mark.parametrize("how", ["cpu", "disk", "embeddings on disk"])
def test_offloaded_models_give_the_same_weights(family: str, how: str, tmp_path: Path) -> None:
    whole = bl.Lens(tiny(family), tokenizer_for(family))(TEXT)
    model = tiny(family)
    if how == "cpu":
        cpu_offload(model, execution_device=torch.device("cpu"))
    elif how == "disk":
        disk_offload(model, str(tmp_path), execution_device=torch.device("cpu"))
    else:
        places: dict[str, Any] = {name: "cpu" for name, _ in model.named_children()}
        places[next(iter(places))] = "disk"
        dispatch_model(model, places, main_device="cpu", offload_dir=str(tmp_path))
    attention = bl.Lens(model, tokenizer_for(family))(TEXT)
    np.testing.assert_allclose(attention.weights(), whole.weights(), atol=1e-6)
    np.testing.assert_allclose(
        attention.value_norms().weights(), whole.value_norms().weights(), rtol=1e-4, atol=1e-6
    )


class Linear8bitLt(nn.Module):
    """A stand-in for bitsandbytes' layer: rounded weights, and activations in some steps."""

    def __init__(self, linear: nn.Linear, steps: int) -> None:
        super().__init__()
        self.scale = linear.weight.detach().abs().amax(1, keepdim=True) / 127
        rounded = (linear.weight.detach() / self.scale).round().to(torch.int8)
        self.weight = nn.Parameter(rounded, requires_grad=False)
        self.bias = linear.bias
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        widest = x.abs().amax(-1, keepdim=True).clamp(min=1e-9) / self.steps
        x = (x / widest).round() * widest
        return nn.functional.linear(x, self.weight.float() * self.scale, self.bias)


def _quantised(steps: int) -> tuple[BertModel, BertModel]:
    """A model with such output projections, and one with the same rounded weights in float32."""
    model, dequantised = tiny("bert"), tiny("bert")
    assert isinstance(model, BertModel)
    assert isinstance(dequantised, BertModel)
    for own, other in zip(model.encoder.layer, dequantised.encoder.layer, strict=True):
        layer = Linear8bitLt(own.attention.output.dense, steps)
        own.attention.output.dense = layer
        other.attention.output.dense.weight.data = layer.weight.float() * layer.scale
    return model, dequantised


def test_a_quantised_model_says_its_precision_and_has_value_norms() -> None:
    model, dequantised = _quantised(steps=10_000)
    attention = bl.Lens(model, wordpiece())(TEXT)
    assert attention.dtype == "int8"
    assert any("quantised (int8)" in note for note in attention.notes)
    expected = bl.Lens(dequantised, wordpiece())(TEXT)
    assert expected.dtype == "float32"
    np.testing.assert_allclose(
        attention.value_norms().weights(), expected.value_norms().weights(), rtol=2e-3, atol=1e-3
    )


def test_value_norms_are_refused_for_the_true_reason() -> None:
    model, _ = _quantised(steps=2)
    with pytest.raises(OutOfReachError, match=r"Linear8bitLt\) is not linear enough: .* \d+\.\d%"):
        bl.Lens(model, wordpiece())(TEXT).value_norms()


@pytest.mark.parametrize(
    ("settings", "dtype"),
    [
        ({"load_in_4bit": True, "quant_method": "bitsandbytes"}, "int4"),
        ({"bits": 8, "quant_method": "gptq"}, "int8"),
        ({"nbits": 2, "quant_method": "hqq"}, "int2"),
        ({"quant_method": "fp8"}, "float8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "torchao", "quant_type": "int4_weight_only"}, "int4"),
        ({"quant_method": "quanto", "weights": "int8"}, "int8"),
    ],
)
def test_the_precision_that_a_config_names(settings: dict[str, Any], dtype: str) -> None:
    model = tiny("bert")
    model.config.quantization_config = settings
    assert bl.Lens(model, wordpiece()).dtype == dtype


def test_rows_with_a_sink_are_said_to_sum_to_less_than_one() -> None:
    torch.manual_seed(0)
    config = GptOssConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=32,
        num_local_experts=2,
        num_experts_per_tok=1,
        vocab_size=420,
        max_position_embeddings=64,
    )
    lens = bl.Lens(GptOssModel(config).eval(), byte_bpe())
    for exact in (False, True):
        attention = lens(TEXT, exact=exact)
        assert float(attention.weights(0).sum(-1).max()) < 0.999
        assert any("learned sink" in note for note in attention.notes)
    assert not any("sink" in note for note in bl.Lens(tiny("bert"), wordpiece())(TEXT).notes)


class Direct(nn.Module):
    """A transformer block outside of transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(420, 16)

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        x = self.embedding(input_ids)[:, None]
        out: Tensor = nn.functional.scaled_dot_product_attention(x, x, x)[:, 0]
        return out


class Plain(Direct):
    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        out: Tensor = self.embedding(input_ids)
        return out


def test_a_module_that_calls_torchs_attention_is_told_what_is_missing() -> None:
    with pytest.raises(NoAttentionError, match=r"scaled_dot_product_attention itself.*attentions"):
        bl.Lens(Direct(), wordpiece())(TEXT)
    with pytest.raises(NoAttentionError, match="has no attention"):
        bl.Lens(Plain(), wordpiece())(TEXT)


class Faulty(BertModel):
    def forward(self, *args: Any, **options: Any) -> Any:
        raise TypeError("a fault of the caller's own")


def test_a_fault_in_the_callers_module_is_theirs() -> None:
    model = Faulty(tiny("bert").config).eval()
    with pytest.raises(TypeError, match="a fault of the caller's own"):
        bl.Lens(model, wordpiece())(TEXT)


def test_a_longformers_head_is_not_told_to_undo_what_it_does() -> None:
    torch.manual_seed(0)
    config = LongformerConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=32,
        vocab_size=420,
        attention_window=4,
        max_position_embeddings=66,
        pad_token_id=1,
    )
    model = LongformerForSequenceClassification(config).eval()
    with pytest.raises(NoAttentionError, match=r"without its head \(model.base_model\)"):
        bl.Lens(model, byte_bpe())(TEXT)
    assert bl.Lens(model.base_model, byte_bpe())(TEXT).n_layers == 2


@pytest.fixture
def meta() -> Iterator[None]:
    before = torch.get_default_device()
    torch.set_default_device("meta")
    try:
        yield
    finally:
        torch.set_default_device(before)


def _figures(lens: bl.Lens) -> list[np.ndarray]:
    attention = lens(TEXT)
    scan = lens.scan([TEXT, "a dog"], progress=False, distances=True)
    found = [attention.weights(), attention.value_norms().weights(), scan["entropy"].values]
    found += [lens.many([TEXT, "a dog"])[1].weights(), lens.ablate([(0, 1)])(TEXT).weights()]
    return [*found, attention.scores["entropy"].values]


def test_a_default_device_of_the_callers_changes_nothing(request: pytest.FixtureRequest) -> None:
    lenses = [bl.Lens(tiny(family), tokenizer_for(family)) for family in ("bert", "gpt2")]
    expected = [_figures(lens) for lens in lenses]
    request.getfixturevalue("meta")
    for lens, figures in zip(lenses, expected, strict=True):
        for own, other in zip(_figures(lens), figures, strict=True):
            np.testing.assert_allclose(own, other, atol=1e-6)
