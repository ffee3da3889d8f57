"""Ctrl-C at any moment leaves the model, and torch, as they were."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

import bertlens as bl
from bertlens.capture.state import preserve_state
from tests.python.model_state import differences, state
from tests.python.tiny import SENTENCES, classifier, tiny, tokenizer_for, wordpiece


def actions() -> dict[str, tuple[torch.nn.Module, Callable[[], Any]]]:
    model = classifier()
    lens = bl.Lens(model, wordpiece())
    gpt = tiny("gpt2")
    causal = bl.Lens(gpt, tokenizer_for("gpt2"))
    text = SENTENCES[0]
    attention = lens(text)
    loss = lambda m, inputs: m(**inputs).logits.sum()  # noqa: E731
    off = lens.ablate([(0, 1)])

    def running() -> None:
        with off.running():
            lens.encode(text)

    return {
        "lens": (model, lambda: lens(text)),
        "exact": (model, lambda: lens(text, exact=True)),
        "many": (model, lambda: lens.many(SENTENCES)),
        "scan": (model, lambda: lens.scan(SENTENCES, progress=False, scores=["entropy"])),
        "value norms": (model, lambda: attention.value_norms().weights(0)),
        "importance": (
            model,
            lambda: bl.importance.by_gradient(lens, [text], loss=loss, progress=False),
        ),
        "effects": (model, lambda: bl.causal.effects(lens, [text], progress=False)),
        "ablated": (model, lambda: off(text)),
        "running": (model, running),
        "another family": (gpt, lambda: causal(text)),
        "explore": (model, lambda: lens.explore(text).close()),
    }


@pytest.mark.parametrize("times", [110, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("pages")
def test_random_interrupts_leave_no_trace(times: int) -> None:
    rng = random.Random(times)
    known = actions()
    took = {}
    for name, (model, act) in known.items():
        model.train()
        act()
        start = time.perf_counter()
        act()
        took[name] = time.perf_counter() - start
    before = {name: state(model) for name, (model, _) in known.items()}
    main = threading.main_thread().ident
    handler = signal.getsignal(signal.SIGINT)
    lost, struck = [], 0
    assert main is not None
    for n in range(times):
        name = list(known)[n % len(known)]
        model, act = known[name]
        timer = threading.Timer(
            rng.uniform(0, 1.2 * took[name]), signal.pthread_kill, (main, signal.SIGINT)
        )
        try:
            timer.start()
            act()
            timer.join()
        except KeyboardInterrupt:
            struck += 1
        while timer.is_alive():
            try:
                timer.join()
            except KeyboardInterrupt:
                struck += 1
        wrong = differences(before[name], state(model))
        if wrong or not torch.is_grad_enabled() or signal.getsignal(signal.SIGINT) is not handler:
            lost.append((n, name, wrong))
            break
    assert lost == []
    assert struck > times / 5
    for _, act in known.values():
        act()


def test_what_an_earlier_pass_left_is_put_right() -> None:
    model = tiny("bert")
    lens = bl.Lens(model, tokenizer_for("bert"))
    model.train()
    before = state(model)
    # A pass whose end never came, as if its thread had been killed.
    broken = preserve_state(model)

    def begin() -> None:
        broken.__enter__()
        lens.lock.release()

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    assert differences(before, state(model)) != []
    torch.set_grad_enabled(True)
    lens(SENTENCES[0])
    assert differences(before, state(model)) == []
    lens.lock.acquire()
    broken.__exit__(None, None, None)
    assert differences(before, state(model)) == []


def test_random_numbers_of_another_thread_do_not_repeat() -> None:
    lens = bl.Lens(tiny("bert"), tokenizer_for("bert"))
    lens(SENTENCES[0])
    torch.manual_seed(5)
    expected = torch.stack([torch.rand(8) for _ in range(3000)])
    torch.manual_seed(5)
    stop = threading.Event()

    def capture() -> None:
        while not stop.is_set():
            lens(SENTENCES[1])

    thread = threading.Thread(target=capture)
    thread.start()
    drawn = torch.stack([torch.rand(8) for _ in range(3000)])
    stop.set()
    thread.join()
    assert torch.equal(drawn, expected)


def test_finding_the_way_to_a_models_attention_draws_nothing_either() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    lens = bl.Lens(tiny("electra", seed=9), tokenizer_for("electra"))
    torch.manual_seed(3)
    lens(SENTENCES[0])
    assert torch.equal(torch.rand(4), expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_during_a_pass_is_not_blocked_and_has_the_model_as_it_was() -> None:
    model = tiny("bert")
    lens = bl.Lens(model, tokenizer_for("bert"))
    lens(SENTENCES[0])
    model.train()
    inside, done = threading.Event(), threading.Event()

    def wait(*_: Any) -> None:
        if threading.current_thread() is thread:
            inside.set()
            done.wait(20)

    handle = model.encoder.layer[1].register_forward_pre_hook(wait)
    before = state(model)
    thread = threading.Thread(target=lambda: lens(SENTENCES[0]))
    thread.start()
    assert inside.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that is blocked dies of it
        same = differences(before, state(model)) == []
        lens(SENTENCES[1])
        os._exit(0 if same else 7)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    handle.remove()
    assert os.WIFEXITED(status)
    assert os.WEXITSTATUS(status) == 0


def test_hooks_of_ours_never_fail_in_the_callers_own_forward() -> None:
    from bertlens.capture.packed import Forwards

    forwards = Forwards({}, lambda path, call: call.query, lambda *_: None)
    # torch may find the hook before it is noted that it takes keyword arguments.
    forwards._begins(torch.nn.Identity(), (torch.zeros(1, 2),))
