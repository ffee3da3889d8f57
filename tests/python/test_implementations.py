"""Whatever attention a model was loaded with, compiled in parts, on any device, of any sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel, T5Config, T5EncoderModel, ViTConfig, ViTModel

import bertlens as bl
from bertlens import capture
from bertlens.capture.state import attention_configs
from tests.python.model_state import differences, state
from tests.python.packed import own_calls, tower, two_pictures
from tests.python.tiny import byte_bpe, eager_weights, tiny, tokenizer_for

TEXT = "I went to the store."
SHORT = "Dog."


def set_by_hand(model: Any, implementation: str) -> Any:
    """As a model that was loaded so has it; flash attention cannot be loaded without a GPU."""
    for config in attention_configs(model):
        config._attn_implementation_internal = implementation
    return model


def expected(family: str, texts: list[str]) -> np.ndarray:
    """Eager's weights [layer, text, head, from, to] of a padded batch."""
    lens = bl.Lens(tiny(family), tokenizer_for(family))
    return eager_weights(tiny(family), lens.tensors([lens.encode(text) for text in texts]))


@pytest.mark.parametrize("implementation", ["flex_attention", "flash_attention_2", "paged|sdpa"])
@pytest.mark.parametrize("family", ["bert", "llama", "modernbert"])
def test_a_model_loaded_with_another_attention(family: str, implementation: str) -> None:
    model = set_by_hand(tiny(family), implementation)
    lens = bl.Lens(model, tokenizer_for(family))
    before = state(model)
    own = expected(family, [TEXT, SHORT])
    assert np.abs(lens(TEXT).weights() - own[:, 0]).max() < 1e-5
    assert np.abs(lens(TEXT, exact=True).weights() - own[:, 0]).max() < 1e-6
    n = len(lens.encode(SHORT))
    padded = lens.many([TEXT, SHORT], exact=True)[1]
    np.testing.assert_allclose(padded.weights(), own[:, 1, :, :n, :n], atol=1e-6, rtol=0)
    assert differences(before, state(model)) == []
    assert model.config._attn_implementation_internal == implementation


def test_flex_attention_that_a_person_chose_is_theirs_again() -> None:
    model = tiny("llama")
    model.set_attn_implementation("flex_attention")
    bl.Lens(model, tokenizer_for("llama"))(TEXT).weights()
    assert model.config._attn_implementation == "flex_attention"


def test_packed_pictures_of_a_flash_model(monkeypatch: pytest.MonkeyPatch) -> None:
    # With flash attention a tower makes one call for all pictures, which no GPU here would answer.
    calls = own_calls(monkeypatch, tower("qwen2_vl"), two_pictures())
    model = set_by_hand(tower("qwen2_vl"), "flash_attention_2")
    found = capture.store(model, two_pictures(), exact=True).kinds["self"][0].weights()[0]
    first, second = (weights[0] for _, weights in calls[:2])
    torch.testing.assert_close(found[:, :16, :16], first, atol=1e-6, rtol=0)
    torch.testing.assert_close(found[:, 16:, 16:], second, atol=1e-6, rtol=0)


# Compiled in parts


def in_place(model: Any) -> None:
    for layer in model.encoder.layer:
        layer.compile(backend="eager")


def replaced(model: Any) -> None:
    layers = model.encoder.layer
    model.encoder.layer = nn.ModuleList(torch.compile(x, backend="eager") for x in layers)


def its_forward(model: Any) -> None:
    model.forward = torch.compile(model.forward, backend="eager", fullgraph=True)


@pytest.mark.parametrize("compiled", [in_place, replaced, its_forward])
def test_compiled_parts_are_passed_uncompiled_and_stay_compiled(compiled: Any) -> None:
    model = tiny("bert")
    compiled(model)
    before = state(model)
    forwards = {name: vars(module).get("forward") for name, module in model.named_modules()}
    torch._dynamo.utils.counters.clear()
    lens = bl.Lens(model, tokenizer_for("bert"))
    found = lens(TEXT, exact=True).weights()
    np.testing.assert_allclose(found, expected("bert", [TEXT])[:, 0], atol=1e-6, rtol=0)
    assert torch._dynamo.utils.counters["frames"]["total"] == 0
    assert differences(before, state(model)) == []
    after = {name: vars(module).get("forward") for name, module in model.named_modules()}
    assert after == forwards


# Where the model is


class Seen(Exception):
    """Stops a pass once its inputs are known."""


def devices_seen(lens: bl.Lens, **call: Any) -> set[str]:
    """Devices of the tensors that the model is called with."""
    seen: set[str] = set()

    def look(_: nn.Module, args: Any, named: dict[str, Any]) -> None:
        tensors = [x for x in (*args, *named.values()) if isinstance(x, torch.Tensor)]
        seen.update(tensor.device.type for tensor in tensors)
        raise Seen

    handle = lens.model.register_forward_pre_hook(look, with_kwargs=True)
    try:
        with pytest.raises(Seen):
            lens(**call)
    finally:
        handle.remove()
    return seen


def test_a_text_and_a_picture_go_to_the_models_device() -> None:
    # The meta device stands for a GPU: it holds no numbers, so the pass is stopped at its start.
    lens = bl.Lens(tiny("bert").to("meta"), tokenizer_for("bert"))
    assert devices_seen(lens, text=TEXT) == {"meta"}
    assert devices_seen(lens, text=TEXT, text_pair=SHORT, exact=True) == {"meta"}
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    vit = ViTModel(ViTConfig(**sizes, intermediate_size=48, image_size=16, patch_size=8))
    picture = {"pixel_values": torch.zeros(1, 3, 16, 16)}
    assert devices_seen(bl.Lens(vit.to("meta")), inputs=picture) == {"meta"}
    assert picture["pixel_values"].device.type == "cpu"


def test_a_model_spread_over_devices_is_given_its_text_where_its_embeddings_are() -> None:
    model = tiny("bert")
    model.encoder.to("meta")
    assert bl.Lens(model, tokenizer_for("bert")).device.type == "cpu"
    model = tiny("bert")
    model.embeddings.to("meta")
    assert bl.Lens(model, tokenizer_for("bert")).device.type == "meta"


# Of any sizes


def test_heads_whose_size_is_not_the_width_over_their_number() -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=420,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=8,
        num_key_value_heads=2,
        head_dim=10,
        intermediate_size=48,
    )
    model = LlamaModel(config).eval()
    lens = bl.Lens(model, byte_bpe())
    found = lens(TEXT)
    assert (found.n_layers, found.n_heads) == (2, 8)
    wanted = eager_weights(model, lens.tensors([lens.encode(TEXT)]))[:, 0]
    np.testing.assert_allclose(found.weights(), wanted, atol=1e-5, rtol=0)


def test_an_encoder_of_t5_alone_with_odd_heads_in_train_mode() -> None:
    torch.manual_seed(0)
    config = T5Config(vocab_size=420, d_model=32, d_kv=7, d_ff=48, num_layers=2, num_heads=3)
    model = T5EncoderModel(config).train()
    lens = bl.Lens(model, byte_bpe())
    found = lens(TEXT, exact=True)
    assert model.training
    assert found.n_heads == 3
    wanted = eager_weights(model.eval(), lens.tensors([lens.encode(TEXT)]))[:, 0]
    np.testing.assert_allclose(found.weights(), wanted, atol=1e-6, rtol=0)
