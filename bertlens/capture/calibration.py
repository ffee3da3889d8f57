"""Find how a model's attention is reached, by running it on a small text and comparing.

The model's own eager attentions are the reference. Whatever way is taken has to give the same
numbers, so a family that nobody has seen gets the best way that passes, and never wrong weights.
"""

from __future__ import annotations

import re
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from bertlens.capture.attention_function import Call
from bertlens.capture.forward import run
from bertlens.capture.layouts import form_of
from bertlens.capture.matching import by_taps, tapped_layers
from bertlens.capture.plan import CapturePlan, Place
from bertlens.capture.random_numbers import (
    Draws,
    random_state,
    random_state_kept,
    seed,
    set_random_state,
)
from bertlens.capture.reference import (
    EagerReference,
    calls_torch_attention,
    eager_reference_of,
    same,
)
from bertlens.capture.state import preserve_state
from bertlens.capture.submodel import has_two_ways, is_short, settle, sorts_by_windows, unwrapped
from bertlens.errors import NoAttentionError

_plans: weakref.WeakKeyDictionary[nn.Module, dict[Any, CapturePlan]] = weakref.WeakKeyDictionary()

SAMPLE = 16
"""Tokens of the first text that are used; enough to tell the ways apart."""


def plan_of(model: nn.Module, body: nn.Module, inputs: Mapping[str, Any]) -> CapturePlan:
    """The ways to the attention of `body`, a part of `model`; found once for each set of inputs.

    Raises:
        NoAttentionError: there is none, or none that can be reached.
    """
    known = _plans.setdefault(body, {})
    # Layers may be cut off or exchanged, and adapters added, between two captures.
    modules = hash(tuple(map(id, body.modules())))
    key: tuple[Any, ...] = (frozenset(inputs), is_short(body, inputs), modules)
    if key not in known:
        # A family that chooses its attention by length is judged by the text itself.
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
    _plans.pop(body, None)


def _find(
    model: nn.Module, body: nn.Module, short: Mapping[str, Any], inputs: Mapping[str, Any]
) -> CapturePlan:
    before = random_state()
    try:
        with Draws() as draws:
            plan = _ways(model, body, short, inputs, seeded=False)
    except NoAttentionError:
        if not draws.seen:
            raise
    if draws.seen:
        # What was drawn to find out is given back, and the ways are compared on equal draws.
        set_random_state(before)
        plan = _ways(model, body, short, inputs, seeded=True)
    return replace(plan, by_windows=sorts_by_windows(body), draws=draws.seen)


def _ways(
    model: nn.Module,
    body: nn.Module,
    short: Mapping[str, Any],
    inputs: Mapping[str, Any],
    *,
    seeded: bool,
) -> CapturePlan:
    with preserve_state(unwrapped(model)), random_state_kept(seeded):
        try:
            return _calibrated(body, short)
        except NoAttentionError:
            raise
        except (RuntimeError, ValueError, LookupError, TypeError, AttributeError, AssertionError):
            pass  # some families take no text this short: judge by the text itself
        try:
            return _calibrated(body, inputs)
        except (TypeError, AttributeError) as error:
            if not _of_libraries(error):
                raise  # a fault in the caller's own module
            raise NoAttentionError(
                f"{type(body).__name__} does not run on {', '.join(inputs)} alone ({error}). Give "
                "it all that it needs, as inputs={...}, or make a Lens of the part that you want."
            ) from error


def _of_libraries(error: Exception) -> bool:
    """Whether it was raised in torch or transformers, as by a family that lacks an input."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] in ("torch", "transformers")


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


def _calibrated(body: nn.Module, inputs: Mapping[str, Any]) -> CapturePlan:
    settle(body, inputs)
    calls = tapped_layers(body, inputs)
    eager = eager_reference_of(body, inputs)
    forms = {kind: form_of(body, kind, tensors[0]) for kind, tensors in eager.kinds.items()}
    listed = dict(eager.kinds)
    shapes = {weights.shape for _, weights in calls.layers}
    for kind, tensors in listed.items():
        # SAM lists what its attention modules put out: that says nothing of its calls.
        if shapes and forms[kind] is None and not any(t.shape in shapes for t in tensors):
            del eager.kinds[kind]
    tapped_plan = by_taps(calls, eager)
    if tapped_plan.layers and not tapped_plan.checked:
        listed = dict(eager.kinds)  # the calls show what the other lists are about
    weights = {kind for kind in eager.kinds if forms[kind] is not None}
    if weights and weights <= set(tapped_plan.layers):
        return _with_what_is_left_out(tapped_plan, listed)
    for plan in _candidates(tapped_plan, eager, forms):
        if _matches_eager(plan, body, inputs, eager):
            checked = replace(plan, checked=tapped_plan.checked | set(_known(plan, eager)))
            return _with_what_is_left_out(checked, listed)
    if tapped_plan.layers:
        return _with_what_is_left_out(tapped_plan, listed)
    direct = not (listed or tapped_plan.left_out) and calls_torch_attention(body, inputs)
    raise NoAttentionError(unreachable(body, listed, tapped_plan.left_out, direct=direct))


def _with_what_is_left_out(plan: CapturePlan, listed: Collection[str]) -> CapturePlan:
    """Say of every kind that the model lists and that is not shown that it is no weights."""
    rest = {
        kind: "what the model lists are no attention weights"
        for kind in listed
        if kind not in plan.layers
    }
    return replace(plan, left_out={**plan.left_out, **rest})


def _candidates(
    tapped_plan: CapturePlan, eager: EagerReference, forms: Mapping[str, str | None]
) -> Iterator[CapturePlan]:
    """Ways to what the taps do not reach, the best first; then ways without taps."""
    for base in (tapped_plan, CapturePlan()):
        rest = {
            kind: form
            for kind, form in forms.items()
            if form is not None and kind in eager.kinds and kind not in base.layers
        }
        if not rest:
            continue
        layers = {kind: len(eager.kinds[kind]) for kind in rest}
        with_rest = replace(base, layers={**base.layers, **layers}, forms={**base.forms, **rest})
        hooks = _hooks(rest, eager)
        if hooks:
            yield replace(with_rest, hooks=hooks)
            yield replace(with_rest, hooks=hooks, removable=False)
        yield replace(with_rest, lists={kind: eager.lists[kind] for kind in rest})


def _hooks(kinds: Collection[str], eager: EagerReference) -> dict[Place, str] | None:
    """Where the modules return the layers of some kinds; None if not all are found."""
    hooks: dict[Place, str] = {}
    for kind in kinds:
        for tensor in eager.kinds[kind]:
            place = eager.places.get(id(tensor))
            if place is None or hooks.setdefault(place, kind) != kind:
                return None
    return hooks


def _matches_eager(
    plan: CapturePlan, body: nn.Module, inputs: Mapping[str, Any], eager: EagerReference
) -> bool:
    raw = replace(plan, forms=dict.fromkeys(plan.forms, "as is"))
    seen = _Seen()
    seed()
    try:
        run(body, inputs, raw, seen)
    except (TypeError, AttributeError, ValueError, RuntimeError, LookupError):
        return False  # a model that needs what was taken out of its modules' outputs
    return all(
        len(seen.kinds[kind]) == len(eager.kinds[kind])
        and all(map(same, seen.kinds[kind], eager.kinds[kind]))
        for kind in _known(plan, eager)
    )


def _known(plan: CapturePlan, eager: EagerReference) -> list[str]:
    return [kind for kind in plan.layers if kind in eager.kinds]


class _Seen:
    """A receiver that keeps everything."""

    def __init__(self) -> None:
        self.kinds: dict[str, list[Tensor]] = defaultdict(list)

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        output, weights = call.eager()
        self.kinds[kind].append(weights)
        return output

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        self.kinds[kind].append(weights)


def unreachable(
    body: nn.Module,
    listed: Mapping[str, Any],
    left_out: Mapping[str, str],
    *,
    direct: bool = False,
) -> str:
    """Why there is nothing to see, in words.

    Args:
        direct: whether it calls torch's own attention function.
    """
    name = type(body).__name__
    if left_out:
        why = "; ".join(f"{kind}: {reason}" for kind, reason in left_out.items())
        return f"{name} has attention that cannot be shown as it is ({why}). Load another model."
    if listed:
        return (
            f"{name} returns something else than attention weights as its attentions "
            f"({', '.join(listed)}), and bertlens will not show it as such. Load another model."
        )
    if direct and not isinstance(body, PreTrainedModel):
        return (
            f"{name} calls torch's scaled_dot_product_attention itself, which returns no weights. "
            "Let its forward return them, softmax(query @ key.T / sqrt(d)), [batch, heads, from, "
            "to] a layer, as `attentions` of a transformers ModelOutput; or give them to "
            "bertlens.Attention.from_tensors(weights, tokens)."
        )
    classes = {type(module).__name__ for module in body.modules()}
    if not any("attention" in cls.lower() for cls in classes):
        return f"{name} has no attention, so there is nothing to look at. Load another model."
    fast = [cls for cls in classes if re.search(r"Sdpa(Self)?Attention|FlashAttention2", cls)]
    if fast:
        return (
            f"{name} was made with an attention that gives no weights ({', '.join(sorted(fast))}). "
            'Load it with attn_implementation="eager".'
        )
    return (
        f"{name} is not supported: it does not use transformers' AttentionInterface and returns no "
        "attentions. Load a model of another family."
    )
