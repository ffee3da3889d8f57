"""Models as people have them: wrapped, quantised, altered, not seen before."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    Pipeline,
    pipeline,
)

import bertlens as bl
from bertlens import capture
from tests.python.tiny import BERT_SIZES, classifier, eager_weights, tiny, tokenizer_for

TEXT = "I went to the store."


def expected() -> np.ndarray:
    """The plain model's weights [layer, head, from, to]."""
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    return eager_weights(tiny("bert"), lens.tensors([lens.encode(TEXT)]))[:, 0]


# Wrapped


def test_data_parallel() -> None:
    model = nn.DataParallel(tiny("bert"))
    lens = bl.Lens(model, tokenizer_for("bert"))
    assert lens.model is model
    np.testing.assert_allclose(lens(TEXT).weights(), expected(), atol=1e-5, rtol=0)
    assert lens.max_tokens == 64


@pytest.mark.parametrize("how", ["compiled copy", "compiled in place"])
def test_torch_compile(how: str) -> None:
    model: Any = tiny("bert")
    if how == "compiled copy":
        model = torch.compile(model, backend="eager")
    else:
        model.compile(backend="eager")
    lens = bl.Lens(model, tokenizer_for("bert"))
    np.testing.assert_allclose(lens(TEXT).weights(), expected(), atol=1e-5, rtol=0)
    np.testing.assert_allclose(lens(TEXT, exact=True).weights(), expected(), atol=1e-6, rtol=0)
    if how == "compiled in place":
        assert model._compiled_call_impl is not None


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_lora_adapters_on_and_off_differ() -> None:
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=4, target_modules=["query"], init_lora_weights=False)
    torch.manual_seed(0)
    model = peft.get_peft_model(tiny("bert"), config).eval()
    lens = bl.Lens(model, tokenizer_for("bert"))
    on = lens(TEXT, exact=True).weights()
    with model.disable_adapter():
        off = lens(TEXT, exact=True).weights()
    np.testing.assert_allclose(off, expected(), atol=1e-6, rtol=0)
    assert np.abs(on - off).max() > 0.01
    np.testing.assert_array_equal(lens(TEXT, exact=True).weights(), on)


@pytest.mark.filterwarnings("ignore:torch.ao.quantization:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_dynamic_int8_shows_its_own_weights_and_says_int8() -> None:
    model = tiny("bert")
    quantised = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    lens = bl.Lens(quantised, tokenizer_for("bert"))
    found = lens(TEXT, exact=True)
    assert found.dtype == "int8"
    inputs = lens.tensors([lens.encode(TEXT)])
    wanted = eager_weights(copy.deepcopy(quantised), inputs)[:, 0]
    np.testing.assert_allclose(found.weights(), wanted, atol=1e-6, rtol=0)


def test_sentence_transformers(tmp_path: Any) -> None:
    st = pytest.importorskip("sentence_transformers")
    tiny("bert").save_pretrained(tmp_path)
    tokenizer_for("bert").save_pretrained(tmp_path)
    model = st.SentenceTransformer(str(tmp_path), device="cpu")
    lens = bl.Lens(model)
    np.testing.assert_allclose(lens(TEXT).weights(), expected(), atol=1e-5, rtol=0)


def test_a_pipeline_brings_model_and_tokenizer() -> None:
    pipe: Pipeline = pipeline(
        "text-classification", model=classifier(), tokenizer=tokenizer_for("bert")
    )
    prediction = bl.Lens(pipe)(TEXT).prediction
    said = pipe(TEXT)[0]
    assert prediction is not None
    assert prediction.label == said["label"]
    assert prediction.probability == pytest.approx(said["score"], abs=1e-5)


# Precision and place


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_eagers_own_in_that_precision(dtype: torch.dtype) -> None:
    lens = bl.Lens(tiny("bert").to(dtype), tokenizer_for("bert"))
    found = lens(TEXT, exact=True)
    assert found.dtype == str(dtype).removeprefix("torch.")
    plain = tiny("bert").to(dtype)
    wanted = eager_weights(plain, lens.tensors([lens.encode(TEXT)]))[:, 0]
    np.testing.assert_allclose(found.weights(), wanted, atol=1e-6, rtol=0)
    assert found.weights(0).dtype == np.float32


@pytest.mark.parametrize("exact", [True, False])
def test_numbers_that_are_none_are_reported_with_their_layer(exact: bool) -> None:
    model = tiny("bert")
    with torch.no_grad():
        model.encoder.layer[1].attention.self.query.weight.fill_(float("inf"))
    attention = bl.Lens(model, tokenizer_for("bert"))(TEXT, exact=exact)
    (note,) = attention.notes
    assert note.startswith("Layer 1 produced NaN")
    # Fast kernels may turn rows of NaN into zeros, after which later layers are sound.
    assert not exact or "(and so did 1 later layer). Load the model in float32." in note
    assert not np.isnan(attention.weights(0)).any()


def test_inputs_go_where_the_model_is() -> None:
    model = tiny("bert").to("meta")
    lens = bl.Lens(model, tokenizer_for("bert"))
    assert lens.device.type == "meta"
    inputs = lens.tensors([lens.encode(TEXT)])
    assert {tensor.device.type for tensor in inputs.values()} == {"meta"}


# Altered


def test_a_layer_with_fewer_heads_shows_those_it_has() -> None:
    model = tiny("bert")
    layer = model.encoder.layer[1].attention
    part = layer.self
    # two of four heads of 8 numbers, as pruning leaves them
    part.num_attention_heads, part.all_head_size = 2, 16
    for name in ("query", "key", "value"):
        old = getattr(part, name)
        new = nn.Linear(32, 16)
        new.weight.data, new.bias.data = old.weight.data[:16], old.bias.data[:16]
        setattr(part, name, new)
    out = nn.Linear(16, 32)
    out.weight.data, out.bias.data = layer.output.dense.weight.data[:, :16], out.bias.data
    layer.output.dense = out
    attention = bl.Lens(model, tokenizer_for("bert"))(TEXT)
    assert attention.n_heads == 4
    found = attention.weights(1)
    np.testing.assert_allclose(found[:2], expected()[1, :2], atol=1e-5, rtol=0)
    assert np.isnan(found[2:]).all()
    assert not np.isnan(attention.weights(0)).any()


def test_a_model_changed_after_a_capture_is_judged_anew() -> None:
    model = tiny("bert")
    lens = bl.Lens(model, tokenizer_for("bert"))
    assert lens(TEXT).n_layers == 3
    model.encoder.layer = model.encoder.layer[:2]
    model.config.num_hidden_layers = 2
    attention = lens(TEXT, exact=True)
    np.testing.assert_allclose(attention.weights(), expected()[:2], atol=1e-6, rtol=0)


# Not seen before


class Foreign(BertModel):
    """A family nobody has seen: its attention is its own, but it lists its weights."""

    def forward(self, input_ids: torch.Tensor, **options: Any) -> Any:  # type: ignore[override]
        wants = options.pop("output_attentions", False)
        outputs = super().forward(input_ids, **options)
        if wants:
            n = input_ids.shape[-1]
            lower = torch.tril(torch.ones(n, n))
            weights = (lower / lower.sum(-1, keepdim=True)).expand(1, 4, n, n)
            outputs["attentions"] = (weights, weights)
        return outputs


def test_a_family_whose_lists_differ_from_its_calls_shows_what_it_lists() -> None:
    torch.manual_seed(0)
    model = Foreign(BertConfig(**BERT_SIZES)).eval()
    lens = bl.Lens(model, tokenizer_for("bert"))
    inputs = lens.tensors([lens.encode(TEXT)])
    assert capture.plan_for(model, inputs).tier("self") == 3
    # row i spreads evenly over itself and what came before
    np.testing.assert_allclose(lens(TEXT).weights(0, 0)[2, :4], [1 / 3, 1 / 3, 1 / 3, 0])


def test_raw_scores_are_refused_instead_of_shown_as_weights() -> None:
    class Raw(Foreign):
        def forward(self, input_ids: torch.Tensor, **options: Any) -> Any:  # type: ignore[override]
            outputs: Any = super().forward(input_ids, **options)
            if isinstance(outputs, Mapping) and outputs.get("attentions"):
                outputs["attentions"] = tuple(9 * w - 3 for w in outputs["attentions"])
            return outputs

    model = Raw(BertConfig(**BERT_SIZES)).eval()
    with pytest.raises(bl.BertlensError, match="something else than attention weights"):
        bl.Lens(model, tokenizer_for("bert"))(TEXT)
