"""Attention that a person has already, and BertViz's calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.text.encoding import encode
from tests.python.tiny import tiny, tokenizer_for
from tests.python.tokenizers import byte_bpe

TOKENS = ["[CLS]", "fresh", "straw", "##berries", "[SEP]"]


def weights(layers: int = 2, heads: int = 3, rows: int = 5, columns: int = 5) -> np.ndarray:
    made = np.random.default_rng(0).random((layers, heads, rows, columns), np.float32)
    return made / made.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    "form",
    [
        lambda w: w,
        lambda w: torch.tensor(w),
        lambda w: torch.tensor(w)[:, None],
        lambda w: tuple(torch.tensor(w)[:, None]),
        lambda w: list(torch.tensor(w, requires_grad=True)),
        lambda w: [layer[None] for layer in w],
        lambda w: w.tolist(),
    ],
)
def test_tensors_arrays_and_lists_of_every_shape_are_the_same(form: Any) -> None:
    attention = bl.Attention.from_tensors(form(weights()), TOKENS)
    assert (attention.n_layers, attention.n_heads) == (2, 3)
    np.testing.assert_allclose(attention.weights(), weights(), atol=1e-7)


@pytest.mark.parametrize("form", [lambda w: w, torch.tensor, lambda w: w.tolist()])
def test_three_dimensions_are_the_heads_of_one_layer(form: Any) -> None:
    attention = bl.Attention.from_tensors(form(weights()[0]), TOKENS)
    assert (attention.n_layers, attention.n_heads) == (1, 3)


def test_bfloat16_is_read() -> None:
    made = torch.tensor(weights()).to(torch.bfloat16)
    assert bl.Attention.from_tensors(made, TOKENS).weights().dtype == np.float32


def test_pieces_make_words_and_known_names_are_special() -> None:
    attention = bl.Attention.from_tensors(weights(), TOKENS)
    assert [t.label for t in attention.tokens] == ["[CLS]", "fresh", "straw", "berries", "[SEP]"]
    assert [w.text for w in attention.words] == ["[CLS]", "fresh", "strawberries", "[SEP]"]
    assert [t.special for t in attention.tokens] == [True, False, False, False, True]
    np.testing.assert_allclose(attention.to_words().weights().sum(-1), 1, atol=1e-5)


def test_byte_level_and_sentencepiece_marks_begin_words() -> None:
    attention = bl.Attention.from_tensors(weights(), ["<s>", "Ġfresh", "Ġstraw", "berries", "</s>"])
    assert [w.text for w in attention.words] == ["<s>", "fresh", "strawberries", "</s>"]


def test_the_second_sentence_is_the_second_segment() -> None:
    attention = bl.Attention.from_tensors(weights(), TOKENS, sentence_b_start=2)
    assert [t.segment for t in attention.tokens] == [0, 0, 1, 1, 1]


def test_tensors_of_a_model_are_those_of_a_lens() -> None:
    model = tiny("bert")
    lens = bl.Lens(model, tokenizer_for("bert"))
    seen = lens("I went to the store.", exact=True)
    plain = tiny("bert")
    plain.set_attn_implementation("eager")
    inputs = tokenizer_for("bert")("I went to the store.", return_tensors="pt")
    with torch.no_grad():
        outputs = plain(**inputs, output_attentions=True)
    tokens = tokenizer_for("bert").convert_ids_to_tokens(inputs["input_ids"][0])
    attention = bl.Attention.from_tensors(outputs.attentions, tokens)
    np.testing.assert_allclose(attention.weights(), seen.weights(), atol=1e-6)
    assert attention.lens is None
    assert attention.scores["entropy"].values == pytest.approx(seen.scores["entropy"].values)


@pytest.mark.parametrize(
    ("given", "tokens", "error", "message"),
    [
        (weights(), TOKENS[:4], ValueError, r"between 5 and 5 tokens, but 4 tokens are given"),
        ([], TOKENS, ValueError, r'empty.*attn_implementation="eager"'),
        ((), TOKENS, ValueError, r"output_attentions=True"),
        (weights()[0, 0], TOKENS, ValueError, r"their shape is \(5, 5\)"),
        (weights()[None, None], TOKENS, ValueError, r"\(1, 1, 2, 3, 5, 5\)"),
        (torch.ones(2, 4, 3, 5, 5) / 5, TOKENS, ValueError, r"Layer 0 holds 4 texts.*a\[:1\]"),
        ([None, None], TOKENS, ValueError, r"not run with eager attention"),
        ("attention", TOKENS, TypeError, r"no array of numbers: str"),
        (weights() - 0.5, TOKENS, ValueError, r"never negative.*after the softmax"),
        (weights(), "tokens", TypeError, r"tokens must be a list of strings"),
        (weights(), [1, 2, 3, 4, 5], TypeError, r"tokens must be a list of strings"),
        ([weights()[0], weights(rows=4, columns=4)[0]], TOKENS, ValueError, r"different numbers"),
    ],
)
def test_what_does_not_fit_is_said(
    given: Any, tokens: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        bl.Attention.from_tensors(given, tokens)


def test_rows_that_do_not_sum_to_one_are_noted() -> None:
    attention = bl.Attention.from_tensors(weights() / 2, TOKENS)
    assert "Rows do not sum to 1 but to 0.50 to 0.50" in attention.notes[0]
    assert bl.Attention.from_tensors(weights(), TOKENS).notes == ()


def test_layers_with_fewer_heads_are_filled_with_nothing() -> None:
    attention = bl.Attention.from_tensors([weights()[0], weights(heads=2)[1]], TOKENS)
    assert attention.n_heads == 3
    assert np.isnan(attention.weights(1, 2)).all()


# BertViz's calls


def test_a_head_view_shows_the_layer_and_heads_that_were_asked_for() -> None:
    view = bl.head_view(list(torch.tensor(weights())[:, None]), TOKENS, 2, layer=1, heads=[2, 0])
    assert (view.layer, view.heads, view.views) == (1, [2, 0], ["head"])
    assert view.selection.attention.tokens[2].segment == 1
    assert not view.editable


def test_a_head_view_shows_every_head_by_default() -> None:
    assert bl.head_view(weights(), TOKENS).heads == [0, 1, 2]


def test_included_layers_and_heads_are_numbered_anew_and_noted() -> None:
    view = bl.model_view(weights(4, 5), TOKENS, include_layers=[1, 3], include_heads=[4])
    attention = view.selection.attention
    assert (attention.n_layers, attention.n_heads) == (2, 1)
    np.testing.assert_allclose(attention.weights(1, 0), weights(4, 5)[3, 4], atol=1e-7)
    assert attention.notes == (
        "Only layers 1, 3, shown as 0 to 1.",
        "Only heads 4, shown as 0 to 0.",
    )
    started = bl.head_view(weights(4, 5), TOKENS, include_layers=[1, 3], layer=3)
    assert started.layer == 1


def test_an_encoder_decoders_tensors_are_three_kinds() -> None:
    target = ["<s>", "ein", "Hund"]
    view = bl.head_view(
        encoder_attention=weights(),
        decoder_attention=weights(rows=3, columns=3),
        cross_attention=weights(rows=3),
        encoder_tokens=TOKENS,
        decoder_tokens=target,
    )
    attention = view.selection.attention
    assert attention.kinds == ("encoder", "decoder", "cross")
    assert view.kind == "encoder"
    view.kind = "cross"
    shown = view.selection.attention
    assert [t.text for t in shown.tokens] == target
    assert [t.text for t in shown.to_tokens] == TOKENS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no attention to show"),
        ({"attention": weights()}, "needs tokens"),
        ({"cross_attention": weights(), "decoder_tokens": TOKENS}, "needs encoder_tokens and"),
        (
            {"attention": weights(), "tokens": TOKENS, "encoder_attention": weights()},
            "not both",
        ),
        ({"attention": weights(), "tokens": TOKENS, "html_action": "print"}, "html_action"),
        ({"attention": weights(), "tokens": TOKENS, "include_layers": []}, "at least one layer"),
    ],
)
def test_calls_that_cannot_be_shown_are_explained(arguments: dict[str, Any], message: str) -> None:
    for call in (bl.head_view, bl.model_view):
        with pytest.raises(ValueError, match=message):
            call(**arguments)


def test_an_unknown_layer_to_include_is_named() -> None:
    with pytest.raises(IndexError, match=r"no layer 9: .* 0 to 1"):
        bl.head_view(weights(), TOKENS, include_layers=[9])


def side(tokens: list[str]) -> tuple[list[str], list[str]]:
    """Labels and words of an attention between such tokens."""
    n = len(tokens)
    attention = bl.Attention.from_tensors(np.full((1, 1, n, n), 1 / n), tokens)
    return [t.label for t in attention.tokens], [w.text for w in attention.words]


@pytest.mark.parametrize("text", ["I like naïve café 🍓 pie.\nYes", "né 🍓", "日本語 and ŁŃ"])
def test_byte_level_pieces_are_decoded_over_their_neighbours(text: str) -> None:
    tokenizer = byte_bpe()
    pieces = tokenizer.convert_ids_to_tokens(tokenizer(text, add_special_tokens=False)["input_ids"])
    labels, words = side(pieces)
    expected = encode(tokenizer, text)
    assert labels == [t.label for t in expected.tokens if not t.special]
    assert "".join(words).replace("⏎", "") == "".join(text.split())


def test_byt5s_characters_are_bytes() -> None:
    labels, words = side([chr(byte) for byte in "né 🍓 y".encode()])
    assert labels == ["n", "é", "⋮", "␣", "🍓", "⋮", "⋮", "⋮", "␣", "y"]
    assert words == ["né", "🍓", "y"]


def test_letters_of_latvian_are_no_bytes() -> None:
    labels, words = side(["Ģ", "##irts", "un", "Ķ"])
    assert labels == ["Ģ", "irts", "un", "Ķ"]
    assert words == ["Ģirts", "un", "Ķ"]


def test_continuations_of_subword_nmt_are_joined() -> None:
    labels, words = side(["fresh", "straw@@", "berr@@", "ies", "@@", "."])
    assert labels == ["fresh", "straw", "berr", "ies", "@@", "."]
    assert words == ["fresh", "strawberries", "@@", "."]


def test_bytes_that_sentencepiece_falls_back_to_are_joined() -> None:
    labels, words = side(["▁I", "▁like", "▁", "<0xF0>", "<0x9F>", "<0x8D>", "<0x93>"])
    assert labels == ["I", "like", "␣", "🍓", "⋮", "⋮", "⋮"]
    assert words == ["I", "like", "🍓"]
