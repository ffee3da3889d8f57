"""One forward pass, with every kind's weights going to a receiver as they are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Protocol

from torch import Tensor, nn

from bertlens.capture.attention_function import Call, fast_output, tapped
from bertlens.capture.hooks import taken
from bertlens.capture.layouts import FORMS, Sizes
from bertlens.capture.outputs import attention_fields
from bertlens.capture.packed import Forwards, refused
from bertlens.capture.plan import CapturePlan
from bertlens.capture.state import attention_configs
from bertlens.capture.submodel import call_body, settle


class Receiver(Protocol):
    """Takes what a pass shows, a layer at a time, in the order of the layers of each kind."""

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        """A call of an attention function; returns its output."""
        ...

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        """Weights [batch, heads, from, to] that the model made by itself."""
        ...


def run(body: nn.Module, inputs: Mapping[str, Any], reach: CapturePlan, receiver: Receiver) -> Any:
    """Run a body, inside `borrowed`, and show its attention to `receiver`. Returns its outputs."""
    settle(body, inputs)
    counts: Counter[str] = Counter()
    sizes = Sizes.of(body, inputs)

    def number(kind: str) -> int:
        layer = counts[kind]
        counts[kind] += 1
        return layer

    def layer(path: str, call: Call) -> Tensor:
        kind = reach.taps.get(path)
        return fast_output(call) if kind is None else receiver.call(kind, number(kind), call)

    def doubt(path: str, call: Call, why: str) -> None:
        # Where the model lists its weights, each call was found to be a layer.
        if path in reach.taps and reach.taps[path] not in reach.checked:
            refused(path, call, why)

    def take(kind: str, found: Tensor) -> None:
        layer = number(kind)
        receiver.weights(kind, layer, FORMS[reach.forms[kind]].dense(found, sizes, kind, layer))

    paths = {id(module): path for path, module in body.named_modules()} if reach.taps else {}
    with ExitStack() as stack:
        options = {}
        if reach.taps:
            forwards = Forwards(paths, layer, doubt)
            stack.enter_context(forwards.watching(body, reach.taps))
            stack.enter_context(tapped(body, forwards.call))
        else:
            use_eager(body)
        if reach.asks_for_attentions:
            options["output_attentions"] = True
        if reach.hooks:
            stack.enter_context(taken(body, reach.hooks, take, remove=reach.removable))
        outputs = call_body(body, inputs, **options)
    if reach.lists:
        found = attention_fields(outputs)
        for kind, listed in reach.lists.items():
            tensors = found.get(listed.name, [])
            for index in listed.indices:
                if index < len(tensors):
                    take(kind, tensors[index])
    return outputs


def use_eager(body: nn.Module) -> None:
    """Set eager attention wherever the model can choose; `borrowed` restores it."""
    for config in attention_configs(body):
        config._attn_implementation_internal = "eager"
