"""Find how a model's attention is reached, by running it on a small text and comparing.

The model's own eager attentions are the truth. Whatever way is taken has to give the same
numbers, so a family that nobody has seen gets the best way that passes, and never wrong weights.
"""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.capture.bodies import call_body, unwrapped
from bertlens.capture.borrowing import borrowed, random_state_kept
from bertlens.capture.forms import form_of
from bertlens.capture.hooks import tensors_in, watched
from bertlens.capture.interface import Call, tapped
from bertlens.capture.outputs import attention_fields, kind_of_field
from bertlens.capture.reach import Place, Reach
from bertlens.capture.running import run, use_eager
from bertlens.errors import NoAttentionError

_found: weakref.WeakKeyDictionary[nn.Module, dict[frozenset[str], Reach]] = (
    weakref.WeakKeyDictionary()
)

SAMPLE = 16
"""So many tokens of the person's first text are enough to tell the ways apart."""


def reach_of(model: nn.Module, body: nn.Module, inputs: Mapping[str, Any]) -> Reach:
    """The ways to the attention of `body`, a part of `model`; found once for each set of inputs.

    Raises:
        NoAttentionError: there is none, or none that can be reached.
    """
    known = _found.setdefault(body, {})
    names = frozenset(inputs)
    if names not in known:
        known[names] = _find(model, body, inputs)
    return known[names]


def forget(body: nn.Module) -> None:
    """Find the ways anew next time: the model has changed since."""
    _found.pop(body, None)


def _find(model: nn.Module, body: nn.Module, inputs: Mapping[str, Any]) -> Reach:
    with borrowed(unwrapped(model)), random_state_kept():
        try:
            return _calibrated(body, _small(inputs))
        except NoAttentionError:
            raise
        except (RuntimeError, ValueError, IndexError, TypeError, AssertionError):
            # Some families take no text this short: judge by the person's own.
            return _calibrated(body, inputs)


def _small(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The beginning of a text, so that finding out costs little."""
    ids = inputs.get("input_ids")
    if not isinstance(ids, Tensor) or ids.dim() != 2:
        return dict(inputs)
    cut = {}
    for name, value in inputs.items():
        # Two lengths, so that a kind shows in the shape of its weights too.
        most = SAMPLE - 3 if name.startswith("decoder_") else SAMPLE
        small = isinstance(value, Tensor) and value.dim() == 2
        cut[name] = value[:1, :most] if small else value
    return cut


@dataclass
class _Truth:
    """What the model itself says in eager mode: its lists of attentions and where they came from.

    Attributes:
        fields: output name -> tensors of its layers.
        places: id of a tensor -> the innermost place that returned it inside a tuple.
    """

    fields: dict[str, list[Tensor]] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)


def _calibrated(body: nn.Module, inputs: Mapping[str, Any]) -> Reach:
    truth = _truth(body, inputs)
    reach = _by_taps(_tapped_calls(body, inputs), truth)
    rest = {
        name: tensors
        for name, tensors in truth.fields.items()
        if kind_of_field(name) not in reach.layers
    }
    for name, tensors in rest.items():
        reach = _by_hooks_or_field(reach, body, name, tensors, truth)
    if reach.hooks:
        reach = _checked_hooks(reach, body, inputs, truth)
    if not reach.layers:
        raise NoAttentionError(unreachable(body, truth.fields))
    return reach


def _truth(body: nn.Module, inputs: Mapping[str, Any]) -> _Truth:
    truth = _Truth()

    def see(path: str, output: Any) -> None:
        for steps, tensor in tensors_in(output):
            if steps and tensor.dim() >= 4:
                truth.places.setdefault(id(tensor), Place(path, steps))
                truth.kept.append(tensor)  # so that its id stays its own

    use_eager(body)
    try:
        with watched(body, see):
            outputs = call_body(body, inputs, output_attentions=True)
    except (TypeError, ValueError, NotImplementedError):
        return _Truth()  # a family that has no such option
    truth.fields = attention_fields(outputs)
    return truth


def _tapped_calls(body: nn.Module, inputs: Mapping[str, Any]) -> list[tuple[str, Tensor]]:
    """(module path, weights) of every call of an attention function, in order."""
    paths = {id(module): path for path, module in body.named_modules()}
    calls: list[tuple[str, Tensor]] = []

    def note(call: Call) -> Tensor:
        output, weights = call.eager()
        calls.append((paths.get(id(call.module), ""), weights))
        return output

    try:
        with tapped(body, note):
            call_body(body, inputs)
    except LookupError:
        return []  # a module without an eager function beside it
    return calls


def _by_taps(calls: list[tuple[str, Tensor]], truth: _Truth) -> Reach:
    """Give each call the kind whose next layer has the same weights."""
    used: Counter[str] = Counter()
    field_of: dict[str, str | None] = {}
    for path, weights in calls:
        name = next(
            (
                name
                for name, tensors in truth.fields.items()
                if used[name] < len(tensors) and same(weights, tensors[used[name]])
            ),
            None,
        )
        if path in field_of and field_of[path] != name:
            name = None
        if name is not None:
            used[name] += 1
        field_of[path] = name
    whole = {name for name, tensors in truth.fields.items() if used[name] == len(tensors)}
    kinds = {path: kind_of_field(name) for path, name in field_of.items() if name in whole and name}
    checked = frozenset(kinds.values())
    half = {path for path, name in field_of.items() if name and name not in whole}
    taps = {**kinds, **_unlisted(calls, {*kinds, *half}, truth)}
    return _staged(taps, calls, checked)


def _unlisted(calls: list[tuple[str, Tensor]], listed: set[str], truth: _Truth) -> dict[str, str]:
    """Kinds of calls that the model's outputs do not list, named by where they are."""
    rest = [path for path, _ in calls if path not in listed]
    if truth.fields and not listed:
        return {}  # the outputs list other numbers: what the calls give is not the whole
    towers = {path: path.split(".")[0] if listed else "self" for path in rest}
    if len(set(towers.values())) == 1 and not listed:
        crossed = {p for p, w in calls if w.shape[-1] != w.shape[-2]}
        return {path: "cross" if path in crossed else "self" for path in rest}
    return towers


def _staged(
    taps: Mapping[str, str], calls: list[tuple[str, Tensor]], checked: frozenset[str]
) -> Reach:
    """Split kinds whose layers look at different numbers of tokens, as pooling models have."""
    shapes: dict[str, list[torch.Size]] = defaultdict(list)
    for path, weights in calls:
        kind = taps.get(path)
        if kind is not None and weights.shape[-2:] not in shapes[kind]:
            shapes[kind].append(weights.shape[-2:])
    staged: dict[str, str] = {}
    layers: Counter[str] = Counter()
    for path, weights in calls:
        kind = taps.get(path)
        if kind is None:
            continue
        if len(shapes[kind]) > 1:
            stage = f"{kind} {shapes[kind].index(weights.shape[-2:])}"
            checked |= {stage} if kind in checked else set()
            kind = stage
        staged.setdefault(path, kind)
        layers[staged[path]] += 1
    return Reach(
        taps=staged,
        layers=dict(layers),
        forms=dict.fromkeys(layers, "as is"),
        checked=checked & set(layers),
    )


def _by_hooks_or_field(
    reach: Reach, body: nn.Module, name: str, tensors: list[Tensor], truth: _Truth
) -> Reach:
    kind = kind_of_field(name)
    form = form_of(body, kind, tensors[0])
    if form is None:
        return reach
    reach = replace(
        reach,
        layers={**reach.layers, kind: len(tensors)},
        forms={**reach.forms, kind: form},
        checked=reach.checked | {kind},
    )
    places = [truth.places.get(id(tensor)) for tensor in tensors]
    if all(places):
        hooks = {place: kind for place in places if place is not None}
        return replace(reach, hooks={**reach.hooks, **hooks})
    return replace(reach, fields={**reach.fields, kind: name})


def _checked_hooks(
    reach: Reach, body: nn.Module, inputs: Mapping[str, Any], truth: _Truth
) -> Reach:
    """The hooks if the weights that they hand over are the model's own; else its lists."""
    expected = {kind_of_field(name): tensors for name, tensors in truth.fields.items()}
    raw = replace(reach, forms=dict.fromkeys(reach.forms, "as is"))
    for removable in (True, False):
        seen = _Seen()
        torch.manual_seed(0)
        try:
            run(body, inputs, replace(raw, removable=removable), seen)
        except (TypeError, AttributeError, ValueError, RuntimeError, IndexError):
            continue
        if all(
            len(seen.found[kind]) == len(expected[kind])
            and all(map(same, seen.found[kind], expected[kind]))
            for kind in set(reach.hooks.values())
        ):
            return replace(reach, removable=removable)
    fields = {
        kind_of_field(name): name
        for name in truth.fields
        if kind_of_field(name) in reach.hooks.values()
    }
    return replace(reach, hooks={}, fields={**reach.fields, **fields})


class _Seen:
    """A receiver that keeps everything."""

    def __init__(self) -> None:
        self.found: dict[str, list[Tensor]] = defaultdict(list)

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        output, weights = call.eager()
        self.found[kind].append(weights)
        return output

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        self.found[kind].append(weights)


def same(found: Tensor, expected: Tensor) -> bool:
    """Whether two tensors hold the same weights, up to the rounding of their dtype."""
    if found.shape != expected.shape:
        return False
    loose = 1e-6 if found.dtype in (torch.float32, torch.float64) else 2e-2
    return torch.allclose(found.float(), expected.float(), atol=loose, rtol=0, equal_nan=True)


def unreachable(body: nn.Module, fields: Mapping[str, Any]) -> str:
    """Why there is nothing to see, in words."""
    name = type(body).__name__
    if fields:
        return (
            f"{name} returns something else than attention weights as its attentions "
            f"({', '.join(fields)}), and bertlens will not show it as such. Load another model."
        )
    if not any("attention" in type(module).__name__.lower() for module in body.modules()):
        return f"{name} has no attention, so there is nothing to look at. Load another model."
    return (
        f"{name} keeps its attention out of reach: it neither uses transformers' attention "
        "interface nor returns attentions. Load a model of another family."
    )
