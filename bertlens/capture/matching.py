"""The layers that a model's calls of its attention function show, and their kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from bertlens.capture.attention_function import Call, tapped
from bertlens.capture.packed import Forwards
from bertlens.capture.plan import CapturePlan
from bertlens.capture.random_numbers import seed
from bertlens.capture.reference import EagerReference, agree, same
from bertlens.capture.submodel import call_body


@dataclass
class Tapped:
    """A pass of the model with its attention function tapped.

    Attributes:
        layers: (module path, weights) of every layer, in order.
        doubts: module path -> why its calls may be no layer of their own, and weights of one.
        outputs: what the model returned.
    """

    layers: list[tuple[str, Tensor]] = field(default_factory=list)
    doubts: dict[str, tuple[str, Tensor]] = field(default_factory=dict)
    outputs: Any = None


def tapped_layers(body: nn.Module, inputs: Mapping[str, Any]) -> Tapped:
    """Run the model once, inside `preserve_state`, with every call's own eager attention."""
    calls = Tapped()

    def note(path: str, call: Call) -> Tensor:
        output, weights = call.eager()
        calls.layers.append((path, weights))
        return output

    def doubt(path: str, call: Call, why: str) -> None:
        calls.doubts.setdefault(path, (why, call.eager()[1]))

    paths = {id(module): path for path, module in body.named_modules()}
    forwards = Forwards(paths, note, doubt)
    seed()
    try:
        with forwards.watching(body), tapped(body, forwards.call):
            calls.outputs = call_body(body, inputs)
    except LookupError:
        return Tapped()  # a module without an eager function beside it
    return calls


def by_taps(calls: Tapped, eager: EagerReference) -> CapturePlan:
    """Give each layer the kind whose next layer has the same weights."""
    used: Counter[str] = Counter()
    kind_at: dict[str, str | None] = {}
    for path, weights in calls.layers:
        kind = next((k for k in eager.kinds if _is_next(weights, eager.kinds[k], used[k])), None)
        if kind_at.setdefault(path, kind) != kind:
            kind_at[path] = kind = None
        if kind is not None:
            used[kind] += 1
    whole = {kind for kind, tensors in eager.kinds.items() if used[kind] == len(tensors)}
    taps = {path: kind for path, kind in kind_at.items() if kind in whole and kind is not None}
    checked = frozenset(taps.values())
    unlisted = _unlisted(calls, {path for path, kind in kind_at.items() if kind}, eager)
    left_out = _doubtful(unlisted, calls, eager)
    taps |= {path: kind for path, kind in unlisted.items() if kind not in left_out}
    layers = Counter(taps[path] for path, _ in calls.layers if path in taps)
    return CapturePlan(
        taps,
        layers=dict(layers),
        forms=dict.fromkeys(layers, "as is"),
        checked=checked,
        left_out=left_out,
    )


def _is_next(weights: Tensor, tensors: list[Tensor], used: int) -> bool:
    return used < len(tensors) and same(weights, tensors[used])


def _unlisted(calls: Tapped, listed: set[str], eager: EagerReference) -> dict[str, str]:
    """Kinds of layers that the model's outputs do not list: by where they are and their sizes."""
    if eager.kinds and not listed:
        return {}  # the outputs list other numbers: what the calls give is not the whole
    shown = {path: weights for path, (_, weights) in calls.doubts.items()}
    shown |= dict(reversed(calls.layers))
    rest = {path: weights for path, weights in shown.items() if path not in listed}
    names: dict[str, str] = {}
    for path, weights in rest.items():
        square = weights.shape[-1] == weights.shape[-2]
        names[path] = path.split(".")[0] if listed else "self" if square else "cross"
    sizes: dict[str, list[Any]] = {}
    for path, name in names.items():
        shapes = sizes.setdefault(name, [])
        if rest[path].shape[-2:] not in shapes:
            shapes.insert(0, rest[path].shape[-2:])
    return {
        path: f"{name} {sizes[name].index(rest[path].shape[-2:])}" if len(sizes[name]) > 1 else name
        for path, name in names.items()
    }


def _doubtful(unlisted: Mapping[str, str], calls: Tapped, eager: EagerReference) -> dict[str, str]:
    """Kinds that nothing shows to be right -> why."""
    left_out = {
        unlisted[path]: f"its attention function is called in a way that tells no layers: {why}"
        for path, (why, _) in calls.doubts.items()
        if path in unlisted
    }
    if not agree(calls.outputs, eager.outputs):
        differs = "with a function of its attention interface the model gives other outputs"
        left_out |= dict.fromkeys(unlisted.values(), differs)
    return left_out
