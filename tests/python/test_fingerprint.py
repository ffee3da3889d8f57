"""A fingerprint differs as soon as a model is touched, and only then."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import bertlens as bl
from bertlens import capture
from tests.python.tiny import FAMILIES, tiny, tokenizer_for

TEXT = "I went to the store."


def train_one_step(model: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.tensor([[1, 2, 3]])).last_hidden_state.sum().backward()
    optimizer.step()


def write_through_data(model: Any) -> None:
    model.encoder.layer[1].output.dense.weight.data.mul_(1.5)


def write_one_head_through_data(model: Any) -> None:
    model.encoder.layer[1].attention.self.value.weight.data[:, 16:24] += 1


def load_other_weights(model: Any) -> None:
    model.load_state_dict({name: 2 * value for name, value in model.state_dict().items()})


def load_equal_weights(model: Any) -> None:
    model.load_state_dict(model.state_dict())


def exchange_a_parameter(model: Any) -> None:
    old = model.encoder.layer[0].output.dense.weight
    model.encoder.layer[0].output.dense.weight = nn.Parameter(old.detach().clone())


def exchange_a_module(model: Any) -> None:
    model.encoder.layer[0].attention.self.dropout = nn.Identity()


def set_scaling(model: Any) -> None:
    model.encoder.layer[0].attention.self.scaling = 0.5


def add_a_hook(model: Any) -> None:
    model.encoder.layer[0].register_forward_hook(lambda *_: None)


def replace_a_forward(model: Any) -> None:
    forward = model.encoder.layer[0].forward
    model.encoder.layer[0].forward = lambda *args, **options: forward(*args, **options)


@pytest.mark.parametrize(
    ("touch", "named"),
    [
        (train_one_step, "its parameters"),
        (write_through_data, "its parameters"),
        (write_one_head_through_data, "its parameters"),
        (load_other_weights, "its parameters"),
        (load_equal_weights, "its parameters"),
        (exchange_a_parameter, "its parameters"),
        (exchange_a_module, "its modules or their hooks"),
        (set_scaling, "its settings or active adapters"),
        (add_a_hook, "its modules or their hooks"),
        (replace_a_forward, "its modules or their hooks"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_touched_model_has_another_fingerprint(touch: Callable[[Any], None], named: str) -> None:
    model = tiny("bert")
    before = capture.fingerprint(model)
    touch(model)
    assert named in before.changes(capture.fingerprint(model))


def switch_mode(model: Any) -> None:
    model.train()


def switch_implementation(model: Any) -> None:
    model.set_attn_implementation("eager")


def compute_gradients(model: Any) -> None:
    model(torch.tensor([[1, 2, 3]])).last_hidden_state.sum().backward()
    model.zero_grad()


def freeze(model: Any) -> None:
    model.requires_grad_(False)


def ask_transformers_for_attentions(model: Any) -> None:
    model(torch.tensor([[1, 2, 3]]), output_attentions=True)


def look_at_weights(model: Any) -> None:
    attention = bl.Lens(model, tokenizer_for("bert"))(TEXT)
    attention.weights()
    attention.value_norms()


@pytest.mark.parametrize(
    "use",
    [
        switch_mode,
        switch_implementation,
        compute_gradients,
        freeze,
        ask_transformers_for_attentions,
        look_at_weights,
    ],
    ids=lambda value: value.__name__,
)
def test_a_model_that_is_only_used_keeps_its_fingerprint(use: Callable[[Any], None]) -> None:
    model = tiny("bert")
    before = capture.fingerprint(model)
    use(model)
    assert before.changes(capture.fingerprint(model)) == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_captures_of_every_family_keep_the_fingerprint(family: str) -> None:
    model = tiny(family)
    lens = bl.Lens(model, tokenizer_for(family))  # type: ignore[arg-type]
    before = capture.fingerprint(model)
    lens(TEXT)
    lens(TEXT, exact=True)
    model(**lens.tensors([lens.encode(TEXT)]))
    assert before.changes(capture.fingerprint(model)) == ()


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")
@pytest.mark.parametrize("switch", ["disable_adapter", "set_adapter", "merge_adapter", "scale"])
def test_switched_adapters_are_another_model(switch: str) -> None:
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(r=4, target_modules=["query"], init_lora_weights=False)
    model = peft.get_peft_model(tiny("bert"), config).eval()
    model.add_adapter("other", config)
    before = capture.fingerprint(model)
    with contextlib.ExitStack() as stack:
        if switch == "disable_adapter":
            stack.enter_context(model.disable_adapter())
        elif switch == "scale":
            layer = model.base_model.model.encoder.layer[0].attention.self.query
            layer.set_scale("default", 2.0)
        elif switch == "set_adapter":
            model.set_adapter("other")
        else:
            model.merge_adapter()
        assert before.changes(capture.fingerprint(model)) != ()
    if switch == "disable_adapter":
        assert before.changes(capture.fingerprint(model)) == ()


def test_an_optimizers_step_on_a_buffer_counts_too() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = capture.fingerprint(model)
    model(torch.randn(4, 2))  # in training mode: running statistics move
    assert "its parameters" in before.changes(capture.fingerprint(model))


def test_a_stored_pass_knows_the_model_that_it_ran_on() -> None:
    model = tiny("bert")
    lens = bl.Lens(model, tokenizer_for("bert"))
    stored = capture.store(model, lens.tensors([lens.encode(TEXT)]))
    assert stored.fingerprint == capture.fingerprint(model)
    write_through_data(model)
    assert stored.fingerprint != capture.fingerprint(model)
