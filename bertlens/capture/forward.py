"""One forward pass, whose attention goes to a receiver layer by layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Protocol

from torch import Tensor, nn

from bertlens.capture.attention_function import Call, fast_output, tapped
from bertlens.capture.edits import Editor
from bertlens.capture.hooks import attention_fields, taken
from bertlens.capture.layouts import FORMS, Sizes
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


def run(
    body: nn.Module,
    inputs: Mapping[str, Any],
    plan: CapturePlan,
    receiver: Receiver,
    editor: Editor | None = None,
) -> tuple[Any, dict[str, int]]:
    """Run a body, inside `preserve_state`, and pass its attention to `receiver`.

    Returns its outputs, and the number of layers of each kind.

    Args:
        editor: changes what some heads do, see `edits`.
    """
    settle(body, inputs)
    counts: Counter[str] = Counter()
    sizes = Sizes.of(body, inputs)

    def number(kind: str) -> int:
        layer = counts[kind]
        counts[kind] += 1
        return layer

    def layer(path: str, call: Call) -> Tensor:
        kind = plan.taps.get(path)
        if kind is None:
            return fast_output(call)
        index = number(kind)
        if editor is not None:
            call = editor.edited(kind, index, call)
        return receiver.call(kind, index, call)

    def doubt(path: str, call: Call, why: str) -> None:
        # Where the model lists its weights, each call was found to be a layer.
        if path in plan.taps and plan.taps[path] not in plan.checked:
            refused(path, call, why)

    def take(kind: str, tensor: Tensor) -> None:
        layer = number(kind)
        receiver.weights(kind, layer, FORMS[plan.forms[kind]].dense(tensor, sizes, kind, layer))

    paths = {id(module): path for path, module in body.named_modules()} if plan.taps else {}
    with ExitStack() as stack:
        options = {}
        if plan.taps:
            forwards = Forwards(paths, layer, doubt)
            stack.enter_context(forwards.watching(body, plan.taps))
            stack.enter_context(tapped(body, forwards.call))
        else:
            use_eager(body)
        if plan.asks_for_attentions:
            options["output_attentions"] = True
        if plan.hooks:
            stack.enter_context(taken(body, plan.hooks, take, remove=plan.removable))
        outputs = call_body(body, inputs, **options)
    if plan.lists:
        fields = attention_fields(outputs)
        for kind, listed in plan.lists.items():
            tensors = fields.get(listed.name, [])
            for index in listed.indices:
                if index < len(tensors):
                    take(kind, tensors[index])
    return outputs, dict(counts)


def use_eager(body: nn.Module) -> None:
    """Set eager attention wherever the model can choose; `preserve_state` restores it."""
    for config in attention_configs(body):
        config._attn_implementation_internal = "eager"
