"""Encoder-decoders: three kinds of attention, each with its own tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BartForSequenceClassification,
    MarianConfig,
    MarianModel,
    T5Config,
    T5ForConditionalGeneration,
    T5Model,
)

import bertlens as bl
from bertlens import capture
from tests.python.tiny import byte_bpe, tiny

SOURCE = "The cat sat on the mat."
TARGET = "I went to the store."

_BART = {
    "vocab_size": 420,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 2,
}
_T5 = {
    "vocab_size": 420,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}


def model(kind: str) -> Any:
    torch.manual_seed(0)
    made = {
        "bart": lambda: BartForConditionalGeneration(BartConfig(**_BART)),
        "marian": lambda: MarianModel(MarianConfig(**{**_BART, "pad_token_id": 1})),
        "t5": lambda: T5Model(T5Config(**_T5)),
        "t5 with head": lambda: T5ForConditionalGeneration(T5Config(**_T5)),
    }[kind]()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if parameter.dim() > 1 and "embed" not in name and "shared" not in name:
                parameter.mul_(2 if "t5" in kind else 8)
    return made.eval()


KINDS = ["bart", "marian", "t5", "t5 with head"]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_source_and_target_show_three_kinds_with_eagers_weights(name: str, exact: bool) -> None:
    lens = bl.Lens(model(name), byte_bpe())
    attention = lens(SOURCE, TARGET, exact=exact)
    assert attention.kinds == ("encoder", "decoder", "cross")

    plain = model(name)
    plain.set_attn_implementation("eager")
    source = byte_bpe()(SOURCE, return_tensors="pt")
    target = byte_bpe()(TARGET)["input_ids"]
    start = plain.config.decoder_start_token_id
    with torch.no_grad():
        outputs = plain(
            **source,
            decoder_input_ids=torch.tensor([[start, *target[:-1]]]),
            output_attentions=True,
        )
    for kind, expected in (
        ("encoder", outputs.encoder_attentions),
        ("decoder", outputs.decoder_attentions),
        ("cross", outputs.cross_attentions),
    ):
        found = attention.kind(kind).weights()
        wanted = torch.stack(expected)[:, 0].numpy()
        np.testing.assert_allclose(found, wanted, atol=1e-6 if exact else 1e-5, rtol=0)


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_has_its_own_rows_and_columns(name: str) -> None:
    attention = bl.Lens(model(name), byte_bpe())(SOURCE, TARGET)
    encoder, decoder, cross = map(attention.kind, attention.kinds)
    assert (encoder.n_layers, decoder.n_layers, cross.n_layers) == (2, 3, 3)
    assert encoder.to_tokens == encoder.tokens
    assert decoder.to_tokens == decoder.tokens
    assert cross.tokens == decoder.tokens
    assert cross.to_tokens == encoder.tokens
    assert [t.label for t in encoder.tokens][:2] == ["<s>", "The"]
    # The decoder starts with its start token and has not read the end of its own text.
    assert decoder.tokens[0].special
    assert decoder.tokens[-1].label == "."


def test_without_a_target_there_is_the_encoders_attention() -> None:
    lens = bl.Lens(model("bart"), byte_bpe())
    alone = lens(SOURCE, exact=True)
    assert alone.kinds == ("encoder",)
    np.testing.assert_allclose(
        alone.weights(), lens(SOURCE, TARGET, exact=True).kind("encoder").weights(), atol=1e-6
    )


def test_every_kind_leads_to_every_other_also_at_word_level() -> None:
    attention = bl.Lens(model("t5"), byte_bpe())(SOURCE, TARGET)
    cross = attention.kind("cross")
    assert cross.kind("encoder") is attention
    words = cross.to_words()
    assert words.kind_name == "cross"
    assert words.kind("decoder").level == "word"
    assert words.weights(0).shape == (4, len(cross.words), len(attention.words))
    np.testing.assert_allclose(words.weights().sum(-1), 1, atol=1e-5)


def test_an_unknown_kind_is_named_with_those_that_exist() -> None:
    attention = bl.Lens(model("t5"), byte_bpe())(SOURCE, TARGET)
    with pytest.raises(ValueError, match=r"'self'.*'encoder' and 'decoder' and 'cross'"):
        attention.kind("self")


def test_a_decoder_sees_only_what_came_before() -> None:
    weights = bl.Lens(model("bart"), byte_bpe())(SOURCE, TARGET).kind("decoder").weights()
    above = np.triu(np.ones(weights.shape[-2:], bool), k=1)
    assert (weights[..., above] == 0).all()


def test_one_kind_can_be_streamed() -> None:
    lens = bl.Lens(model("bart"), byte_bpe())
    inputs = lens.tensors([lens.encode(SOURCE)], [lens.encode_target(TARGET)])
    seen: list[tuple[int, ...]] = []
    count = capture.stream(
        lens.model, inputs, lambda _, weights: seen.append(tuple(weights.shape)), kind="cross"
    )
    target, source = len(lens.encode_target(TARGET)), len(lens.encode(SOURCE))
    assert count == 3
    assert seen == [(1, 4, target, source)] * 3


def test_a_classifier_that_is_an_encoder_decoder_reads_its_text_twice() -> None:
    torch.manual_seed(0)
    classifier = BartForSequenceClassification(BartConfig(**_BART, num_labels=3)).eval()
    lens = bl.Lens(classifier, byte_bpe())
    attention = lens(SOURCE, TARGET)
    assert attention.kinds == ("encoder", "decoder", "cross")
    with torch.no_grad():
        logits = classifier(**byte_bpe()(SOURCE, TARGET, return_tensors="pt")).logits
    assert attention.prediction is not None
    expected = float(logits.softmax(-1).max())
    assert attention.prediction.probability == pytest.approx(expected, abs=1e-5)


# In the widget


def test_the_widget_switches_between_kinds_and_keeps_its_kind_for_another_text() -> None:
    lens = bl.Lens(model("t5"), byte_bpe())
    view = lens(SOURCE, TARGET).explore(kind="cross")
    assert view.meta["kinds"] == ["encoder", "decoder", "cross"]
    assert view.meta["to"]["label"] == [t.label for t in lens.encode(SOURCE).tokens]
    assert view.meta["from"]["label"] == [t.label for t in lens.encode_target(TARGET).tokens]
    view.text = "The dog."
    assert view.kind == "cross"
    assert view.meta["to"]["label"] == [t.label for t in lens.encode("The dog.").tokens]
    view.kind = "encoder"
    assert view.meta["to"] is None
    assert view.meta["n_layers"] == 2


def test_a_kind_that_a_new_text_lacks_gives_way_to_the_first() -> None:
    lens = bl.Lens(model("t5"), byte_bpe())
    view = lens(SOURCE, TARGET).explore(kind="cross")
    view.text_pair = None
    assert view.kind == "encoder"
    assert view.meta["kinds"] == ["encoder"]


def test_the_boxes_for_texts_of_an_encoder_decoder_are_source_and_target() -> None:
    for lens in (bl.Lens(model("t5"), byte_bpe()), bl.Lens(model("t5 with head"), byte_bpe())):
        assert lens(SOURCE).explore().meta["texts"] == ["Source", "Target, optional"]
    torch.manual_seed(0)
    # One that classifies reads a pair of texts, and a causal model one text or two.
    classifier = BartForSequenceClassification(BartConfig(**_BART, num_labels=3)).eval()
    causal = tiny("gpt2")
    for whole in (classifier, causal):
        assert "texts" not in bl.Lens(whole, byte_bpe())(SOURCE).explore().meta


def test_the_widget_carries_the_prediction() -> None:
    torch.manual_seed(0)
    classifier = BartForSequenceClassification(BartConfig(**_BART, num_labels=3)).eval()
    attention = bl.Lens(classifier, byte_bpe())(SOURCE)
    carried = attention.explore().meta["prediction"]
    assert attention.prediction is not None
    assert carried["label"] == attention.prediction.label
    assert carried["probability"] == attention.prediction.probability
    assert [label for label, _ in carried["ranked"]] == [
        item.label for item in attention.prediction.ranked
    ]
    assert bl.Lens(model("bart"), byte_bpe())(SOURCE).explore().meta["prediction"] is None
