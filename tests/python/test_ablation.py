"""Ablated heads and cut edges equal hooks on the projection and masks given to eager attention."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    Gemma2Config,
    Gemma2Model,
    GPT2Config,
    GPT2LMHeadModel,
    MistralConfig,
    MistralModel,
    Qwen2Config,
    Qwen2Model,
    T5Config,
    T5ForConditionalGeneration,
)

import bertlens as bl
from bertlens.errors import InterventionError
from tests.python.model_state import differences, state
from tests.python.tiny import BERT_SIZES, byte_bpe, classifier, tiny, wordpiece

TEXT = "The cat sat on the mat."
SIZES = {**BERT_SIZES, "num_hidden_layers": 3, "num_key_value_heads": 2}

PROJECTIONS = {
    "bert": r"attention\.output\.dense$",
    "roberta": r"attention\.output\.dense$",
    "electra": r"attention\.output\.dense$",
    "albert": r"attention\.dense$",
    "distilbert": r"attention\.out_lin$",
    "modernbert": r"attn\.Wo$",
    "gpt2": r"attn\.c_proj$",
    "llama": r"self_attn\.o_proj$",
    "mistral": r"self_attn\.o_proj$",
    "gemma2": r"self_attn\.o_proj$",
    "qwen2": r"self_attn\.o_proj$",
    "t5": r"encoder.*SelfAttention\.o$",
}
FAMILIES = list(PROJECTIONS)


def model_of(family: str) -> Any:
    torch.manual_seed(0)
    match family:
        case "mistral":
            model: Any = MistralModel(MistralConfig(**SIZES, sliding_window=4))
        case "gemma2":
            model = Gemma2Model(Gemma2Config(**SIZES, head_dim=8, sliding_window=4))
        case "qwen2":
            model = Qwen2Model(Qwen2Config(**SIZES))
        case "t5":
            model = T5ForConditionalGeneration(
                T5Config(
                    d_model=32,
                    d_kv=8,
                    d_ff=48,
                    num_layers=3,
                    num_heads=4,
                    vocab_size=420,
                    decoder_start_token_id=1,
                )
            )
        case _:
            return tiny(family)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embed" not in name and "shared" not in name:
                parameter.mul_(8 if family != "t5" else 2)
    return model.eval()


def lens_of(family: str) -> bl.Lens:
    known = family in ("bert", "distilbert", "albert", "electra", "modernbert")
    tokenizer = wordpiece() if known else byte_bpe()
    return bl.Lens(model_of(family), tokenizer)


def output(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    body = model.encoder if hasattr(model, "encoder") and hasattr(model, "decoder") else model
    with torch.no_grad():
        return body(**inputs).last_hidden_state


@contextmanager
def hooked(
    model: nn.Module, family: str, layer: int, change: Callable[[Tensor], Tensor]
) -> Iterator[None]:
    """Change what the layer's output projection is given, [batch, tokens, head, dim]."""
    paths = [p for p, _ in model.named_modules() if re.search(PROJECTIONS[family], p)]
    calls = iter(range(1000))

    def before(module: nn.Module, args: tuple[Any, ...]) -> Any:
        # ALBERT has one module for all layers.
        if len(paths) == 1 and next(calls) != layer:
            return None
        states = args[0].reshape(*args[0].shape[:2], 4, -1)
        return (change(states).reshape(args[0].shape), *args[1:])

    path = paths[0] if len(paths) == 1 else paths[layer]
    handle = model.get_submodule(path).register_forward_pre_hook(before)
    try:
        yield
    finally:
        handle.remove()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", ["zero", "mean"])
def test_zero_and_mean_equal_a_hook_on_the_projection(family: str, method: str) -> None:
    lens = lens_of(family)
    # Two texts of different lengths: the second is padded, and padding counts for nothing.
    encodings = [lens.encode(TEXT), lens.encode("The dog.")]
    inputs = lens.tensors(encodings)
    real = inputs["attention_mask"][..., None].float()

    def change(states: Tensor) -> Tensor:
        states = states.clone()
        own = states[:, :, 2]
        mean = (own * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)
        states[:, :, 2] = 0 if method == "zero" else mean
        return states

    with hooked(lens.model, family, 1, change):
        expected = output(lens.model, inputs)
    changed = lens.ablate([(1, 2)], method)
    with changed.running():
        actual = output(lens.model, inputs)
    for i, encoding in enumerate(encodings):
        n = len(encoding)
        assert torch.allclose(actual[i, :n], expected[i, :n], atol=2e-5)
        assert not torch.allclose(actual[i, :n], output(lens.model, inputs)[i, :n], atol=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_behind_an_ablated_head_are_those_of_the_hooked_model(family: str) -> None:
    lens = lens_of(family)
    plain = lens(TEXT)
    att = lens.ablate([(1, 2)])(TEXT)

    def change(states: Tensor) -> Tensor:
        states = states.clone()
        states[:, :, 2] = 0
        return states

    with hooked(lens.model, family, 1, change):
        expected = lens(TEXT).weights(2)
    assert np.allclose(att.weights(2), expected, atol=1e-5)
    assert np.array_equal(att.weights(1), plain.weights(1))
    assert not np.allclose(att.weights(2), plain.weights(2), atol=1e-3)


def test_mean_over_reference_texts() -> None:
    lens = lens_of("bert")
    seen: list[Tensor] = []

    def look(states: Tensor) -> Tensor:
        seen.append(states[0, :, 2])
        return states

    for text in ("The dog.", TEXT):
        with hooked(lens.model, "bert", 1, look):
            output(lens.model, lens.tensors([lens.encode(text)]))
    mean = torch.cat(seen).mean(0)

    def change(states: Tensor) -> Tensor:
        states = states.clone()
        states[:, :, 2] = mean
        return states

    inputs = lens.tensors([lens.encode("A fox jumps.")])
    with hooked(lens.model, "bert", 1, change):
        expected = output(lens.model, inputs)
    with lens.ablate([(1, 2)], "mean", texts=["The dog.", TEXT]).running():
        assert torch.allclose(output(lens.model, inputs), expected, atol=1e-5)


def register(name: str, change: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> None:
    """A plain attention whose weights [batch, heads, from, to] are changed."""

    def attend(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any
    ) -> tuple[Tensor, Tensor]:
        groups = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(groups, 1) for x in (key, value))
        scale = options.get("scaling") or query.shape[-1] ** -0.5
        scores = query @ key.mT * scale
        n = query.shape[-2]
        allowed = torch.ones(n, n).tril().bool() if module.is_causal else torch.ones(n, n).bool()
        weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
        weights = change(module, weights, allowed)
        return (weights @ value).transpose(1, 2), weights

    AttentionInterface.register(name, attend)


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "gpt2", "llama", "qwen2"])
def test_uniform_equals_weights_spread_by_hand(family: str) -> None:
    lens = lens_of(family)
    inputs = lens.tensors([lens.encode(TEXT)])
    att = lens.ablate([(1, 2)], "uniform")(TEXT)
    with lens.ablate([(1, 2)], "uniform").running():
        actual = output(lens.model, inputs)

    def change(module: nn.Module, weights: Tensor, allowed: Tensor) -> Tensor:
        if module.layer_idx == 1:
            weights[:, 2] = allowed / allowed.sum(-1, keepdim=True)
        return weights

    register("uniform_by_hand", change)
    lens.model.set_attn_implementation("uniform_by_hand")
    expected = output(lens.model, inputs)
    assert torch.allclose(actual, expected, atol=2e-5)
    n = len(att.tokens)
    rows = np.tril(np.ones((n, n))) if family in ("gpt2", "llama", "qwen2") else np.ones((n, n))
    assert np.allclose(att.weights(1, 2), rows / rows.sum(-1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize(
    "family",
    [
        "bert",
        "roberta",
        "electra",
        "albert",
        "distilbert",
        "gpt2",
        "llama",
        "mistral",
        "gemma2",
        "qwen2",
    ],
)
@pytest.mark.parametrize("heads", [None, [0, 3]])
def test_knockout_equals_a_mask_given_to_eager_attention(
    family: str, heads: list[int] | None
) -> None:
    lens = lens_of(family)
    inputs = lens.tensors([lens.encode(TEXT)])
    n = inputs["input_ids"].shape[1]
    causal = family in ("gpt2", "llama", "mistral", "gemma2", "qwen2")
    mask = torch.zeros(1, 4, n, n)
    lowest = torch.finfo(torch.float32).min
    if causal:
        mask.masked_fill_(~torch.ones(n, n).tril().bool(), lowest)
    if family in ("mistral", "gemma2"):
        # Windows as long as the text: one mask holds for every layer.
        lens.model.config.sliding_window = 64
    mask[:, slice(None) if heads is None else heads, 4, 1:3] = lowest
    att = lens.knockout(4, [1, 2], heads=heads)(TEXT)
    lens.model.set_attn_implementation("eager")
    with torch.no_grad():
        options = {**inputs, "attention_mask": mask}
        if family in ("mistral", "gemma2"):
            options["attention_mask"] = {"full_attention": mask, "sliding_attention": mask}
            if family == "mistral":
                options["attention_mask"] = mask
        attentions = lens.model(**options, output_attentions=True).attentions
    for layer, expected in enumerate(attentions):
        assert np.allclose(att.weights(layer), expected[0].numpy(), atol=2e-5), layer
    chosen = range(4) if heads is None else heads
    assert all(att.weights(0, head)[4, 1:3].sum() == 0 for head in chosen)
    assert np.allclose(att.weights(2).sum(-1), 1, atol=1e-5)


def test_knockout_by_label_finds_the_tokens_of_each_text() -> None:
    lens = lens_of("bert")
    cut = lens.knockout("[CLS]", ["cat", "."], layers=0)
    texts = ["The cat sat.", "The brown dog did not mind the cat."]
    for text, att in zip(texts, cut.many(texts), strict=True):
        labels = [token.label for token in att.tokens]
        where = [i for i, label in enumerate(labels) if label in ("cat", ".")]
        assert att.weights(0)[:, 0, where].sum() == 0
        alone = cut(text)
        assert np.allclose(alone.weights(2), att.weights(2), atol=1e-5)
    with pytest.raises(ValueError, match="no token reads 'cat'"):
        cut("The fox jumps.")
    # A corpus has texts without them, which stay as they are.
    plain = lens.scan(["The fox jumps."], progress=False)["entropy"].values
    assert np.array_equal(cut.scan(["The fox jumps."], progress=False)["entropy"].values, plain)


@pytest.mark.parametrize("family", FAMILIES)
def test_ablating_nothing_is_the_plain_model_bit_for_bit(family: str) -> None:
    lens = lens_of(family)
    plain, same = lens(TEXT), lens.ablate([])(TEXT)
    for layer in range(3):
        assert np.array_equal(plain.weights(layer), same.weights(layer))
    inputs = lens.tensors([lens.encode(TEXT)])
    expected = output(lens.model, inputs)
    with lens.ablate([]).running():
        assert torch.equal(output(lens.model, inputs), expected)
    assert lens.ablate([]).name == lens.name


def test_changes_compose_and_the_name_says_so() -> None:
    lens = lens_of("bert")
    both = lens.ablate([(0, 1)]).knockout(2, 3, layers=1).ablate([(1, 0)], "uniform")
    att = both(TEXT)
    assert att.weights(1)[:, 2, 3].sum() == 0
    assert np.ptp(att.weights(1, 0)[0]) < 1e-6
    assert "without 0-1 (zero) without 2 -> 3 without 1-0 (uniform)" in att.model_name
    one = lens.ablate([(0, 1), (1, 2)])(TEXT).weights(2)
    assert np.allclose(lens.ablate([(0, 1)]).ablate([(1, 2)])(TEXT).weights(2), one, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "albert", "gpt2", "t5"])
def test_the_model_is_as_it_was(family: str) -> None:
    lens = lens_of(family)
    lens.model.train()
    before = state(lens.model)
    changed = lens.ablate([(1, 2)], "mean").knockout(2, 1, layers=2)
    changed(TEXT)
    assert differences(before, state(lens.model)) == []
    with pytest.raises(ZeroDivisionError), changed.running():
        raise ZeroDivisionError
    assert differences(before, state(lens.model)) == []
    with pytest.raises(KeyboardInterrupt), changed.running():
        raise KeyboardInterrupt
    assert differences(before, state(lens.model)) == []
    with pytest.raises(InterventionError):
        lens.knockout(1, range(len(lens.encode(TEXT))))(TEXT)
    assert differences(before, state(lens.model)) == []


def test_another_thread_runs_the_plain_model_meanwhile() -> None:
    lens = lens_of("bert")
    inputs = lens.tensors([lens.encode(TEXT)])
    expected = output(lens.model, inputs)
    seen: list[bool] = []

    def plain() -> None:
        seen.extend(torch.allclose(output(lens.model, inputs), expected) for _ in range(20))

    with lens.ablate([(0, h) for h in range(4)]).running():
        thread = threading.Thread(target=plain)
        thread.start()
        changed = [output(lens.model, inputs) for _ in range(20)]
        thread.join()
    assert seen == [True] * 20
    assert not any(torch.allclose(one, expected, atol=1e-3) for one in changed)


def test_running_follows_the_callers_training_mode_and_gradients() -> None:
    model = classifier()
    lens = bl.Lens(model, wordpiece())
    inputs = lens.tensors([lens.encode(TEXT)])
    with lens.ablate([(0, 1)]).running():
        model(**inputs, labels=torch.tensor([1])).loss.backward()
    value = model.bert.encoder.layer[0].attention.self.value.weight.grad
    # Head 1 of 4 writes nothing, so nothing flows back into its values.
    assert value[8:16].abs().max() == 0
    assert value[:8].abs().max() > 0


def test_a_prediction_and_a_generation_run_without_the_head() -> None:
    model = classifier(num_labels=3)
    lens = bl.Lens(model, wordpiece())
    heads = [(0, 0), (0, 1), (1, 0), (1, 3)]
    att = lens.ablate(heads)(TEXT)
    inputs = lens.tensors([lens.encode(TEXT)])
    with lens.ablate(heads).running(), torch.no_grad():
        expected = model(**inputs).logits.softmax(-1)[0]
    assert att.prediction is not None
    assert att.prediction.probability == pytest.approx(float(expected.max()), abs=1e-6)

    torch.manual_seed(1)
    writer = GPT2LMHeadModel(
        GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=400, n_positions=64)
    ).eval()
    with torch.no_grad():
        for parameter in writer.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)
    lens = bl.Lens(writer, byte_bpe())
    everything = [(layer, head) for layer in range(2) for head in range(4)]
    for method in ("zero", "mean", "uniform"):
        att = lens.ablate(everything, method).generate("The cat", max_new_tokens=6)
        ids = lens.tensors([lens.encode("The cat")])["input_ids"]
        ids = ids[:, : -1 if ids[0, -1] == 2 else None]
        with lens.ablate(everything, method).running(), torch.no_grad():
            for _ in range(6):
                logits = writer(input_ids=ids, use_cache=False).logits[0, -1]
                ids = torch.cat([ids, logits.argmax()[None, None]], 1)
                if int(ids[0, -1]) == writer.config.eos_token_id:
                    break
        pieces = [token.text for token in att.tokens]
        assert pieces == [lens.tokenizer.convert_ids_to_tokens(int(i)) for i in ids[0]]


def test_a_knockout_of_every_edge_is_an_error_in_words() -> None:
    lens = lens_of("bert")
    n = len(lens.encode(TEXT))
    with pytest.raises(InterventionError, match="token 2 nothing to attend to in layer 0"):
        lens.knockout(2, range(n))(TEXT)
    # The first token of a causal model looks at itself alone.
    with pytest.raises(InterventionError, match="token 0 nothing to attend to in layer 1"):
        lens_of("llama").knockout(0, 0, layers=1)(TEXT)


def test_wrong_arguments_are_errors_in_words() -> None:
    lens = lens_of("bert")
    with pytest.raises(IndexError, match="layers 0 to 2, not 3"):
        lens.ablate([(3, 0)])
    with pytest.raises(IndexError, match="heads 0 to 3, not 4"):
        lens.ablate([(0, 4)])
    with pytest.raises(TypeError, match="list of \\(layer, head\\)"):
        lens.ablate([3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match='"zero", "mean" or "uniform"'):
        lens.ablate([(0, 0)], "half")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match='belongs to method="mean"'):
        lens.ablate([(0, 0)], texts=[TEXT])
    with pytest.raises(ValueError, match="names no token"):
        lens.knockout([], 1)
    with pytest.raises(IndexError, match="layers 0 to 2, not 7"):
        lens.knockout(0, 1, layers=[7])
    with pytest.raises(InterventionError, match="no attention of kind 'cross'"):
        lens.ablate([(0, 0)], kind="cross")


def test_kinds_of_an_encoder_decoder() -> None:
    lens = lens_of("t5")
    pair = ("The cat sat.", "The dog did.")
    plain = lens(*pair)
    cut = lens.ablate([(0, 1)], kind="cross").knockout(1, 2, kind="decoder", layers=1)(*pair)
    assert np.array_equal(cut.kind("encoder").weights(2), plain.kind("encoder").weights(2))
    assert np.array_equal(cut.kind("decoder").weights(0), plain.kind("decoder").weights(0))
    assert not np.allclose(cut.kind("decoder").weights(1), plain.kind("decoder").weights(1))
    with pytest.raises(InterventionError, match="nothing to attend to"):
        lens.knockout(0, 0, kind="decoder")(*pair)
    assert lens.ablate([(2, 0)])(*pair).kind("encoder").n_layers == 3


def test_a_family_that_is_read_by_hooks_is_refused_in_words() -> None:
    from tests.python.tiny_models import tiny_model

    member = tiny_model("deberta")
    lens = bl.Lens(member.model, wordpiece())
    with pytest.raises(InterventionError, match="cannot be edited"):
        lens.ablate([(0, 0)])
