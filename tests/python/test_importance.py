"""Importance by gradient, on models small enough to differ by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import BertForMaskedLM, BertLMHeadModel

import bertlens as bl
from bertlens.capture.gradients import gradients
from bertlens.corpus.importance import by_gradient, masked
from bertlens.errors import NoLossError
from tests.python.tiny import SENTENCES, tiny, tokenizer_for


def masked_lm() -> bl.Lens:
    torch.manual_seed(0)
    body = tiny("bert")
    model = BertForMaskedLM(body.config).eval()
    model.bert.load_state_dict(body.state_dict(), strict=False)
    return bl.Lens(model, tokenizer_for("bert"))


def squared(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    return model(**inputs).last_hidden_state.pow(3).sum()


def loss_with(lens: bl.Lens, inputs: dict[str, Tensor], layer: int, change: Any) -> float:
    """The loss of `squared` when the weights of a layer are changed, by transformers' own eager."""
    attention = lens.model.encoder.layer[layer].attention.self
    value = {}

    def remember(_: Any, __: Any, output: Any) -> None:
        value["states"] = output[0]

    def instead(module: Any, inputs: Any, output: Any) -> Any:
        states = inputs[0] if inputs else None
        assert states is not None
        heads = module.num_attention_heads
        v = module.value(states).view(1, -1, heads, states.shape[-1] // heads).transpose(1, 2)
        mixed = change(output[1].clone()) @ v
        return mixed.transpose(1, 2).reshape(states.shape), output[1]

    lens.model.set_attn_implementation("eager")
    handle = attention.register_forward_hook(instead)
    try:
        with torch.no_grad():
            return squared(lens.model, inputs).item()
    finally:
        handle.remove()
        lens.model.set_attn_implementation("sdpa")


@pytest.fixture
def double() -> bl.Lens:
    """In float64, so that differences can be small."""
    return bl.Lens(tiny("bert").double(), tokenizer_for("bert"))


@pytest.mark.parametrize(("layer", "head", "i", "j"), [(0, 1, 2, 0), (1, 3, 0, 4), (2, 0, 1, 1)])
def test_the_gradient_is_the_change_of_the_loss_with_a_weight(
    double: bl.Lens, layer: int, head: int, i: int, j: int
) -> None:
    inputs = double.tensors([double.encode(SENTENCES[0])])
    _, slopes = gradients(double.model, inputs, squared)
    step = 1e-5

    def moved(by: float) -> float:
        def change(weights: Tensor) -> Tensor:
            weights[0, head, i, j] += by
            return weights

        return loss_with(double, inputs, layer, change)

    expected = (moved(step) - moved(-step)) / (2 * step)
    assert slopes[layer][0, head, i, j].item() == pytest.approx(expected, rel=1e-5)


def test_the_gate_is_the_change_of_the_loss_with_a_heads_output(double: bl.Lens) -> None:
    found = by_gradient(double, SENTENCES[:1], loss=squared, progress=False)
    inputs = double.tensors([double.encode(SENTENCES[0])])
    step = 1e-5

    def gated(by: float) -> float:
        def change(weights: Tensor) -> Tensor:
            weights[0, 2] *= 1 + by
            return weights

        return loss_with(double, inputs, 1, change)

    expected = abs(gated(step) - gated(-step)) / (2 * step)
    assert found["gate"].values[1, 2] == pytest.approx(expected, rel=1e-4)
    norms = np.sqrt((found["gate_normalised"].values ** 2).sum(1))
    np.testing.assert_allclose(norms, 1)


def test_values_are_means_over_pairs_by_kind_of_token(double: bl.Lens) -> None:
    encoding = double.encode(SENTENCES[1])
    _, slopes = gradients(double.model, double.tensors([encoding]), squared)
    found = by_gradient(double, [SENTENCES[1]], loss=squared, progress=False)
    texts = [token.text for token in encoding.tokens]
    for name, wanted in {"sep": ["[SEP]"], "cls": ["[CLS]"], "punctuation": [".", ","]}.items():
        places = [i for i, text in enumerate(texts) if text in wanted]
        expected = [slope[0][:, :, places].abs().mean((1, 2)).tolist() for slope in slopes]
        np.testing.assert_allclose(found[f"gradient_{name}"].values, expected, rtol=1e-5)
    others = [i for i, text in enumerate(texts) if text not in ("[CLS]", "[SEP]", ".", ",")]
    expected = [slope[0][:, :, others].abs().mean((1, 2)).tolist() for slope in slopes]
    np.testing.assert_allclose(found["gradient_other"].values, expected, rtol=1e-5)


def test_the_masked_lm_loss_masks_some_tokens_and_is_transformers_own() -> None:
    lens = masked_lm()
    encoding = lens.encode(SENTENCES[3])
    inputs, loss = masked(lens, encoding, 0.15, "mean", (0, 0))
    hidden = inputs["input_ids"][0] == lens.tokenizer.mask_token_id
    text = sum(not token.special for token in encoding.tokens)
    assert int(hidden.sum()) == round(0.15 * text)
    labels = torch.tensor(encoding.inputs["input_ids"]).masked_fill(~hidden, -100)
    with torch.no_grad():
        expected = lens.model(**inputs, labels=labels[None]).loss.item()
        assert loss(lens.model, inputs).item() == pytest.approx(expected, rel=1e-6)


def test_masked_lm_importance_has_a_score_for_each_kind_and_head() -> None:
    lens = masked_lm()
    found = by_gradient(lens, [*SENTENCES, ""], progress=False)
    assert list(found) == [
        "gradient_cls",
        "gradient_sep",
        "gradient_punctuation",
        "gradient_other",
        "gate",
        "gate_normalised",
    ]
    assert (found["gate"].values > 0).all()
    assert (found["gate"].support == 4).all()
    assert found["gate"].low is not None
    assert found["gate"].baseline is None
    assert str(found.coverage) == "4 of 5 texts counted, 1 skipped (empty)"
    again = by_gradient(lens, SENTENCES, progress=False)
    np.testing.assert_array_equal(found["gate"].values, again["gate"].values)
    other = by_gradient(lens, SENTENCES, seed=1, progress=False)
    assert (found["gate"].values != other["gate"].values).any()


def test_punctuation_is_left_out_where_there_is_none() -> None:
    found = by_gradient(masked_lm(), ["the cat", "the cat."], progress=False)
    assert (found["gradient_punctuation"].support == 1).all()
    assert (found["gradient_other"].support == 2).all()


def test_the_model_comes_back_as_it_was() -> None:
    lens = masked_lm()
    lens.model.train()
    for parameter in lens.model.bert.embeddings.parameters():
        parameter.requires_grad_(False)
    by_gradient(lens, SENTENCES[:1], progress=False)
    assert lens.model.training
    assert all(parameter.grad is None for parameter in lens.model.parameters())
    assert lens.model.config._attn_implementation == "sdpa"


def test_frozen_models_have_importance_too(double: bl.Lens) -> None:
    expected = by_gradient(double, SENTENCES[:1], loss=squared, progress=False)
    double.model.requires_grad_(False)
    found = by_gradient(double, SENTENCES[:1], loss=squared, progress=False)
    np.testing.assert_allclose(found["gate"].values, expected["gate"].values, rtol=1e-6)


def test_a_model_without_that_head_is_told_which_class_to_load() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    with pytest.raises(NoLossError, match=r"BertModel has no masked-LM head.*Load BertForMaskedLM"):
        by_gradient(lens, SENTENCES)
    gpt2 = bl.Lens(tiny("gpt2"), tokenizer_for("gpt2"))
    with pytest.raises(NoLossError, match=r"Its family has none: pass loss="):
        by_gradient(gpt2, SENTENCES)


def test_losses_that_cannot_be_differentiated_are_mistakes(double: bl.Lens) -> None:
    with pytest.raises(TypeError, match=r"one number in a tensor, got \(1, 9, 32\)"):
        by_gradient(
            double,
            ["the cat sat."],
            loss=lambda model, inputs: torch.zeros(1, 9, 32),
            progress=False,
        )
    with pytest.raises(TypeError, match="does not come from the model"):
        by_gradient(double, ["the"], loss=lambda model, inputs: torch.zeros(()), progress=False)
    with pytest.raises(ValueError, match="mask_rate must be between 0 and 1"):
        by_gradient(masked_lm(), ["the"], mask_rate=2.0)


def test_any_family_with_the_attention_interface_has_importance() -> None:
    for family in ("roberta", "distilbert", "modernbert", "llama"):
        lens = bl.Lens(tiny(family), tokenizer_for(family))
        found = by_gradient(lens, SENTENCES[:1], loss=squared, progress=False)
        assert (found["gradient_other"].values > 0).all(), family


def test_the_gate_is_not_defined_by_a_decoders_own_head() -> None:
    torch.manual_seed(0)
    config = tiny("bert").config
    lens = bl.Lens(BertLMHeadModel(config).eval(), tokenizer_for("bert"))
    with pytest.raises(NoLossError, match="Load BertForMaskedLM"):
        by_gradient(lens, SENTENCES[:1])
