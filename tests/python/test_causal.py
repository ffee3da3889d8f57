"""Effects, patching, attribution and pruning equal passes made by hand."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedConfig,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.modeling_outputs import CausalLMOutput
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import bertlens as bl
from bertlens.capture import HeadEdit, PatchEdit
from bertlens.causal.metrics import text_inputs
from bertlens.causal.runs import runs
from bertlens.errors import InterventionError
from tests.python.model_state import differences, state
from tests.python.tiny import BERT_SIZES, SENTENCES, byte_bpe, classifier, tiny, wordpiece

TEXT = SENTENCES[0]
HEADS = [(layer, head) for layer in range(2) for head in range(4)]


def rough(model: Any, by: float = 6) -> Any:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embed" not in name:
                parameter.mul_(by)
    return model.eval()


def writer() -> Any:
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400, "n_positions": 64}
    return rough(GPT2LMHeadModel(GPT2Config(**sizes)))


def masked_lm() -> Any:
    torch.manual_seed(0)
    return rough(BertForMaskedLM(BertConfig(**BERT_SIZES)))


def bert(seed: int = 0) -> Any:
    model = tiny("bert", seed)
    model.encoder.layer = model.encoder.layer[:2]
    model.config.num_hidden_layers = 2
    return model


def projections(model: nn.Module) -> list[nn.Module]:
    ends = ("attention.output.dense", "attn.c_proj", "o_proj")
    return [module for path, module in model.named_modules() if path.endswith(ends)]


def without(model: Any, head: tuple[int, int] | None, inputs: dict[str, Tensor]) -> Any:
    """The model's outputs with a head's slice of the projection's input set to 0."""

    def before(_: nn.Module, args: tuple[Any, ...]) -> Any:
        states = args[0].clone()
        width = states.shape[-1] // 4
        states[..., head[1] * width : (head[1] + 1) * width] = 0  # type: ignore[index]
        return (states, *args[1:])

    handle = None
    if head is not None:
        handle = projections(model)[head[0]].register_forward_pre_hook(before)
    try:
        with torch.no_grad():
            return model(**inputs)
    finally:
        if handle is not None:
            handle.remove()


def by_hand(
    lens: bl.Lens, measure: Callable[[Any, Any], float], inputs: dict[str, Tensor]
) -> np.ndarray:
    plain = without(lens.model, None, inputs)
    values = [measure(without(lens.model, h, inputs), plain) for h in HEADS]
    return np.array(values).reshape(2, 4) - measure(plain, plain)


def test_effects_on_a_classifier_are_of_the_predicted_label() -> None:
    lens = bl.Lens(rough(classifier(num_labels=3)), wordpiece())
    scores = bl.causal.effects(lens, SENTENCES, progress=False)

    def measure(out: Any, plain: Any) -> float:
        label = int(plain.logits[0].argmax())
        return float(out.logits.softmax(-1)[0, label])

    each = np.array(
        [by_hand(lens, measure, lens.tensors([lens.encode(text)])) for text in SENTENCES]
    )
    assert np.allclose(scores.values, each.mean(0), atol=1e-5)
    # Student's t with 3 degrees of freedom, 97.5%.
    half = 3.182446 * each.std(0, ddof=1) / 2
    assert np.allclose(scores.high, each.mean(0) + half, atol=1e-5)
    assert scores.notable == "low"
    assert (scores.support == 4).all()
    plain = [without(lens.model, None, lens.tensors([lens.encode(t)])) for t in SENTENCES]
    expected = np.mean([float(out.logits.softmax(-1).max()) for out in plain])
    assert scores.metric == pytest.approx(expected, abs=1e-6)


def test_effects_on_a_language_model_are_divergences_of_the_next_token() -> None:
    lens = bl.Lens(writer(), byte_bpe())

    def measure(out: Any, plain: Any) -> float:
        p, q = plain.logits.double().softmax(-1), out.logits.double().softmax(-1)
        return float((p * (p / q).log()).sum(-1).mean())

    scores = bl.causal.effects(lens, [TEXT], progress=False)
    expected = by_hand(lens, measure, lens.tensors([lens.encode(TEXT)]))
    assert np.allclose(scores.values, expected, rtol=1e-3, atol=1e-5)
    assert (scores.values >= 0).all()


def test_effects_on_a_masked_lm_are_of_the_masked_tokens() -> None:
    lens = bl.Lens(masked_lm(), wordpiece())
    encoding = lens.encode(SENTENCES[2])
    inputs = lens.tensors([encoding])
    run = text_inputs(lens, SENTENCES[2], masks=True).run
    places = (run["input_ids"] != inputs["input_ids"])[0].nonzero()[:, 0].tolist()
    assert len(places) == round(0.15 * (len(encoding) - 2))
    assert all(int(run["input_ids"][0, i]) == lens.tokenizer.mask_token_id for i in places)

    def measure(out: Any, _: Any) -> float:
        log_p = out.logits[0].log_softmax(-1)
        return float(np.mean([log_p[i, inputs["input_ids"][0, i]].item() for i in places]))

    scores = bl.causal.effects(lens, [SENTENCES[2]], progress=False)
    assert np.allclose(scores.values, by_hand(lens, measure, run), atol=1e-4)


def test_effects_without_a_task_head_are_distances_of_the_embedding() -> None:
    lens = bl.Lens(bert(), wordpiece())

    def measure(out: Any, plain: Any) -> float:
        one, other = (o.last_hidden_state[0].double().mean(0) for o in (out, plain))
        return float(1 - one @ other / one.norm() / other.norm())

    scores = bl.causal.effects(lens, [TEXT], progress=False)
    expected = by_hand(lens, measure, lens.tensors([lens.encode(TEXT)]))
    assert np.allclose(scores.values, expected, atol=1e-5)


def test_effects_by_a_function_of_ones_own_and_gold_labels() -> None:
    lens = bl.Lens(rough(classifier()), wordpiece())
    gold = [1, 0, 0, 1]

    def log_loss(out: Any, index: int) -> Tensor:
        return -out.logits.log_softmax(-1)[:, gold[index]]

    scores = bl.causal.effects(lens, SENTENCES, "zero", log_loss, progress=False)
    each = [
        by_hand(
            lens,
            lambda out, _, i=i: float(-out.logits.log_softmax(-1)[0, gold[i]]),
            lens.tensors([lens.encode(text)]),
        )
        for i, text in enumerate(SENTENCES)
    ]
    assert np.allclose(scores.values, np.mean(each, 0), atol=1e-5)
    with pytest.raises(TypeError, match=r"shape \(1,\); got \(1, 2\)"):
        bl.causal.effects(lens, [TEXT], metric=lambda out: out.logits, progress=False)


@pytest.mark.parametrize("method", ["mean", "uniform"])
@pytest.mark.parametrize("batch_size", [None, 3])
def test_effects_by_other_methods_equal_ablated_lenses(method: str, batch_size: int | None) -> None:
    lens = bl.Lens(rough(classifier()), wordpiece())
    scores = bl.causal.effects(
        lens,
        [TEXT],
        method,
        progress=False,
        batch_size=batch_size,  # type: ignore[arg-type]
    )
    plain = lens(TEXT).prediction
    assert plain is not None
    for layer, head in HEADS:
        prediction = lens.ablate([(layer, head)], method)(TEXT).prediction  # type: ignore[arg-type]
        assert prediction is not None
        chances = {one.label: one.probability for one in prediction.ranked}
        change = chances[plain.label] - plain.probability
        assert scores.values[layer, head] == pytest.approx(change, abs=1e-5)


def test_effects_of_a_lens_that_is_cut_already() -> None:
    lens = bl.Lens(rough(classifier()), wordpiece())
    cut = lens.knockout("store", "the").ablate([(0, 1)])
    scores = bl.causal.effects(cut, [TEXT], progress=False)
    assert scores.values[0, 1] == pytest.approx(0, abs=1e-6)
    plain, both = cut(TEXT).prediction, cut.ablate([(1, 2)])(TEXT).prediction
    assert plain is not None
    assert both is not None
    chances = {one.label: one.probability for one in both.ranked}
    change = chances[plain.label] - plain.probability
    assert scores.values[1, 2] == pytest.approx(change, abs=1e-5)


def test_an_encoder_decoder_by_kind() -> None:
    torch.manual_seed(0)
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    model: Any = T5ForConditionalGeneration(
        T5Config(**sizes, vocab_size=420, decoder_start_token_id=1)
    ).eval()
    lens = bl.Lens(model, byte_bpe())
    pair = ("The cat sat.", "The dog did.")
    for kind in ("encoder", "decoder", "cross"):
        scores = bl.causal.effects(lens, [pair], kind=kind, progress=False)
        changed = lens.ablate([(1, 2)], kind=kind)
        inputs = text_inputs(lens, pair).inputs
        with torch.no_grad():
            plain = model(**inputs).logits.log_softmax(-1)
            with changed.running():
                other = model(**inputs).logits.log_softmax(-1)
        expected = float((plain.exp() * (plain - other)).sum(-1).mean())
        assert scores.values[1, 2] == pytest.approx(expected, rel=1e-3, abs=1e-7)
    with pytest.raises(TypeError, match="pairs of source and target"):
        bl.causal.effects(lens, ["The cat."], progress=False)


def test_an_interrupt_gives_what_was_counted_and_the_model_back() -> None:
    lens = bl.Lens(classifier(), wordpiece())
    lens.model.train()
    before = state(lens.model)
    passes = []

    def metric(out: Any, index: int) -> Tensor:
        passes.append(index)
        if index == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return out.logits[:, 0]

    scores = bl.causal.effects(lens, SENTENCES, metric=metric, progress=False)
    assert scores.partial
    assert scores.coverage.counted == 2
    assert (scores.support == 2).all()
    assert differences(before, state(lens.model)) == []


def test_empty_and_long_texts_are_counted() -> None:
    lens = bl.Lens(classifier(), wordpiece())
    texts = ["", TEXT, "cat " * 100]
    scores = bl.causal.effects(lens, texts, progress=False, truncate=False)
    assert dict(scores.coverage.skipped) == {"empty": 1, "too long": 1}
    assert bl.causal.effects(lens, texts, progress=False).coverage.truncated == 1
    with pytest.raises(ValueError, match="No text could be counted"):
        bl.causal.effects(lens, [""], progress=False)


@pytest.mark.slow
def test_ray_counts_the_same(cluster: Any) -> None:
    lens = bl.Lens(rough(classifier()), wordpiece())
    texts = SENTENCES * 3
    one = bl.causal.effects(lens, texts, progress=False)
    many = bl.causal.effects(lens, texts, progress=False, engine="ray", workers=2)
    assert np.allclose(one.values, many.values, atol=1e-9)
    assert np.allclose(one.low, many.low, atol=1e-7)
    assert many.coverage.counted == 12


def test_patching_equals_a_hook_that_puts_the_clean_head_in() -> None:
    lens = bl.Lens(rough(classifier()), wordpiece())
    clean, corrupted = "The cat sat on the mat.", "The dog sat on the mat."
    scores = bl.causal.patching(lens, clean, corrupted)
    inputs = [lens.tensors([lens.encode(text)]) for text in (clean, corrupted)]
    seen: list[Tensor] = []
    handles = [
        module.register_forward_pre_hook(lambda _, args: seen.append(args[0].clone()))
        for module in projections(lens.model)
    ]
    plain = [without(lens.model, None, one).logits.softmax(-1)[0] for one in inputs]
    for handle in handles:
        handle.remove()
    label = int(plain[0].argmax())
    for layer, head in HEADS:

        def before(_: nn.Module, args: Any, layer: int = layer, head: int = head) -> Any:
            states = args[0].clone()
            block = slice(8 * head, 8 * head + 8)
            states[..., block] = seen[layer][..., block]
            return (states, *args[1:])

        handle = projections(lens.model)[layer].register_forward_pre_hook(before)
        value = without(lens.model, None, inputs[1]).logits.softmax(-1)[0, label]
        handle.remove()
        expected = (value - plain[1][label]) / (plain[0][label] - plain[1][label])
        assert scores.values[layer, head] == pytest.approx(float(expected), rel=1e-3, abs=1e-4)


def test_patching_a_text_into_itself_changes_nothing() -> None:
    lens = bl.Lens(bert(), wordpiece())
    text = text_inputs(lens, TEXT)
    kept: dict[int, tuple[Tensor, Tensor]] = {}

    def see(_: str, layer: int, call: Any, output: Tensor) -> None:
        kept[layer] = output[0].transpose(0, 1).clone(), call.eager()[1][0].clone()

    with runs(lens, text, kind=None) as held:
        plain = held.plain(text, see).last_hidden_state
        edits: list[Any] = [
            PatchEdit("self", layer, head, output=kept[layer][0][head]) for layer, head in HEADS
        ]
        edits += [
            PatchEdit("self", layer, head, weights=kept[layer][1][head]) for layer, head in HEADS
        ]
        for one in (edits[:8], edits[8:]):
            values = held.measured(text, [one], lambda out: out.last_hidden_state.abs().sum((1, 2)))
            assert values[0] == pytest.approx(float(plain.abs().sum()), rel=1e-5)
    with pytest.raises(ValueError, match="nothing to restore"):
        bl.causal.patching(lens, TEXT, TEXT)


def test_patching_every_head_and_the_mlps_inputs_gives_the_clean_run() -> None:
    lens = bl.Lens(writer(), byte_bpe())
    clean, corrupted = (text_inputs(lens, t) for t in ("The cat sat on.", "The dog sat on."))
    assert clean.inputs["input_ids"].shape == corrupted.inputs["input_ids"].shape
    kept: dict[int, Tensor] = {}
    mlps: list[Tensor] = []
    blocks = [block.mlp for block in lens.model.transformer.h]
    handles = [b.register_forward_pre_hook(lambda _, args: mlps.append(args[0])) for b in blocks]

    def see(_: str, layer: int, call: Any, output: Tensor) -> None:
        kept[layer] = output[0].transpose(0, 1).clone()

    with runs(lens, clean, kind=None) as held:
        expected = held.plain(clean, see).logits[0, -1]
        for handle in handles:
            handle.remove()
        for block, states in zip(blocks, mlps[:2], strict=True):
            block.register_forward_pre_hook(lambda _, args, s=states: (s, *args[1:]))
        edits = [PatchEdit("self", layer, h, output=kept[layer][h]) for layer, h in HEADS]
        out = held._run(corrupted.run, edits)
        # The last token is the same in both texts, so its residual stream is the clean one.
        assert torch.allclose(out.logits[0, -1], expected, atol=1e-4)
        assert not torch.allclose(held.plain(corrupted).logits[0, -1], expected, atol=1e-3)


def test_texts_of_different_lengths_are_an_error_that_shows_their_tokens() -> None:
    lens = bl.Lens(bert(), wordpiece())
    with pytest.raises(ValueError, match=r"has \d+ tokens and the corrupted one \d+.*'\[CLS\]'"):
        bl.causal.patching(lens, TEXT, TEXT + " yes")


def test_attribution_is_the_derivative_of_scaling_a_heads_output() -> None:
    lens = bl.Lens(rough(classifier(), 2), wordpiece())
    scores = bl.causal.attribution(lens, [TEXT], progress=False)
    inputs = lens.tensors([lens.encode(TEXT)])
    plain = without(lens.model, None, inputs)
    label = int(plain.logits[0].argmax())
    lens.model.double()
    for layer, head in HEADS:
        values = []
        for scale in (1 + 1e-4, 1 - 1e-4):

            def before(_: nn.Module, args: Any, scale: float = scale, head: int = head) -> Any:
                states = args[0].clone()
                states[..., 8 * head : 8 * head + 8] *= scale
                return (states, *args[1:])

            handle = projections(lens.model)[layer].register_forward_pre_hook(before)
            out = without(lens.model, None, inputs)
            handle.remove()
            values.append(float(out.logits.softmax(-1)[0, label]))
        # Ablation scales from 1 to 0: minus the derivative.
        expected = -(values[0] - values[1]) / 2e-4
        assert scores.values[layer, head] == pytest.approx(expected, rel=1e-2, abs=1e-6)
    assert all(p.grad is None for p in lens.model.parameters())


def test_attribution_refuses_a_distance_and_takes_log_probabilities_of_language_models() -> None:
    lens = bl.Lens(bert(), wordpiece())
    with pytest.raises(ValueError, match="its gradient is 0"):
        bl.causal.attribution(lens, [TEXT], progress=False)
    lens = bl.Lens(writer(), byte_bpe())
    for parameter in lens.model.parameters():
        parameter.requires_grad_(False)
    scores = bl.causal.attribution(lens, [TEXT], progress=False)
    assert "log-probability of the text's own next tokens" in scores.description
    inputs = lens.tensors([lens.encode(TEXT)])
    logits = without(lens.model, None, inputs).logits
    loss = functional.cross_entropy(logits[0, :-1], inputs["input_ids"][0, 1:])
    assert scores.metric == pytest.approx(-float(loss), rel=1e-4)


class ToyConfig(PreTrainedConfig):
    model_type = "toy"
    num_attention_heads = 2


class ToyAttention(nn.Module):
    is_causal = False

    def __init__(self, config: ToyConfig) -> None:
        super().__init__()
        self.config = config
        self.q, self.k, self.v = (nn.Linear(4, 4, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(4, 4, bias=False)

    def forward(self, hidden_states: Tensor) -> Tensor:
        split = [x(hidden_states).view(*hidden_states.shape[:2], 2, 2).transpose(1, 2)
                 for x in (self.q, self.k, self.v)]  # fmt: skip
        attend = ALL_ATTENTION_FUNCTIONS.get_interface(
            self.config._attn_implementation, eager_attention_forward
        )
        output, _ = attend(self, *split, None, scaling=1.0)
        return self.o_proj(output.reshape(*hidden_states.shape))


def eager_attention_forward(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any,
    scaling: float = 1.0, dropout: float = 0.0, **_: Any,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    weights = (query @ key.mT * scaling).softmax(-1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class Toy(PreTrainedModel):
    config_class = ToyConfig
    _supports_sdpa = True
    _supports_attention_backend = True

    def __init__(self, config: ToyConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(420, 4)
        self.attention = ToyAttention(config)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Torch's own initial weights."""

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings

    def forward(self, input_ids: Tensor, **_: Any) -> CausalLMOutput:
        states = self.embeddings(input_ids)
        return CausalLMOutput(logits=states + self.attention(states))


def test_effects_of_a_linear_layer_add_up() -> None:
    torch.manual_seed(0)
    model: Any = Toy(ToyConfig()).eval()
    lens = bl.Lens(model, wordpiece())

    def total(out: Any) -> Tensor:
        return out.logits.sum((1, 2))

    scores = bl.causal.effects(lens, [TEXT], metric=total, progress=False)
    ids = lens.tensors([lens.encode(TEXT)])["input_ids"]
    with torch.no_grad():
        states = model.embeddings(ids)
        layer = model.attention
        for head in range(2):
            block = slice(2 * head, 2 * head + 2)
            q, k, v = (x(states)[0, :, block] for x in (layer.q, layer.k, layer.v))
            own = (q @ k.T).softmax(-1) @ v @ layer.o_proj.weight[:, block].T
            assert scores.values[0, head] == pytest.approx(-float(own.sum()), rel=1e-4)
        whole = float(layer(states).sum())
    assert float(scores.values.sum()) == pytest.approx(-whole, rel=1e-4)
    # The metric is linear in each head's output, so attribution is exact.
    slopes = bl.causal.attribution(lens, [TEXT], metric=total, progress=False)
    assert np.allclose(slopes.values, scores.values, rtol=1e-4)
    share = bl.causal.patching(lens, "The cat sat.", "The dog sat.", total)
    first = bl.causal.patching_attribution(lens, "The cat sat.", "The dog sat.", total)
    assert np.allclose(share.values, first.values, rtol=1e-3)


def test_a_pruning_curve_follows_its_order() -> None:
    lens = bl.Lens(rough(classifier()), wordpiece())
    scores = bl.causal.effects(lens, SENTENCES, progress=False)
    curve = bl.causal.pruning_curve(lens, SENTENCES, order=scores, points=9, progress=False)
    assert list(curve.pruned) == list(range(9))
    # Low is notable, so the head whose loss costs most probability goes last.
    worst = tuple(map(int, np.unravel_index(scores.values.argmin(), scores.values.shape)))
    assert curve.order[-1] == worst
    plain = [lens(text).prediction for text in SENTENCES]
    for n in (0, 3, 8):
        changed = lens.ablate(curve.order[:n])
        chances = []
        for text, first in zip(SENTENCES, plain, strict=True):
            prediction = changed(text).prediction
            assert prediction is not None
            assert first is not None
            chances.append({o.label: o.probability for o in prediction.ranked}[first.label])
        assert curve.values[n] == pytest.approx(np.mean(chances), abs=1e-5)
    assert curve.random.shape == (5, 9)
    assert np.allclose(curve.random[:, 0], curve.values[0])
    assert np.allclose(curve.random[:, -1], curve.values[-1], atol=1e-6)
    frame = curve.to_frame()
    assert list(frame.columns[:2]) == ["pruned", "label_probability"]
    assert curve.plot().get_xlabel() == "heads pruned (%)"


def test_a_greedy_order_starts_with_the_head_of_least_effect() -> None:
    lens = bl.Lens(rough(classifier()), wordpiece())
    scores = bl.causal.effects(lens, [TEXT], progress=False)
    curve = bl.causal.pruning_curve(lens, [TEXT], greedy=True, random=1, progress=False)
    least = np.unravel_index(np.abs(scores.values).argmin(), scores.values.shape)
    assert curve.order[0] == tuple(map(int, least))
    assert len(set(curve.order)) == 8
    with pytest.raises(ValueError, match="either order="):
        bl.causal.pruning_curve(lens, [TEXT], progress=False)
    other = bl.HeadScores("x", np.zeros((3, 4)))
    with pytest.raises(ValueError, match="this model has others"):
        bl.causal.pruning_curve(lens, [TEXT], order=other, progress=False)


def test_a_family_read_by_hooks_is_refused_before_anything_runs() -> None:
    from tests.python.tiny_models import tiny_model

    lens = bl.Lens(tiny_model("deberta").model, wordpiece())
    with pytest.raises(InterventionError, match="cannot be edited"):
        bl.causal.effects(lens, [TEXT], progress=False)


def test_edits_of_single_copies_stay_in_their_copies() -> None:
    lens = bl.Lens(bert(), wordpiece())
    text = text_inputs(lens, TEXT)
    with runs(lens, text, kind=None) as held:
        rows: list[list[HeadEdit]] = [[], [HeadEdit("self", 0, 1)], []]
        values = held.measured(text, rows, lambda out: out.last_hidden_state.abs().sum((1, 2)))
    assert values[0] == pytest.approx(values[2], rel=1e-6)
    assert abs(values[1] - values[0]) > 1e-3
