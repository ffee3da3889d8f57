"""Layers are counted by forwards of a module: packed pictures, parts, and what cannot be joined."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel, Qwen2VLConfig, Qwen2VLForConditionalGeneration
from transformers.models.bert import modeling_bert
from transformers.models.qwen2_vl import modeling_qwen2_vl

import bertlens as bl
from bertlens import capture
from bertlens.capture.gradients import gradients
from tests.python.model_state import differences, state
from tests.python.packed import TOWERS, own_calls, tower, two_pictures


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("family", TOWERS)
def test_pictures_in_one_row_are_blocks_of_one_layer(
    family: str, implementation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = two_pictures()
    calls = own_calls(monkeypatch, tower(family), inputs)
    assert len(calls) > 3  # more calls than layers
    model = tower(family)
    model.set_attn_implementation(implementation)
    before = state(model)
    exact = capture.store(model, inputs, exact=True)
    lazy = capture.store(model, inputs)
    assert differences(before, state(model)) == []
    assert len(exact.kinds["self"]) == 3
    for layer in range(3):
        parts = [weights[0] for path, weights in calls if path == f"blocks.{layer}.attn"]
        wanted = torch.stack(
            [torch.block_diag(*(part[head] for part in parts)) for head in range(4)]
        )
        assert wanted.shape == (4, 24, 24)
        found, made = exact.kinds["self"][layer], lazy.kinds["self"][layer]
        torch.testing.assert_close(found.weights()[0], wanted, atol=1e-6, rtol=0)
        torch.testing.assert_close(made.weights()[0], wanted, atol=1e-5, rtol=0)


def test_no_patch_looks_at_another_picture() -> None:
    attention = bl.Lens(tower("qwen2_vl"))(inputs=two_pictures())
    weights = attention.weights()
    assert weights.shape == (3, 4, 24, 24)
    # Patches 0 to 15 are the first picture, 16 to 23 the second.
    assert (weights[..., :16, 16:] == 0).all()
    assert (weights[..., 16:, :16] == 0).all()
    assert (weights[..., :16, :16] > 0).all()
    assert abs(weights.sum(-1) - 1).max() < 1e-5
    assert attention.notes == ()


def test_another_number_of_pictures_makes_no_other_number_of_layers() -> None:
    model = tower("qwen2_vl")
    patches = two_pictures()["hidden_states"]
    for grid in ([[1, 4, 4]], [[1, 4, 4], [1, 2, 4]], [[2, 2, 2], [1, 4, 4]]):
        n = sum(time * height * width for time, height, width in grid)
        inputs = {"hidden_states": patches[:n], "grid_thw": torch.tensor(grid)}
        (layers,) = capture.store(model, inputs).kinds.values()
        assert [layer.shape for layer in layers] == [(n, n)] * 3
    seen: list[tuple[int, ...]] = []
    capture.stream(model, two_pictures(), lambda _, weights: seen.append(tuple(weights.shape)))
    assert seen == [(1, 4, 24, 24)] * 3


def reader_of_pictures() -> Qwen2VLForConditionalGeneration:
    """A language model of 2 layers over a tower of 3."""
    torch.manual_seed(0)
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
    text = {
        "vocab_size": 60,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 48,
        "rope_parameters": rope,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    vision = {
        "depth": 3,
        "num_heads": 4,
        "patch_size": 4,
        "temporal_patch_size": 1,
        "embed_dim": 32,
        "hidden_size": 32,
    }
    config = Qwen2VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=50,
        vision_start_token_id=51,
        vision_end_token_id=52,
        video_token_id=53,
    )
    return Qwen2VLForConditionalGeneration(config).eval()


def test_a_model_that_reads_text_and_two_pictures_has_a_kind_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pictures = two_pictures()
    # 16 patches become 4 tokens of the text, and 8 become 2.
    ids = torch.tensor([[5, 51, *[50] * 4, 52, 6, 51, *[50] * 2, 52, 7, 8]])
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "mm_token_type_ids": (ids == 50).long(),
        "pixel_values": pictures["hidden_states"],
        "image_grid_thw": pictures["grid_thw"],
    }
    calls = own_calls(monkeypatch, reader_of_pictures(), inputs)
    found = capture.store(reader_of_pictures(), inputs, exact=True).kinds
    shapes = {kind: [layer.shape for layer in layers] for kind, layers in found.items()}
    assert shapes == {"self": [(14, 14)] * 2, "visual": [(24, 24)] * 3}
    own = [weights for path, weights in calls if "language_model" in path]
    for layer, weights in zip(found["self"], own, strict=True):
        torch.testing.assert_close(layer.weights(), weights, atol=1e-6, rtol=0)
    seen = [weights for path, weights in calls if "visual" in path]
    for layer, first, second in zip(found["visual"], seen[::2], seen[1::2], strict=True):
        torch.testing.assert_close(layer.weights()[..., :16, :16], first, atol=1e-6, rtol=0)
        torch.testing.assert_close(layer.weights()[..., 16:, 16:], second, atol=1e-6, rtol=0)


def test_gradients_of_several_calls_in_a_layer_are_refused() -> None:
    def loss(model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        return model(**inputs).last_hidden_state.sum()  # type: ignore[no-any-return]

    with pytest.raises(bl.BertlensError, match="called 6 times for 3 layers"):
        gradients(tower("qwen2_vl"), two_pictures(), loss)


def test_patches_sorted_by_windows_are_said_to_be() -> None:
    (note,) = capture.store(tower("qwen2_5_vl"), two_pictures()).notes
    assert note == "The model sorts patches by windows; they are numbered in that order."


def test_a_row_of_too_many_patches_for_a_matrix_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertlens.capture.layouts.MAX_DENSE_TOKENS", 20)
    with pytest.raises(bl.BertlensError, match=r"matrix of 24 tokens .* at most 20"):
        capture.store(tower("qwen2_vl"), two_pictures())


# What cannot be put together is refused


def with_attention(monkeypatch: pytest.MonkeyPatch, attend: Any) -> Any:
    """A tower whose modules attend in a way of their own."""

    def forward(self: Any, hidden_states: torch.Tensor, **_: Any) -> torch.Tensor:
        seq = hidden_states.shape[0]
        parts = self.qkv(hidden_states).reshape(seq, 3, 4, -1).permute(1, 2, 0, 3).unsqueeze(1)
        function = modeling_qwen2_vl.ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, modeling_qwen2_vl.eager_attention_forward
        )

        def call(*qkv: torch.Tensor, scaling: float = self.scaling) -> torch.Tensor:
            output: torch.Tensor = function(self, *qkv, attention_mask=None, scaling=scaling)[0]
            return output

        made: torch.Tensor = attend(call, *parts, self)
        return self.proj(made.reshape(seq, -1))

    monkeypatch.setattr(modeling_qwen2_vl.VisionAttention, "forward", forward)
    return tower("qwen2_vl")


def every_other(call: Any, q: Any, k: Any, v: Any, _: Any) -> torch.Tensor:
    made = torch.empty_like(q).transpose(1, 2)
    for start in (0, 1):
        made[:, start::2] = call(*(x[..., start::2, :] for x in (q, k, v)))
    return made


def first_half_only(call: Any, q: Any, k: Any, v: Any, _: Any) -> torch.Tensor:
    half = call(*(x[..., :12, :] for x in (q, k, v)))
    return torch.cat([half, v[..., 12:, :].transpose(1, 2)], 1)


def twice(call: Any, q: Any, k: Any, v: Any, _: Any) -> torch.Tensor:
    return call(q, k, v) - call(k, q, v)


def chunks_at_the_whole(call: Any, q: Any, k: Any, v: Any, _: Any) -> torch.Tensor:
    return torch.cat([call(q[..., :12, :], k, v), call(q[..., 12:, :], k, v)], 1)


def of_two_sharpnesses(call: Any, q: Any, k: Any, v: Any, _: Any) -> torch.Tensor:
    halves = [[x[..., :12, :] for x in (q, k, v)], [x[..., 12:, :] for x in (q, k, v)]]
    return torch.cat([call(*halves[0]), call(*halves[1], scaling=9.0)], 1)


@pytest.mark.parametrize(
    ("attend", "words"),
    [
        (every_other, "not consecutive parts of one sequence"),
        (first_half_only, "they take 12 of 24 positions"),
        (twice, "several of one layer take all positions"),
        (chunks_at_the_whole, "queries and keys differ in number"),
        (of_two_sharpnesses, "they differ in more than the tokens they take"),
    ],
)
def test_calls_that_are_not_certain_to_be_one_layer_are_refused(
    attend: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = with_attention(monkeypatch, attend)
    before = state(model)
    with pytest.raises(bl.BertlensError, match=words):
        capture.store(model, two_pictures())
    assert differences(before, state(model)) == []


def test_a_model_that_attends_otherwise_in_eager_mode_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def attend(call: Any, q: Any, k: Any, v: Any, module: Any) -> torch.Tensor:
        eager = module.config._attn_implementation == "eager"
        made: torch.Tensor = call(q, k, v, scaling=1.0 if eager else 0.1)
        return made

    model = with_attention(monkeypatch, attend)
    with pytest.raises(bl.BertlensError, match="gives other outputs"):
        capture.store(model, two_pictures())


def test_calls_that_become_uncertain_later_are_refused_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now: dict[str, Any] = {"attend": lambda call, q, k, v, _: call(q, k, v)}
    model = with_attention(monkeypatch, lambda *given: now["attend"](*given))
    assert len(capture.store(model, two_pictures()).kinds["self"]) == 3
    now["attend"] = every_other
    with pytest.raises(bl.BertlensError, match="Give one picture or sound at a time"):
        capture.store(model, two_pictures())


def test_a_forward_inherited_from_another_file_takes_that_files_eager_function() -> None:
    class Attention(modeling_bert.BertSelfAttention):
        """As in a person's own file, which may have an eager function that is not used."""

    Attention.__module__ = "transformers.models.vit.modeling_vit"
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
    model = BertModel(BertConfig(**sizes, num_hidden_layers=1)).eval()
    module = model.encoder.layer[0].attention.self
    module.__class__ = Attention
    from bertlens.capture.attention_function import eager_function

    assert eager_function(module) is modeling_bert.eager_attention_forward
