"""Captured tensors are bounded by bytes; what was dropped is made again of an unchanged model."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens.attention.captured import CapturedWeights
from tests.python.tiny import eager_weights, tiny, tokenizer_for

TEXT = "I went to the store."
LONG = "The cat sat on the mat, and the dog did not mind. I went to the store."
EPOCHS = 12


@pytest.fixture
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


@pytest.fixture
def one_at_a_time() -> Iterator[None]:
    """Only the capture that was used last keeps its tensors."""
    before = bl.memory.limit()
    bl.memory.set_limit(0)
    yield
    bl.memory.set_limit(before)


def source(attention: bl.Attention) -> CapturedWeights:
    found = attention.source
    assert isinstance(found, CapturedWeights)
    return found


def train(model: Any) -> None:
    """One step of an optimizer, that changes every weight."""
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    model(torch.tensor([[1, 2, 3, 4]])).last_hidden_state.square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    model.eval()


def eager(lens: bl.Lens, text: str = TEXT) -> np.ndarray:
    """What transformers itself computes now, [layer, head, from, to]."""
    implementation = lens.model.config._attn_implementation
    weights = eager_weights(lens.model, lens.tensors([lens.encode(text)]))[:, 0]
    lens.model.set_attn_implementation(implementation)
    return weights


def epochs(lens: bl.Lens, **options: Any) -> tuple[list[bl.Attention], list[np.ndarray]]:
    """An attention kept of every epoch of a training, and what it has to be."""
    kept, expected = [], []
    for _ in range(EPOCHS):
        kept.append(lens(TEXT, **options))
        expected.append(eager(lens))
        train(lens.model)
    return kept, expected


def test_attention_kept_of_every_epoch_is_that_of_its_epoch(lens: bl.Lens) -> None:
    kept, expected = epochs(lens)
    assert abs(expected[0] - expected[-1]).max() > 0.1  # training changed the model
    for attention, weights in zip(kept, expected, strict=True):
        np.testing.assert_allclose(attention.weights(), weights, atol=1e-5)


def test_what_was_dropped_of_a_training_raises(lens: bl.Lens, one_at_a_time: None) -> None:
    kept, expected = epochs(lens)
    np.testing.assert_allclose(kept[-1].weights(), expected[-1], atol=1e-5)
    for attention in kept[:-1]:
        assert not attention.is_cached
        for ask in (
            lambda own: own.weights(),
            lambda own: own.weights(1, 2),
            lambda own: own.rows(0, [1]),
            lambda own: own.to_words().weights(),
            lambda own: own.rollout(),
            lambda own: own.mean(),
            lambda own: own.scores["entropy"],
            lambda own: own.queries(0, 0),
        ):
            with pytest.raises(bl.ModelChangedError, match=r"parameters.*keep=True"):
                ask(attention)


def test_keep_keeps_every_epoch_whatever_the_limit(lens: bl.Lens, one_at_a_time: None) -> None:
    kept, expected = epochs(lens, keep=True)
    for attention, weights in zip(kept, expected, strict=True):
        np.testing.assert_allclose(attention.weights(), weights, atol=1e-5)


@pytest.mark.parametrize("exact", [False, True])
def test_keep_keeps_queries_keys_and_value_norms(
    lens: bl.Lens, one_at_a_time: None, exact: bool
) -> None:
    before = lens(TEXT, exact=exact)
    norms, queries, keys = before.value_norms().weights(), before.queries(1), before.keys(1)
    attention = lens(TEXT, keep=True, exact=exact)
    train(lens.model)
    lens("The cat sat.")
    attention.close()  # as a view does that is closed
    np.testing.assert_allclose(attention.value_norms().weights(), norms, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(attention.queries(1), queries, atol=1e-6)
    np.testing.assert_allclose(attention.keys(1), keys, atol=1e-6)
    now = lens(TEXT).value_norms().weights()
    assert abs(now - norms).max() > 0.1  # those of the model as it is now are others


def test_value_norms_of_a_changed_model_raise(lens: bl.Lens) -> None:
    attention = lens(TEXT)
    made_before = lens(TEXT).value_norms()
    expected = made_before.weights().copy()
    train(lens.model)
    with pytest.raises(bl.ModelChangedError):
        attention.value_norms()
    with pytest.raises(bl.ModelChangedError):
        attention.weights(0, norm="value")
    np.testing.assert_array_equal(made_before.weights(), expected)


def scale_embeddings(model: Any) -> None:
    model.embeddings.word_embeddings.weight.data.mul_(2)


def silence_a_head(model: Any) -> None:
    model.encoder.layer[0].attention.self.value.weight.data[8:16] = 0


def set_scaling(model: Any) -> None:
    model.encoder.layer[0].attention.self.scaling = 0.0


def add_a_hook(model: Any) -> None:
    model.encoder.layer[0].register_forward_hook(lambda *found: None)


@pytest.mark.parametrize(
    "touch",
    [train, scale_embeddings, silence_a_head, set_scaling, add_a_hook],
    ids=lambda touch: touch.__name__,
)
def test_stored_weights_stay_and_dropped_ones_raise(
    lens: bl.Lens, touch: Callable[[Any], None]
) -> None:
    attention = lens(TEXT)
    expected = eager(lens)
    touch(lens.model)
    np.testing.assert_allclose(attention.weights(), expected, atol=1e-5)
    attention.close()
    with pytest.raises(bl.ModelChangedError):
        attention.weights()


def test_a_buffer_that_changes_is_another_model(lens: bl.Lens) -> None:
    layer = lens.model.encoder.layer[1]
    layer.register_buffer("shift", torch.zeros(32))
    layer.register_forward_pre_hook(lambda module, args: (args[0] + module.shift, *args[1:]))
    attention = lens(TEXT)
    expected = eager(lens)
    layer.shift[3] = 2.0
    assert abs(eager(lens) - expected).max() > 1e-3
    np.testing.assert_allclose(attention.weights(), expected, atol=1e-5)
    attention.close()
    with pytest.raises(bl.ModelChangedError, match="parameters"):
        attention.weights()


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
def test_attention_of_another_adapter_is_not_shown() -> None:
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=4, target_modules=["query", "value"], init_lora_weights=False)
    model = peft.get_peft_model(tiny("bert"), config).eval()
    model.add_adapter("other", config)
    lens = bl.Lens(model, tokenizer_for("bert"))
    attention, kept = lens(TEXT), lens(TEXT, keep=True)
    expected, norms = attention.weights().copy(), lens(TEXT).value_norms().weights()
    model.set_adapter("other")
    assert abs(lens(TEXT).weights() - expected).max() > 1e-3
    np.testing.assert_array_equal(attention.weights(), expected)
    attention.close()
    with pytest.raises(bl.ModelChangedError, match="adapters"):
        attention.weights()
    with pytest.raises(bl.ModelChangedError, match="adapters"):
        attention.value_norms()
    np.testing.assert_array_equal(kept.weights(), expected)
    np.testing.assert_allclose(kept.value_norms().weights(), norms, rtol=1e-6)
    model.set_adapter("default")  # and back: the model is the same again
    np.testing.assert_array_equal(attention.weights(), expected)


def test_sinks_that_change_do_not_change_weights_that_are_stored() -> None:
    from transformers import GptOssConfig, GptOssModel

    torch.manual_seed(0)
    config = GptOssConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=48,
        vocab_size=420,
        num_local_experts=2,
        num_experts_per_tok=1,
        max_position_embeddings=64,
    )
    model = GptOssModel(config).eval()
    lens = bl.Lens(model, tokenizer_for("gpt2"))
    expected = eager(lens)
    attention = lens(TEXT)
    with torch.no_grad():
        for layer in model.layers:
            layer.self_attn.sinks.add_(3.0)
    assert abs(eager(lens) - expected).max() > 0.1
    np.testing.assert_allclose(attention.weights(), expected, atol=1e-5)


def test_windows_are_all_of_the_model_at_the_call(lens: bl.Lens) -> None:
    windows = lens(LONG, window=12)
    kept = lens(LONG, window=12, keep=True)
    first, second = windows[0].weights().copy(), kept[1].weights().copy()
    assert len(windows) > 2
    train(lens.model)
    np.testing.assert_array_equal(windows[0].weights(), first)
    with pytest.raises(bl.ModelChangedError, match="keep=True"):
        windows[1]
    with pytest.raises(bl.ModelChangedError):
        windows.stitched().weights()
    np.testing.assert_array_equal(kept[1].weights(), second)
    assert kept.stitched().weights().shape[-1] == len(kept.tokens)


def test_many_texts_of_a_changed_model(lens: bl.Lens, one_at_a_time: None) -> None:
    texts = [TEXT, LONG, "The cat sat."]
    dropped = lens.many(texts)
    kept = lens.many(texts, keep=True)
    expected = [eager(lens, text) for text in texts]
    norms = [lens(text).value_norms().weights() for text in texts]
    train(lens.model)
    for attention in dropped:
        with pytest.raises(bl.ModelChangedError):
            attention.weights()
    for attention, weights, norm in zip(kept, expected, norms, strict=True):
        np.testing.assert_allclose(attention.weights(), weights, atol=1e-5)
        np.testing.assert_allclose(attention.value_norms().weights(), norm, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("pages")
def test_a_view_of_a_changed_model_says_so(lens: bl.Lens, one_at_a_time: None) -> None:
    view = lens.explore(TEXT)
    train(lens.model)
    with pytest.raises(bl.ModelChangedError):
        view.norm = "value"
    assert view.norm is None
    view.text = "The cat sat."  # another text is run through the model as it is now
    np.testing.assert_allclose(view.attention.weights(), eager(lens, "The cat sat."), atol=1e-5)


def test_inputs_that_the_caller_writes_into_later(lens: bl.Lens) -> None:
    ids = torch.tensor([[2, 7, 8, 9, 3]])
    attention = lens(inputs={"input_ids": ids})
    expected = attention.weights().copy()
    attention.close()
    ids[0, 1:4] = 11
    np.testing.assert_array_equal(attention.weights(), expected)


def test_bytes_are_counted_and_bounded(lens: bl.Lens) -> None:
    gc.collect()
    before = bl.memory.used()
    attention = lens(TEXT, exact=True)
    n = len(attention.tokens)
    # 3 layers x 4 heads of float32 weights
    assert bl.memory.used() - before == 3 * 4 * n * n * 4
    del attention
    gc.collect()
    assert bl.memory.used() == before


def test_queries_and_keys_of_the_newest_captures_stay_within_the_limit(lens: bl.Lens) -> None:
    gc.collect()
    start = bl.memory.used()
    limit = bl.memory.limit()
    attention = lens(TEXT)
    # queries and keys: 3 layers of 32 dimensions in float32; and what else takes part in it
    per_text = bl.memory.used() - start
    n = len(attention.tokens)
    assert per_text >= 2 * 3 * n * 32 * 4
    try:
        bl.memory.set_limit(start + 5 * per_text)
        made = [attention] + [lens(TEXT) for _ in range(19)]
        assert [own.is_cached for own in made] == [False] * 15 + [True] * 5
        made[16].weights(0)  # used again, so that the one before the last goes first
        lens(LONG)
        assert made[16].is_cached
        assert bl.memory.used() <= start + 5 * per_text
        bl.memory.set_limit(0)
        assert not any(own.is_cached for own in made)
    finally:
        bl.memory.set_limit(limit)


@pytest.mark.parametrize("wrong", [-1, 1.5, "1 GB"])
def test_a_limit_is_a_number_of_bytes(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        bl.memory.set_limit(wrong)


def test_an_older_capture_is_made_again_with_the_same_weights(
    lens: bl.Lens, one_at_a_time: None
) -> None:
    first = lens(TEXT)
    expected = first.weights().copy()
    other = lens("The cat sat.")
    assert not first.is_cached
    np.testing.assert_array_equal(first.weights(), expected)
    assert first.is_cached
    assert not other.is_cached


def test_closing_frees_the_tensors_and_asking_again_makes_them_anew(lens: bl.Lens) -> None:
    attention = lens(TEXT)
    expected = attention.weights(1).copy()
    stored = weakref.ref(source(attention).stored_layer(0).call.query)  # type: ignore[attr-defined]
    attention.close()
    gc.collect()
    assert stored() is None
    np.testing.assert_array_equal(attention.weights(1), expected)


def test_an_attention_that_nobody_holds_is_freed(lens: bl.Lens) -> None:
    attention = lens(TEXT, keep=True)
    gone = weakref.ref(source(attention))
    del attention
    gc.collect()
    assert gone() is None


def test_captures_dropped_by_each_other_on_many_threads(lens: bl.Lens, one_at_a_time: None) -> None:
    made = [lens(TEXT), lens(LONG), lens("The cat sat.")]
    expected = [attention.weights().copy() for attention in made]
    wrong: list[str] = []

    def ask(start: int) -> None:
        for i in range(30):
            k = (start + i) % 3
            if not np.array_equal(made[k].weights(), expected[k]):
                wrong.append(f"text {k}")

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert isinstance(lens.model, nn.Module)
