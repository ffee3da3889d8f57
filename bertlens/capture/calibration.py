"""Find how a model's attention is reached, by running it on a small text and comparing.

The model's own eager attentions are the truth. Whatever way is taken has to give the same
numbers, so a family that nobody has seen gets the best way that passes, and never wrong weights.
"""

from __future__ import annotations

import weakref
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.capture.bodies import call_body, has_two_ways, is_short, settle, unwrapped
from bertlens.capture.borrowing import borrowed, random_state_kept
from bertlens.capture.forms import form_of
from bertlens.capture.hooks import tensors_in, watched
from bertlens.capture.interface import Call, tapped
from bertlens.capture.outputs import attention_fields, kind_of_field
from bertlens.capture.reach import Listed, Place, Reach
from bertlens.capture.running import run, use_eager
from bertlens.errors import NoAttentionError

_found: weakref.WeakKeyDictionary[nn.Module, dict[Any, Reach]] = weakref.WeakKeyDictionary()

SAMPLE = 16
"""So many tokens of the person's first text are enough to tell the ways apart."""


def reach_of(model: nn.Module, body: nn.Module, inputs: Mapping[str, Any]) -> Reach:
    """The ways to the attention of `body`, a part of `model`; found once for each set of inputs.

    Raises:
        NoAttentionError: there is none, or none that can be reached.
    """
    known = _found.setdefault(body, {})
    # Layers may be cut off or exchanged, and adapters added, between two captures.
    modules = hash(tuple(map(id, body.modules())))
    key: tuple[Any, ...] = (frozenset(inputs), is_short(body, inputs), modules)
    if key not in known:
        # A family that chooses its attention by length is judged by the person's own text.
        known[key] = _find(model, body, inputs if has_two_ways(body) else _small(inputs), inputs)
    if not known[key].pools:
        return known[key]
    # Which layers look at equally many tokens depends on how many there are.
    sized = (*key, *(getattr(value, "shape", None) for value in inputs.values()))
    if sized not in known:
        known[sized] = _find(model, body, inputs, inputs)
    return known[sized]


def forget(body: nn.Module) -> None:
    """Find the ways anew next time: the model has changed since."""
    _found.pop(body, None)


def _find(
    model: nn.Module, body: nn.Module, short: Mapping[str, Any], inputs: Mapping[str, Any]
) -> Reach:
    with borrowed(unwrapped(model)), random_state_kept():
        try:
            return _calibrated(body, short)
        except NoAttentionError:
            raise
        except (RuntimeError, ValueError, LookupError, TypeError, AttributeError, AssertionError):
            pass  # some families take no text this short: judge by the person's own
        try:
            return _calibrated(body, inputs)
        except (TypeError, AttributeError) as error:
            raise NoAttentionError(
                f"{type(body).__name__} does not run on {', '.join(inputs)} alone ({error}). Give "
                "it all that it needs, as inputs={...}, or make a Lens of the part that you want."
            ) from error


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
    """What the model itself says in eager mode.

    Attributes:
        kinds: kind -> its layers' tensors, as the model lists them.
        lists: kind -> the output and the indices in it where they are listed.
        places: id of a tensor -> the innermost place that returned it inside a tuple.
        kept: tensors, so that their ids stay their own.
    """

    kinds: dict[str, list[Tensor]] = field(default_factory=dict)
    lists: dict[str, Listed] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    kept: list[Tensor] = field(default_factory=list)

    def read(self, outputs: Any) -> None:
        """Take the lists of attentions out of a model's outputs."""
        for name, tensors in attention_fields(outputs).items():
            # Pooling models look at different numbers of tokens: each is a kind of its own.
            sizes = list(dict.fromkeys(tensor.shape[-2:] for tensor in tensors))
            for i, size in enumerate(sizes):
                kind = kind_of_field(name) + (f" {i}" if len(sizes) > 1 else "")
                indices = tuple(n for n, t in enumerate(tensors) if t.shape[-2:] == size)
                self.kinds[kind] = [tensors[n] for n in indices]
                self.lists[kind] = Listed(name, indices)


def _calibrated(body: nn.Module, inputs: Mapping[str, Any]) -> Reach:
    settle(body, inputs)
    calls = _tapped_calls(body, inputs)
    truth = _truth(body, inputs)
    tapped_reach = _by_taps(calls, truth)
    if truth.kinds and set(truth.kinds) <= set(tapped_reach.layers):
        return tapped_reach
    forms = {kind: form_of(body, kind, tensors[0]) for kind, tensors in truth.kinds.items()}
    for reach in _candidates(tapped_reach, truth, forms):
        if _gives_the_truth(reach, body, inputs, truth):
            return replace(reach, checked=tapped_reach.checked | set(_known(reach, truth)))
    if tapped_reach.layers:
        return tapped_reach
    raise NoAttentionError(unreachable(body, truth.kinds))


def _candidates(
    tapped_reach: Reach, truth: _Truth, forms: Mapping[str, str | None]
) -> Iterator[Reach]:
    """Ways to what the taps do not reach, the best first; then ways without taps."""
    for base in (tapped_reach, Reach()):
        rest = {
            kind: form
            for kind, form in forms.items()
            if form is not None and kind not in base.layers
        }
        if not rest:
            continue
        layers = {kind: len(truth.kinds[kind]) for kind in rest}
        with_rest = replace(base, layers={**base.layers, **layers}, forms={**base.forms, **rest})
        hooks = _hooks(rest, truth)
        if hooks:
            yield replace(with_rest, hooks=hooks)
            yield replace(with_rest, hooks=hooks, removable=False)
        yield replace(with_rest, lists={kind: truth.lists[kind] for kind in rest})


def _hooks(kinds: Collection[str], truth: _Truth) -> dict[Place, str] | None:
    """Where the modules return the layers of some kinds; None if not all are found."""
    hooks: dict[Place, str] = {}
    for kind in kinds:
        for tensor in truth.kinds[kind]:
            place = truth.places.get(id(tensor))
            if place is None or hooks.setdefault(place, kind) != kind:
                return None
    return hooks


def _gives_the_truth(
    reach: Reach, body: nn.Module, inputs: Mapping[str, Any], truth: _Truth
) -> bool:
    raw = replace(reach, forms=dict.fromkeys(reach.forms, "as is"))
    seen = _Seen()
    torch.manual_seed(0)
    try:
        run(body, inputs, raw, seen)
    except (TypeError, AttributeError, ValueError, RuntimeError, LookupError):
        return False  # a model that needs what was taken out of its modules' outputs
    return all(
        len(seen.found[kind]) == len(truth.kinds[kind])
        and all(map(same, seen.found[kind], truth.kinds[kind]))
        for kind in _known(reach, truth)
    )


def _known(reach: Reach, truth: _Truth) -> list[str]:
    return [kind for kind in reach.layers if kind in truth.kinds]


def _truth(body: nn.Module, inputs: Mapping[str, Any]) -> _Truth:
    truth = _Truth()

    def see(path: str, output: Any) -> None:
        for steps, tensor in tensors_in(output):
            if steps and tensor.dim() >= 4:
                truth.places.setdefault(id(tensor), Place(path, steps))
                truth.kept.append(tensor)

    use_eager(body)
    torch.manual_seed(0)
    try:
        with watched(body, see):
            outputs = call_body(body, inputs, output_attentions=True)
    except (TypeError, ValueError, NotImplementedError):
        return _Truth()  # a family that has no such option
    truth.read(outputs)
    return truth


def _tapped_calls(body: nn.Module, inputs: Mapping[str, Any]) -> list[tuple[str, Tensor]]:
    """(module path, weights) of every call of an attention function, in order."""
    paths = {id(module): path for path, module in body.named_modules()}
    calls: list[tuple[str, Tensor]] = []

    def note(call: Call) -> Tensor:
        output, weights = call.eager()
        calls.append((paths.get(id(call.module), ""), weights))
        return output

    torch.manual_seed(0)
    try:
        with tapped(body, note):
            call_body(body, inputs)
    except LookupError:
        return []  # a module without an eager function beside it
    return calls


def _by_taps(calls: list[tuple[str, Tensor]], truth: _Truth) -> Reach:
    """Give each call the kind whose next layer has the same weights."""
    used: Counter[str] = Counter()
    kind_at: dict[str, str | None] = {}
    for path, weights in calls:
        kind = next((k for k in truth.kinds if _is_next(weights, truth.kinds[k], used[k])), None)
        if kind_at.setdefault(path, kind) != kind:
            kind_at[path] = kind = None
        if kind is not None:
            used[kind] += 1
    whole = {kind for kind, tensors in truth.kinds.items() if used[kind] == len(tensors)}
    taps = {path: kind for path, kind in kind_at.items() if kind in whole and kind is not None}
    checked = frozenset(taps.values())
    taps |= _unlisted(calls, {path for path, kind in kind_at.items() if kind}, truth)
    layers = Counter(taps[path] for path, _ in calls if path in taps)
    return Reach(taps, layers=dict(layers), forms=dict.fromkeys(layers, "as is"), checked=checked)


def _is_next(weights: Tensor, tensors: list[Tensor], used: int) -> bool:
    return used < len(tensors) and same(weights, tensors[used])


def _unlisted(calls: list[tuple[str, Tensor]], listed: set[str], truth: _Truth) -> dict[str, str]:
    """Kinds of calls that the model's outputs do not list: by where they are and their sizes."""
    if truth.kinds and not listed:
        return {}  # the outputs list other numbers: what the calls give is not the whole
    rest = {path: weights for path, weights in reversed(calls) if path not in listed}
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


def unreachable(body: nn.Module, listed: Mapping[str, Any]) -> str:
    """Why there is nothing to see, in words."""
    name = type(body).__name__
    if listed:
        return (
            f"{name} returns something else than attention weights as its attentions "
            f"({', '.join(listed)}), and bertlens will not show it as such. Load another model."
        )
    if not any("attention" in type(module).__name__.lower() for module in body.modules()):
        return f"{name} has no attention, so there is nothing to look at. Load another model."
    return (
        f"{name} keeps its attention out of reach: it neither uses transformers' attention "
        "interface nor returns attentions. Load a model of another family."
    )
