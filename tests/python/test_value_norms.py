"""Value norms are the lengths of what each token adds to a head's output."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from transformers import T5Config, T5Model

import bertlens as bl
from bertlens.attention.query_key import score_parts
from bertlens.attention.value_norms import block_output, transformed_values, value_norms
from bertlens.capture import Call
from bertlens.capture.projection import Follower
from bertlens.errors import OutOfReachError
from tests.python.opened import EIGHT, TEXT, attention_of, lens_for
from tests.python.tiny import tokenizer_for

PROJECTION = {
    "bert": "encoder.layer.1.attention.output.dense",
    "roberta": "encoder.layer.1.attention.output.dense",
    "distilbert": "transformer.layer.1.attention.out_lin",
    "albert": "encoder.albert_layer_groups.0.albert_layers.0.attention.dense",
    "modernbert": "layers.1.attn.Wo",
    "gpt2": "h.1.attn.c_proj",
    "llama": "layers.1.self_attn.o_proj",
    "t5": "encoder.block.1.layer.0.SelfAttention.o",
}


def outputs_of(family: str) -> list[np.ndarray]:
    """What the family's own output projection of layer 1 gives, once for each call."""
    lens = lens_for(family)
    seen: list[np.ndarray] = []
    module = lens.model.get_submodule(PROJECTION[family])
    hook = module.register_forward_hook(lambda *given: seen.append(given[2][0].numpy()))
    with torch.no_grad():
        lens.model(**lens.tensors([lens.encode(TEXT)]))
    hook.remove()
    return seen


@pytest.mark.parametrize("family", EIGHT)
def test_the_heads_together_give_the_attention_blocks_output(family: str) -> None:
    attention = attention_of(family)
    values, bias, output = transformed_values(attention, 1)
    # ALBERT calls one projection in every layer.
    expected = outputs_of(family)[1 if family == "albert" else 0]
    found = block_output(attention.weights(1), values, bias)
    np.testing.assert_allclose(output, expected, atol=1e-5)
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("family", EIGHT)
def test_a_norm_is_the_length_of_the_weighted_value(family: str) -> None:
    attention = attention_of(family)
    values, _, _ = transformed_values(attention, 2)
    weighted = attention.weights(2, 3)[4, 1] * values[3, 1]
    found = attention.weights(2, 3, norm="value")[4, 1]
    assert found == pytest.approx(np.sqrt((weighted**2).sum()), rel=1e-5)


def test_a_transformed_value_has_the_heads_slice_of_the_projection() -> None:
    lens = lens_for("bert")
    with torch.no_grad():
        inputs = lens.tensors([lens.encode(TEXT)])
        states = lens.model(**inputs, output_hidden_states=True).hidden_states[1][0]
        block = lens.model.encoder.layer[1].attention
        head = slice(16, 24)
        value = states @ block.self.value.weight[head].T + block.self.value.bias[head]
        expected = (value @ block.output.dense.weight[:, head].T).numpy()
    values, bias, _ = transformed_values(attention_of("bert"), 1)
    np.testing.assert_allclose(values[2], expected, atol=1e-4)
    np.testing.assert_allclose(bias, block.output.dense.bias.detach().numpy(), atol=1e-6)


def test_two_tokens_worked_by_hand() -> None:
    weights = np.array([[[0.25, 0.75], [1.0, 0.0]]], np.float32)
    values = np.array([[[3.0, 4.0], [0.0, 2.0]]], np.float32)
    assert value_norms(weights, values).tolist() == [[[1.25, 1.5], [5.0, 0.0]]]
    bias = np.array([1.0, 0.0], np.float32)
    assert block_output(weights, values, bias).tolist() == [[1.75, 2.5], [4.0, 4.0]]


def test_value_norms_explore_like_weights_and_carry_their_caveat() -> None:
    attention = attention_of("bert")
    norms = attention.value_norms()
    assert (norms.n_layers, norms.n_heads) == (attention.n_layers, attention.n_heads)
    assert norms.measure == "value norms"
    assert any("Kobayashi 2020" in note for note in norms.notes)
    assert not attention.notes


def test_a_words_norm_is_the_sum_of_its_pieces_norms() -> None:
    attention = attention_of("bert")
    words = attention.to_words()
    split = next(i for i, word in enumerate(attention.words) if len(word.tokens) > 1)
    pieces = list(attention.words[split].tokens)
    expected = attention.weights(0, 1, norm="value")[0, pieces].sum()
    assert words.weights(0, 1, norm="value")[0, split] == pytest.approx(expected, rel=1e-5)


def test_an_interactive_capture_keeps_no_values() -> None:
    attention = attention_of("bert")
    attention.weights(0)
    assert attention.source.call(0).value.numel() == 0  # type: ignore[attr-defined]


def test_hooks_and_settings_are_gone_afterwards() -> None:
    model = lens_for("bert").model
    attention_of("bert").value_norms()
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_family_that_norms_its_attention_output_says_so() -> None:
    with pytest.raises(OutOfReachError, match="BitNetAttention does not hand its attention output"):
        attention_of("bitnet").value_norms()


def test_a_family_that_hides_its_values_says_so() -> None:
    with pytest.raises(OutOfReachError, match="of MPNetModel are not available"):
        attention_of("mpnet").value_norms()


def test_another_norm_is_an_error() -> None:
    with pytest.raises(ValueError) as caught:
        attention_of("bert").weights(0, norm="key")  # type: ignore[arg-type]
    assert "'key'" in str(caught.value)


def test_a_module_that_is_no_projection_is_not_taken_for_one() -> None:
    follower = Follower()
    value = torch.tensor([[[[3.0, 1.0, 4.0, 1.0], [5.0, 9.0, 2.0, 6.0]]]])
    follower.attended(0, Call(nn.Identity(), value, value, value, None), value.transpose(1, 2))
    norm = nn.LayerNorm(4)
    with follower.watching(norm):
        norm(value[0])
    with pytest.raises(OutOfReachError):
        follower.project(0)


def test_cls_collects_weight_and_few_of_the_norms(demo: bl.Lens) -> None:
    """What notebooks/inside_a_head.ipynb says of the packaged model, counted another way."""
    attention = demo("I went to the store.", "At the store, I bought fresh strawberries.")
    weight, share = [], []
    for layer in range(6):
        values, _, _ = transformed_values(attention, layer)
        vectors = attention.weights(layer)[..., None] * values[:, None]
        lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(-1))
        weight.append(attention.weights(layer)[..., 0].mean())
        share.append((lengths[..., 0] / lengths.sum(-1)).mean())
    assert np.mean(weight) == pytest.approx(0.43, abs=0.005)
    assert np.mean(share) == pytest.approx(0.08, abs=0.005)


def translator() -> bl.Lens:
    torch.manual_seed(3)
    config = T5Config(
        d_model=32,
        d_kv=8,
        num_layers=2,
        num_heads=4,
        d_ff=48,
        vocab_size=420,
        decoder_start_token_id=0,
        pad_token_id=0,
    )
    return bl.Lens(T5Model(config).eval(), tokenizer_for("t5"))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_kind_of_an_encoder_decoder_is_opened(kind: str) -> None:
    lens = translator()
    attention = lens("I went to the store.", "The cat sat.").kind(kind)
    scores = attention.scores_before_softmax(1)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weights = powers / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(weights, attention.weights(1), atol=1e-6)
    values, bias, output = transformed_values(attention, 1)
    found = block_output(attention.weights(1), values, bias)
    np.testing.assert_allclose(found, output, atol=1e-5 * max(1, np.abs(output).max()))
    norms = attention.weights(1, norm="value")
    assert norms.shape == (4, len(attention.tokens), len(attention.to_tokens))


def test_a_text_of_a_padded_batch_is_opened_without_its_padding() -> None:
    lens = lens_for("bert")
    short, long = "I went.", TEXT
    together = lens.many([long, short])[1]
    alone = attention_of("bert", short)
    assert len(together.tokens) == len(alone.tokens)
    for asked in ("queries", "keys", "scores_before_softmax"):
        found, expected = getattr(together, asked)(1, 2), getattr(alone, asked)(1, 2)
        np.testing.assert_allclose(found, expected, atol=1e-4)
    part = score_parts(together, 1, 2, row=3)
    np.testing.assert_allclose(part.total, alone.scores_before_softmax(1, 2)[3:4], atol=1e-4)
    np.testing.assert_allclose(together.rows(1, [3]), alone.weights(1)[:, [3]], atol=1e-5)
    np.testing.assert_allclose(
        together.weights(1, norm="value"), alone.weights(1, norm="value"), atol=1e-4
    )
