"""Families of models: the table in docs/families.md is what happens, and forms by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import MODEL_MAPPING

import bertlens as bl
from bertlens import capture
from tests.python import tiny_models
from tests.python.families import subprocess_row, table
from tests.python.families.eager_reference import eager_pass
from tests.python.families.subprocess_row import row_in_subprocess
from tests.python.families.table import DOCS, save, saved
from tests.python.families.table_row import Row, joined, row
from tests.python.tiny import tokenizer_for

pytestmark = pytest.mark.slow

# Those that people look into most, and every family that needs a way of its own.
NAMED = [
    *["bert", "roberta", "xlm-roberta", "camembert", "electra", "albert", "distilbert"],
    *["mobilebert", "modernbert", "eurobert", "gpt2", "llama", "mistral", "qwen2", "qwen3"],
    *["gemma", "gemma2", "gpt_oss", "gpt_neox", "phi3", "t5", "mt5", "bart", "mbart", "marian"],
    *["pegasus", "whisper", "vit", "clip", "deberta", "deberta-v2", "mpnet", "rembert"],
    *["roformer", "megatron-bert", "luke", "canine", "xlm", "flaubert", "gpt_neo", "bloom"],
    *["falcon", "mpt", "longt5", "big_bird", "bigbird_pegasus", "convbert", "ibert", "xlnet"],
    *["longformer", "led", "squeezebert", "funnel", "reformer", "fnet", "mamba", "t5gemma2"],
    *["lxmert", "prophetnet", "data2vec-vision", "informer", "zamba2", "musicgen", "sam2"],
    *["qwen2_5_vl_vision", "qwen3_asr_encoder", "levit"],
]


def documented() -> dict[str, str]:
    """Family -> its line in the table, which must be of the release that is installed."""
    text = DOCS.read_text("utf-8")
    if f"transformers {transformers.__version__}." not in text:
        pytest.fail(
            f"docs/families.md is of another release than transformers {transformers.__version__}: "
            "write it again with `python -m tests.python.families`, look through what changed "
            "(no row may say FAILED, NOT EQUAL, WRONG or CHANGED), and commit it."
        )
    return {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}


def test_every_family_of_transformers_is_in_the_table() -> None:
    table = documented()
    known = {config.model_type for config in MODEL_MAPPING}
    assert known <= set(table) | {"family"}, sorted(known - set(table))


@pytest.mark.parametrize("family", NAMED)
def test_a_family_does_what_the_table_says(family: str) -> None:
    table = documented()
    assert str(row(family)) == table[family]


def test_both_references_of_eager_attention_say_the_same() -> None:
    tiny = tiny_models.tiny_model("bert", implementation="eager")
    seen = eager_pass(tiny.model, tiny.inputs)
    assert list(seen.listed) == ["attentions"]
    assert len(seen.returned) == 2
    for listed, returned in zip(seen.listed["attentions"], seen.returned, strict=True):
        assert (listed == returned).all()


def test_calls_for_several_pictures_in_one_row_go_along_the_diagonal() -> None:
    small, large = torch.ones(1, 1, 1, 1), torch.full((1, 1, 2, 2), 0.5)
    (whole,) = joined(torch.zeros(1, 1, 3, 3), [large, small])
    assert whole[0, 0].tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]
    assert joined(torch.zeros(1, 1, 5, 5), [large, small]) == []


def test_a_family_whose_process_ends_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess_row, "row", lambda family: os._exit(3))
    assert str(row_in_subprocess("bert")) == "| bert | FAILED: its process ended with code 3 |  |"


def test_parts_of_the_table_come_back_whole(tmp_path: Path) -> None:
    first, second = Row("bert", "self: interface", "equal"), Row("fnet", "no attention")
    save([first], tmp_path / "1-of-2.json")
    save([second], tmp_path / "2-of-2.json")
    assert saved(tmp_path) == [first, second]


def test_a_table_without_every_family_is_not_written() -> None:
    with pytest.raises(ValueError, match="1 rows for"):
        table.write([Row("bert", "self: interface")])


def raw_and_made(family: str) -> tuple[list[torch.Tensor], list[torch.Tensor], int]:
    """What a family lists as its (encoder's) attention, what is made of it, and how many tokens."""
    tiny = tiny_models.tiny_model(family)
    made = capture.store(tiny.model, tiny.inputs, exact=True)
    plain = tiny_models.tiny_model(family, implementation="eager").model
    with torch.no_grad():
        outputs: Any = plain(**tiny.inputs, output_attentions=True)
    listed = outputs.get("encoder_attentions") or outputs["attentions"]
    kind = made.plan.kinds[0]
    n = tiny.inputs["input_ids"].shape[1]
    return list(listed), [layer.weights() for layer in made.kinds[kind]], n


@pytest.mark.parametrize("family", ["longformer", "led"])
def test_a_band_becomes_a_matrix_with_each_weight_at_its_token(family: str) -> None:
    for raw, made in zip(*raw_and_made(family)[:2], strict=True):
        batch, heads, n, width = raw.shape
        assert made.shape == (batch, heads, n, n)
        side = width // 2
        for i in range(n):
            for j in range(n):
                offset = j - i
                wanted = raw[:, :, i, offset + side] if abs(offset) <= side else 0
                assert (made[:, :, i, j] == wanted).all()


def test_blocks_become_a_matrix_with_each_weight_at_its_token() -> None:
    listed, found, n = raw_and_made("longt5")
    for raw, made in zip(listed, found, strict=True):
        length = raw.shape[3]
        for i in range(n):
            for j in range(n):
                # A row's columns are the block before its own, its own and the one after.
                column = j - (i // length - 1) * length
                wanted = (
                    raw[:, i // length, :, i % length, column] if 0 <= column < 3 * length else 0
                )
                assert (made[:, :, i, j] == wanted).all()


def test_scores_of_squeezebert_are_shown_as_their_softmax() -> None:
    listed, found, _ = raw_and_made("squeezebert")
    for raw, made in zip(listed, found, strict=True):
        assert (raw.sum(-1) - 1).abs().max() > 0.1
        torch.testing.assert_close(made, raw.softmax(-1))


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("longformer", "band"),
        ("longt5", "neighbouring blocks"),
        ("squeezebert", "before the softmax"),
    ],
)
def test_what_is_made_of_other_numbers_is_said(family: str, words: str) -> None:
    tiny = tiny_models.tiny_model(family)
    (note,) = capture.store(tiny.model, tiny.inputs).notes
    assert words in note


def test_a_band_too_long_for_a_matrix_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bertlens.capture.layouts.MAX_DENSE_TOKENS", 10)
    tiny = tiny_models.tiny_model("longformer")
    with pytest.raises(bl.BertlensError, match=r"dense matrix of 12 tokens .* at most 10"):
        capture.store(tiny.model, tiny.inputs)


def test_bigbird_is_read_both_in_full_and_in_blocks() -> None:
    tiny = tiny_models.tiny_model("big_bird")
    full = capture.store(tiny.model, tiny.inputs)
    ids = torch.randint(5, 200, (1, 50), generator=torch.Generator().manual_seed(0))
    long = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    blocks = capture.store(tiny.model, long, exact=True)
    assert tiny.model.attention_type == "block_sparse"
    assert full.kinds["self"][0].shape == (12, 12)
    # 50 tokens are padded to 52, a multiple of the block, and the padding is cut off again.
    plain = tiny_models.tiny_model("big_bird", implementation="eager").model
    with torch.no_grad():
        listed = plain(**long, output_attentions=True).attentions
    for layer, raw in zip(blocks.kinds["self"], listed, strict=True):
        torch.testing.assert_close(layer.weights(), raw[..., :50, :50], atol=1e-6, rtol=0)


def test_a_family_of_any_way_is_explored_by_a_lens() -> None:
    lens = bl.Lens(tiny_models.tiny_model("deberta").model, tokenizer_for("bert"))
    attention = lens("I went to the store.")
    assert (attention.n_layers, attention.n_heads) == (2, 4)
    assert len(attention.tokens) == attention.weights(0).shape[-1]
    assert attention.notes == ()


def test_pooled_layers_are_kinds_of_their_own_with_numbered_positions() -> None:
    # CANINE's deep layers look at half of the characters here, the last layer at all of them.
    lens = bl.Lens(tiny_models.tiny_model("canine").model, tokenizer_for("bert"))
    lens("I went to the store.")
    attention = lens("I went to the store. " * 3)
    sizes = {kind: len(attention.kind(kind).tokens) for kind in attention.kinds}
    assert sizes == {"self 0": 8, "self 1": 10, "self 2": 20}
    deep = attention.kind("self 1")
    assert (deep.n_layers, deep.weights().shape) == (2, (2, 4, 10, 10))
    assert [t.label for t in deep.tokens] == [str(i) for i in range(10)]
    assert "positions are numbered" in deep.notes[-1]
