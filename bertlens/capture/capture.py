"""Attention out of a model: stored as queries and keys, or streamed a layer at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from bertlens.capture.attention_function import Call, fast_output
from bertlens.capture.fingerprint import Fingerprint, fingerprint
from bertlens.capture.frozen import frozen
from bertlens.capture.layouts import FORMS
from bertlens.capture.plan import CapturePlan
from bertlens.capture.prepared import prepare
from bertlens.capture.state import model_lock
from bertlens.capture.submodel import answers
from bertlens.errors import NoAttentionError

Visit = Callable[[int, Tensor], None]
"""Takes a layer's index and its weights [batch, heads, from, to]."""


class Layer(Protocol):
    """A layer of a stored capture."""

    @property
    def n_heads(self) -> int: ...

    @property
    def n_texts(self) -> int:
        """How many texts are in the batch."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """How many tokens attend and are attended to."""
        ...

    @property
    def broken(self) -> bool:
        """Whether the layer's weights contain NaN."""
        ...

    @property
    def sinks(self) -> bool:
        """Whether a part of each row's softmax goes to no token."""
        ...

    @property
    def tensors(self) -> Iterator[Tensor]:
        """What the layer holds."""
        ...

    def weights(self) -> Tensor:
        """Weights [batch, heads, from, to], float32 on the CPU."""
        ...


@dataclass
class StoredLayer:
    """What a layer's weights are made from, kept until they are requested."""

    call: Call
    broken: bool = False

    @property
    def n_heads(self) -> int:
        return self.call.query.shape[1]

    @property
    def n_texts(self) -> int:
        return len(self.call.query)

    @property
    def shape(self) -> tuple[int, int]:
        return self.call.query.shape[-2], self.call.key.shape[-2]

    @property
    def sinks(self) -> bool:
        return self.call.options.get("s_aux") is not None

    @property
    def tensors(self) -> Iterator[Tensor]:
        call = self.call
        for value in (call.query, call.key, call.mask, *call.options.values()):
            if isinstance(value, Tensor):
                yield value
            elif isinstance(value, tuple):
                yield from (item for item in value if isinstance(item, Tensor))

    def weights(self) -> Tensor:
        """Weights [batch, heads, from, to], float32 on the CPU, made by the family's function."""
        call = self.call
        with torch.no_grad():
            # The output is not needed: values one wide cost nothing.
            nothing = call.key.new_zeros((*call.key.shape[:-1], 1))
            _, weights = call.eager(nothing)
        return weights.float().cpu()


@dataclass
class DenseLayer:
    """A layer's weights, of a model that makes them by itself."""

    stored: Tensor
    of_sinks: bool = False

    @property
    def n_heads(self) -> int:
        return self.stored.shape[1]

    @property
    def n_texts(self) -> int:
        return len(self.stored)

    @property
    def shape(self) -> tuple[int, int]:
        return self.stored.shape[-2], self.stored.shape[-1]

    @property
    def broken(self) -> bool:
        return bool(self.stored.isnan().any())

    @property
    def sinks(self) -> bool:
        return self.of_sinks

    @property
    def tensors(self) -> Iterator[Tensor]:
        yield self.stored

    def weights(self) -> Tensor:
        return self.stored


@dataclass
class Stored:
    """A capture: every kind's layers, and what the model returned.

    Attributes:
        kinds: kind -> its layers.
        plan: how they were reached.
        fingerprint: of the model as it was when it ran.
        logits: of a classifier, tagger or reader, by the names of its outputs, on the CPU.
    """

    kinds: dict[str, list[Layer]]
    plan: CapturePlan
    fingerprint: Fingerprint
    logits: dict[str, Tensor] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int:
        """The memory that the layers' tensors take; what they share counts once."""
        storages = {
            storage.data_ptr(): storage.nbytes()
            for layers in self.kinds.values()
            for layer in layers
            for storage in (tensor.untyped_storage() for tensor in layer.tensors)
        }
        return sum(storages.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the weights should know: how they were computed, and what is wrong."""
        notes = [FORMS[form].note for form in dict.fromkeys(self.plan.forms.values())]
        for kind, layers in self.kinds.items():
            broken = [i for i, layer in enumerate(layers) if layer.broken]
            if broken:
                of = "" if len(self.kinds) == 1 else f" of the {kind} attention"
                later = len(broken) - 1
                more = f" (and so did {later} later layer{'s' * (later > 1)})" if later else ""
                notes.append(
                    f"Layer {broken[0]}{of} produced NaN{more}. Load the model in float32."
                )
        if any(layer.sinks for layers in self.kinds.values() for layer in layers):
            notes.append(
                "Rows sum to less than 1: the rest goes to a learned sink of each head, which is "
                "no token."
            )
        if self.plan.by_windows:
            notes.append("The model sorts patches by windows; they are numbered in that order.")
        for kind, why in self.plan.left_out.items():
            notes.append(f"The {kind} attention is left out: {why}.")
        return tuple(note for note in notes if note)


@dataclass
class _StoreWeights:
    """Stores the weights of layers, those of eager attention."""

    kinds: dict[str, list[Layer]] = field(default_factory=dict)

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        output, weights = call.eager()
        sinks = call.options.get("s_aux") is not None
        self.kinds.setdefault(kind, []).append(DenseLayer(weights.float().cpu(), sinks))
        return output

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        self.kinds.setdefault(kind, []).append(DenseLayer(weights.float().cpu()))


@dataclass
class _StoreCalls(_StoreWeights):
    """Stores calls while the fast implementation makes the output, or the family's eager one."""

    eager: bool = False

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        output = call.eager()[0] if self.eager else fast_output(call)
        call.value = call.value.new_empty(0)
        # Some CPU kernels turn rows of NaN into zeros, so the output alone does not tell.
        sound = call.query.isfinite().all() and call.key.isfinite().all()
        broken = not sound or bool(output.isnan().any())
        self.kinds.setdefault(kind, []).append(StoredLayer(frozen(call), broken))
        return output


@dataclass
class _StreamWeights:
    """Shows one kind's weights while they live."""

    kind: str
    visit: Visit
    layers: Collection[int] | None

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        if kind != self.kind or (self.layers is not None and layer not in self.layers):
            return fast_output(call)
        output, weights = call.eager()
        self.visit(layer, weights)
        return output

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        if kind == self.kind and (self.layers is None or layer in self.layers):
            self.visit(layer, weights)


def store(
    model: nn.Module, inputs: Mapping[str, Any], *, exact: bool = False, eager: bool = False
) -> Stored:
    """Run the model once and keep what each layer's weights are made from.

    Args:
        exact: keep eager's weights instead of queries and keys.
        eager: keep queries and keys of a pass of eager attention, those of exact weights.

    Raises:
        NoAttentionError: the model has no attention that can be reached.
    """
    receiver = _StoreWeights() if exact else _StoreCalls(eager=eager)
    with model_lock(model):
        before = fingerprint(model)
        prepared = prepare(model, inputs)
        outputs = prepared.run(receiver)
    kinds = {kind: receiver.kinds[kind] for kind in prepared.plan.kinds}
    return Stored(kinds, prepared.plan, before, _logits(outputs) if answers(model) else {})


def stream(
    model: nn.Module,
    inputs: Mapping[str, Any],
    visit: Visit,
    *,
    layers: Collection[int] | None = None,
    kind: str | None = None,
) -> int:
    """Run the model with the family's eager attention and show each layer's weights to `visit`.

    The weights [batch, heads, from, to], in the model's dtype on its device, live only during the
    call. Layers outside `layers` take the fast way. Returns how many layers there were.

    Args:
        kind: of attention; by default the model's first, of an encoder-decoder the encoder's.

    Raises:
        NoAttentionError: the model has no attention that can be reached, or not of this kind.
    """
    with model_lock(model):
        # A task head would only cost time, and a decoder's may refuse batches.
        prepared = prepare(model, inputs, answer=False)
        layers_of = prepared.plan.layers
        name = prepared.plan.kinds[0] if kind is None else kind
        if name not in layers_of:
            raise NoAttentionError(
                f"{type(prepared.body).__name__} has no attention of kind {kind!r} on these "
                f"inputs; it has {' and '.join(map(repr, prepared.plan.kinds))}."
            )
        prepared.run(_StreamWeights(name, visit, layers))
    return layers_of[name]


def _logits(outputs: Any) -> dict[str, Tensor]:
    return {
        name: value.float().cpu()
        for name, value in outputs.items()
        if name.endswith("logits") and isinstance(value, Tensor)
    }
