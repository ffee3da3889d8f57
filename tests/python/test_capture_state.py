"""A person's model comes back as it was, whatever happens during a capture."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens import capture
from tests.python.model_state import differences, state
from tests.python.tiny import FAMILIES, tiny, tokenizer_for

TEXT = "I went to the store."


def used_model(family: str, implementation: str) -> torch.nn.Module:
    """A model in the middle of its life: some modules train, a gradient and a hook are there."""
    model = tiny(family)
    model.set_attn_implementation(implementation)
    model.train()
    list(model.modules())[4].eval()
    parameters = list(model.parameters())
    parameters[0].requires_grad_(False)
    parameters[1].grad = torch.ones_like(parameters[1])
    model.register_forward_hook(lambda *_: None)
    return model


def interrupted(error: type[BaseException]) -> Any:
    def visit(layer: int, weights: torch.Tensor) -> None:
        if layer == 1:
            raise error("stop here")

    return visit


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_capture_leaves_the_model_as_it_was(family: str, implementation: str) -> None:
    model = used_model(family, implementation)
    lens = bl.Lens(model, tokenizer_for(family))  # type: ignore[arg-type]
    before = state(model)
    lens(TEXT).weights(0)
    lens(TEXT, exact=True)
    assert differences(before, state(model)) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_interrupted_capture_leaves_the_model_as_it_was(
    family: str, error: type[BaseException]
) -> None:
    model = used_model(family, "sdpa")
    lens = bl.Lens(model, tokenizer_for(family))  # type: ignore[arg-type]
    inputs = lens.tensors([lens.encode(TEXT)])
    before = state(model)
    with pytest.raises(error, match="stop here"):
        capture.stream(model, inputs, interrupted(error))
    assert differences(before, state(model)) == []
    # and the next capture is not disturbed by what was left
    assert lens(TEXT, exact=True).n_layers == 3


def test_the_output_of_the_model_is_the_same_after_a_capture() -> None:
    model = tiny("bert")
    lens = bl.Lens(model, tokenizer_for("bert"))
    inputs = lens.tensors([lens.encode(TEXT)])
    with torch.no_grad():
        before = model(**inputs).last_hidden_state
        lens(TEXT).weights()
        assert torch.equal(model(**inputs).last_hidden_state, before)


def test_a_call_from_another_thread_during_a_capture_is_the_models_own() -> None:
    model = tiny("bert")
    lens = bl.Lens(model, tokenizer_for("bert"))
    inputs = lens.tensors([lens.encode(TEXT)])
    with torch.no_grad():
        expected = model(**inputs).last_hidden_state
    other: list[torch.Tensor] = []
    seen: list[int] = []

    def call() -> None:
        with torch.no_grad():
            other.append(model(**inputs).last_hidden_state)

    def visit(layer: int, _: torch.Tensor) -> None:
        seen.append(layer)
        if layer == 1:
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()

    capture.stream(model, inputs, visit)
    assert seen == [0, 1, 2]
    assert torch.equal(other[0], expected)


def test_two_threads_that_capture_one_model_take_turns_and_agree() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    texts = [TEXT, "The cat sat on the mat."]
    expected = [lens(text, exact=True).weights() for text in texts]
    found: dict[int, np.ndarray] = {}

    def work(i: int) -> None:
        found[i] = lens(texts[i % 2], exact=True).weights()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(6):
        np.testing.assert_array_equal(found[i], expected[i % 2])


def test_a_stored_capture_makes_weights_while_another_thread_holds_the_model() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    attention = lens(TEXT)
    holding, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lens.lock:
            holding.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(10)
    try:
        assert attention.weights(1, 2).shape == (len(attention.tokens),) * 2
    finally:
        done.set()
        thread.join()
