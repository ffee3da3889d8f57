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
from bertlens.capture.reference import EagerReference, agree, same
from bertlens.capture.state import seed
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
    """Run the model once, inside `borrowed`, with every call's own eager attention."""
    made = Tapped()

    def note(path: str, call: Call) -> Tensor:
        output, weights = call.eager()
        made.layers.append((path, weights))
        return output

    def doubt(path: str, call: Call, why: str) -> None:
        made.doubts.setdefault(path, (why, call.eager()[1]))

    paths = {id(module): path for path, module in body.named_modules()}
    forwards = Forwards(paths, note, doubt)
    seed()
    try:
        with forwards.watching(body), tapped(body, forwards.call):
            made.outputs = call_body(body, inputs)
    except LookupError:
        return Tapped()  # a module without an eager function beside it
    return made


def by_taps(made: Tapped, truth: EagerReference) -> CapturePlan:
    """Give each layer the kind whose next layer has the same weights."""
    used: Counter[str] = Counter()
    kind_at: dict[str, str | None] = {}
    for path, weights in made.layers:
        kind = next((k for k in truth.kinds if _is_next(weights, truth.kinds[k], used[k])), None)
        if kind_at.setdefault(path, kind) != kind:
            kind_at[path] = kind = None
        if kind is not None:
            used[kind] += 1
    whole = {kind for kind, tensors in truth.kinds.items() if used[kind] == len(tensors)}
    taps = {path: kind for path, kind in kind_at.items() if kind in whole and kind is not None}
    checked = frozenset(taps.values())
    unlisted = _unlisted(made, {path for path, kind in kind_at.items() if kind}, truth)
    left_out = _doubtful(unlisted, made, truth)
    taps |= {path: kind for path, kind in unlisted.items() if kind not in left_out}
    layers = Counter(taps[path] for path, _ in made.layers if path in taps)
    return CapturePlan(
        taps,
        layers=dict(layers),
        forms=dict.fromkeys(layers, "as is"),
        checked=checked,
        left_out=left_out,
    )


def _is_next(weights: Tensor, tensors: list[Tensor], used: int) -> bool:
    return used < len(tensors) and same(weights, tensors[used])


def _unlisted(made: Tapped, listed: set[str], truth: EagerReference) -> dict[str, str]:
    """Kinds of layers that the model's outputs do not list: by where they are and their sizes."""
    if truth.kinds and not listed:
        return {}  # the outputs list other numbers: what the calls give is not the whole
    shown = {path: weights for path, (_, weights) in made.doubts.items()}
    shown |= dict(reversed(made.layers))
    rest = {path: weights for path, weights in shown.items() if path not in listed}
    names: dict[str, str] = {}
    for path, weights in rest.items():
        square = weights.shape[-1] == weights.shape[-2]
        names[path] = path.split(".")[0] if listed else "self" if square else "cross"
    sizes: dict[str, list[Any]] = {}
    for path, name in names.items():
        found = sizes.setdefault(name, [])
        if rest[path].shape[-2:] not in found:
            found.insert(0, rest[path].shape[-2:])
    return {
        path: f"{name} {sizes[name].index(rest[path].shape[-2:])}" if len(sizes[name]) > 1 else name
        for path, name in names.items()
    }


def _doubtful(unlisted: Mapping[str, str], made: Tapped, truth: EagerReference) -> dict[str, str]:
    """Kinds that nothing shows to be right -> why."""
    left_out = {
        unlisted[path]: f"its attention function is called in a way that tells no layers: {why}"
        for path, (why, _) in made.doubts.items()
        if path in unlisted
    }
    if not agree(made.outputs, truth.outputs):
        differs = "with a function of its attention interface the model gives other outputs"
        left_out |= dict.fromkeys(unlisted.values(), differs)
    return left_out
