"""Queries, keys and scores are those with which the model makes its weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import bertlens as bl
from bertlens.attention.query_key import score_parts
from bertlens.errors import OutOfReachError
from tests.python.opened import EIGHT, TEXT, attention_of, lens_for

Floats = NDArray[np.float32]


def softmax(scores: Floats) -> NDArray[np.float64]:
    powers = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def eager_weights(family: str) -> Floats:
    """transformers' own, [layer, head, from, to]."""
    lens = lens_for(family)
    model = lens.model
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        outputs = model(**lens.tensors([lens.encode(TEXT)]), output_attentions=True)
    model.set_attn_implementation(before)
    return np.stack([weights[0].numpy() for weights in outputs.attentions])


@pytest.mark.parametrize("family", [*EIGHT, "gemma2"])
def test_softmax_of_the_scores_is_the_weights(family: str) -> None:
    attention = attention_of(family, exact=True)
    expected = eager_weights(family)
    for layer in range(attention.n_layers):
        found = softmax(attention.scores_before_softmax(layer))
        np.testing.assert_allclose(found, attention.weights(layer), atol=1e-6, rtol=0)
        np.testing.assert_allclose(found, expected[layer], atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", EIGHT)
def test_a_score_is_query_times_key_scaled_and_what_was_added(family: str) -> None:
    attention = attention_of(family)
    query, key = attention.queries(1, 3), attention.keys(1, 3)
    parts = attention.score_parts(1, 3)
    total = np.einsum("id,jd->ij", query.astype(np.float64), key.astype(np.float64)) * parts.scale
    for part in (parts.position_bias, parts.mask):
        total = total if part is None else total + part
    expected = attention.scores_before_softmax(1, 3)
    np.testing.assert_allclose(total, expected, atol=1e-4, rtol=1e-6)
    assert parts.other is None


def test_bert_queries_are_its_linear_layer_of_the_hidden_states() -> None:
    lens = lens_for("bert")
    with torch.no_grad():
        inputs = lens.tensors([lens.encode(TEXT)])
        states = lens.model(**inputs, output_hidden_states=True).hidden_states[1]
        block = lens.model.encoder.layer[1].attention.self
        expected = block.query(states)[0].view(states.shape[1], 4, 8).transpose(0, 1).numpy()
    found = attention_of("bert").queries(1)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_grouped_heads_share_their_key() -> None:
    keys = attention_of("llama").keys(0)
    assert keys.shape[0] == 4
    np.testing.assert_array_equal(keys[0], keys[1])
    np.testing.assert_array_equal(keys[2], keys[3])
    assert not np.allclose(keys[1], keys[2])


def test_rotary_queries_are_the_ones_after_rotation() -> None:
    lens = lens_for("llama")
    with torch.no_grad():
        inputs = lens.tensors([lens.encode(TEXT)])
        layer = lens.model.layers[0]
        states = layer.input_layernorm(lens.model.embed_tokens(inputs["input_ids"]))
        plain = layer.self_attn.q_proj(states)[0].view(-1, 4, 8)[:, 0].numpy()
    # LLaMA's angles: position / 10000^(2d / 8), dimension d turned with d + 4.
    angles = np.arange(len(plain))[:, None] / 10000 ** (np.arange(4) / 4)
    first, second = plain[:, :4], plain[:, 4:]
    turned = np.concatenate(
        [
            first * np.cos(angles) - second * np.sin(angles),
            second * np.cos(angles) + first * np.sin(angles),
        ],
        axis=1,
    )
    np.testing.assert_allclose(attention_of("llama").queries(0, 0), turned, atol=1e-4)


def test_t5_adds_a_position_bias_and_scales_nothing() -> None:
    lens = lens_for("t5")
    parts = attention_of("t5").score_parts(0, 2)
    n = len(parts.total)
    with torch.no_grad():
        first = lens.model.encoder.block[0].layer[0].SelfAttention
        expected = first.compute_bias(n, n)[0, 2].numpy()
    assert parts.scale == 1
    assert parts.position_bias is not None
    np.testing.assert_allclose(parts.position_bias, expected, atol=1e-6)


def test_a_soft_cap_is_a_part_of_its_own() -> None:
    parts = attention_of("gemma2").score_parts(1, 0)
    scaled = parts.dot * parts.scale
    assert parts.cap is not None
    np.testing.assert_allclose(scaled + parts.cap, 2 * np.tanh(scaled / 2), atol=1e-5)


def test_a_sink_takes_its_share_of_the_softmax() -> None:
    attention = attention_of("gpt_oss", exact=True)
    parts = attention.score_parts(1, 2)
    assert parts.sink is not None
    sink = lens_for("gpt_oss").model.layers[1].self_attn.sinks[2].item()
    np.testing.assert_allclose(parts.sink, sink, atol=1e-5)
    row = np.concatenate([parts.total, parts.sink[:, None]], axis=1)
    np.testing.assert_allclose(softmax(row)[:, :-1], attention.weights(1, 2), atol=1e-6)


def test_a_causal_model_hides_later_tokens_by_its_mask() -> None:
    parts = attention_of("gpt2").score_parts(0, 0)
    assert parts.mask is not None
    later = np.triu(np.ones_like(parts.mask, dtype=bool), 1)
    assert (parts.mask[later] < -1e30).all()
    assert (parts.mask[~later] == 0).all()


def test_two_tokens_worked_by_hand() -> None:
    # q = (1, 0), (0, 2); k = (2, 0), (0, 1); scale 1/2: scores 1, 0 / 0, 1.
    query = torch.tensor([[[[1.0, 0.0], [0.0, 2.0]]]])
    key = torch.tensor([[[[2.0, 0.0], [0.0, 1.0]]]])
    block = lens_for("bert").model.encoder.layer[0].attention.self
    from bertlens.capture import Call, scores_before_softmax

    call = Call(block, query, key, key, None, {"scaling": 0.5})
    found = scores_before_softmax(call)
    assert found.dot[0].tolist() == [[2, 0], [0, 2]]
    assert found.total[0].tolist() == [[1, 0], [0, 1]]
    assert found.mask is None


def test_queries_of_a_text_that_was_captured_exactly_are_had_by_another_pass() -> None:
    np.testing.assert_allclose(
        attention_of("bert", exact=True).queries(2), attention_of("bert").queries(2), atol=1e-5
    )


def test_a_family_that_hides_queries_and_keys_says_so() -> None:
    with pytest.raises(OutOfReachError, match="of MPNetModel are not available"):
        attention_of("mpnet").queries(0)


def test_given_weights_have_no_queries() -> None:
    from bertlens.attention.sources import DenseWeights

    attention = attention_of("bert")
    given = bl.Attention(DenseWeights(np.ones((1, 1, 2, 2), np.float32)), attention.tokens[:2], [])
    with pytest.raises(OutOfReachError, match="a Lens made"):
        given.queries(0)


def test_layers_and_heads_that_are_not_there_are_errors() -> None:
    attention = attention_of("bert")
    with pytest.raises(IndexError, match="no layer 3"):
        attention.keys(3)
    with pytest.raises(IndexError, match="no head 4"):
        attention.scores_before_softmax(0, 4)
    with pytest.raises(IndexError, match="no head 4"):
        attention.score_parts(0, 4)


def test_queries_at_word_level_are_those_of_the_tokens() -> None:
    attention = attention_of("bert")
    np.testing.assert_array_equal(attention.to_words().queries(0), attention.queries(0))


def test_asking_leaves_the_model_as_it_was() -> None:
    lens = lens_for("roberta")
    before = lens.model.config._attn_implementation
    lens.model.train()
    try:
        attention_of("roberta", exact=True).scores_before_softmax(0)
        assert lens.model.training
        assert lens.model.config._attn_implementation == before
    finally:
        lens.model.eval()


@pytest.mark.parametrize("family", [*EIGHT, "gemma2", "gpt_oss"])
def test_a_row_and_a_column_are_those_of_the_whole(family: str) -> None:
    attention = attention_of(family)
    whole = attention.score_parts(1, 2)
    row = score_parts(attention, 1, 2, row=5)
    column = score_parts(attention, 1, 2, column=3)
    # Masked scores are -3e38.
    for name in ("total", "dot", "cap", "position_bias", "mask", "other"):
        part = getattr(whole, name)
        if part is not None:
            np.testing.assert_allclose(getattr(row, name), part[5:6], atol=1e-4, rtol=1e-5)
            np.testing.assert_allclose(getattr(column, name), part[:, 3:4], atol=1e-4, rtol=1e-5)
    assert row.scale == whole.scale
    if whole.sink is not None:
        np.testing.assert_allclose(row.sink, whole.sink[5:6], atol=1e-4)
