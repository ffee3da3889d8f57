"""What crosses between page and kernel is stated once, and both sides keep to it."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints

import numpy as np
import pytest

from bertlens.widgets.requests import protocol
from bertlens.widgets.requests.messages import MESSAGES, Message
from tests.python.exchanges import MODEL_REQUESTS, REQUESTS, TARGET, record

ROOT = Path(__file__).parents[2]
HEAD = {"id", "ok", "error", "dtype", "shape", "generation"}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    return record()


def fits(value: Any, hint: Any) -> bool:
    """Whether a JSON value is of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in arguments
    if origin is types.UnionType:
        return any(fits(value, one) for one in arguments)
    if origin is list:
        return isinstance(value, list) and all(fits(one, arguments[0]) for one in value)
    if origin is tuple:
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if hasattr(hint, "__required_keys__"):
        hints = get_type_hints(hint, include_extras=True)
        optional = {name for name, one in hints.items() if get_origin(one) is NotRequired}
        return set(hints) - optional <= set(value) <= set(hints) and all(
            fits(one, get_args(hints[name])[0] if name in optional else hints[name])
            for name, one in value.items()
        )
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))


def assert_same(one: Any, other: Any) -> None:
    """Equal, numbers to 1e-6: sums may be taken in another order on another processor."""
    if isinstance(one, dict):
        assert set(one) == set(other)
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-6)
    else:
        assert one == other


def test_the_pages_types_are_those_of_the_kernel() -> None:
    program = [sys.executable, str(ROOT / "js" / "generate.py"), "--check"]
    checked = subprocess.run(program, capture_output=True, text=True, cwd=ROOT)
    assert checked.returncode == 0, checked.stderr


def test_every_kind_of_request_is_answered_and_recorded() -> None:
    assert set(MESSAGES) == set(protocol._answers)
    assert {kind for kind, _ in (*REQUESTS, *MODEL_REQUESTS)} == set(MESSAGES)


@pytest.mark.parametrize(
    ("kind", "request_fields"), [(kind, fields) for kind, fields in (*REQUESTS, *MODEL_REQUESTS)]
)
def test_a_recorded_request_is_as_stated(kind: str, request_fields: dict[str, Any]) -> None:
    assert fits(request_fields, MESSAGES[kind].request)


def test_a_reply_is_as_stated(recorded: dict[str, Any]) -> None:
    for exchange in (*recorded["exchanges"], *recorded["with_model"]):
        message: Message = MESSAGES[exchange["request"]["kind"]]
        reply = exchange["reply"]
        assert reply["ok"], reply["error"]
        own = {name: value for name, value in reply.items() if name not in HEAD}
        assert fits(own, message.reply), (exchange["request"]["kind"], own)
        assert reply["dtype"] == message.dtype
        assert len(reply["shape"] or ()) == len(message.axes)


def test_what_the_page_tests_with_is_what_the_kernel_says(recorded: dict[str, Any]) -> None:
    kept = json.loads(TARGET.read_text())
    assert kept["weights"] == recorded["weights"]
    assert kept["meta"] == recorded["meta"]
    for was, now in zip(kept["exchanges"], recorded["exchanges"], strict=True):
        assert was["request"] == now["request"]
        assert_same(was["reply"], now["reply"])
        if was["buffer"] is None:
            assert now["buffer"] is None
            continue
        dtype = was["reply"]["dtype"]
        arrays = [np.frombuffer(base64.b64decode(one["buffer"]), dtype) for one in (was, now)]
        np.testing.assert_allclose(*arrays, atol=1 if dtype == "uint8" else 1e-6)
    for was, now in zip(kept["with_model"], recorded["with_model"], strict=True):
        assert was["request"] == now["request"]
        assert set(was["reply"]) == set(now["reply"])
        assert was["reply"]["shape"] == now["reply"]["shape"]


def test_a_kind_that_is_not_stated_cannot_be_answered() -> None:
    with pytest.raises(KeyError, match="MESSAGES"):
        protocol.handles("colour")
