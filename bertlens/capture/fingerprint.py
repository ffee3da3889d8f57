"""Whether a model is still the one that a text was run through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.capture.state import CHANGED_BY_A_PASS, model_lock
from bertlens.capture.submodel import unwrapped

SAMPLES_PER_TENSOR = 256
SAMPLE_STEP = 2039
"""Every so many values of a parameter are compared, and at least `SAMPLES_PER_TENSOR` of each.

Writing through `.data` leaves a parameter's version as it was. The step is odd, as columns are not,
so that it meets every row and column in turn: a head's slice of 64 columns some ten times.
"""

_NO_PART_OF_A_PASS = frozenset(
    {
        *vars(nn.Module()),
        *CHANGED_BY_A_PASS,
        "output_attentions",
        "output_hidden_states",
        "return_dict",
        "use_cache",
    }
)


@dataclass(frozen=True)
class Fingerprint:
    """What a model's outputs in eval mode depend on; equal while the model is provably unchanged.

    Attributes:
        tensors: hash of id, address and version of every parameter and persistent buffer. An
            optimizer's step, `load_state_dict` and any other writing in place count up a version.
        values: hash of a sample of the values of each.
        modules: hash of the modules, their order, their hooks and replaced forwards.
        settings: hash of the modules' own numbers and names, among them PEFT's active, disabled and
            merged adapters and their scaling, and of the configuration.
    """

    tensors: int
    values: int
    modules: int
    settings: int

    def changes(self, now: Fingerprint) -> tuple[str, ...]:
        """What differs in a later fingerprint, in words; empty where nothing does."""
        pairs = {
            "its parameters": (self.tensors, self.values) != (now.tensors, now.values),
            "its modules or their hooks": self.modules != now.modules,
            "its settings or active adapters": self.settings != now.settings,
        }
        return tuple(name for name, differs in pairs.items() if differs)


def fingerprint(model: nn.Module) -> Fingerprint:
    """The state that decides what the model computes in eval mode, cheap to take and to compare.

    Training mode, gradients, the attention implementation and what a capture itself sets do not
    count. A model that was changed and changed back by writing does: equal fingerprints prove that
    nothing changed, different ones only that something was touched. Take it and use it under
    `model_lock(model)`, which this function holds meanwhile, so that no capture of another thread
    is going on:

        with model_lock(model):
            changes = stored.fingerprint.changes(fingerprint(model))
            if not changes:
                stored = store(model, inputs)

    `store` takes one before its pass; see `Stored.fingerprint`.
    """
    with model_lock(model), torch.no_grad():
        tensors: list[Any] = []
        samples: list[Tensor] = []
        modules: list[Any] = []
        settings: list[Any] = [_plain(vars(getattr(unwrapped(model), "config", object)))]
        for module in unwrapped(model).modules():
            own = vars(module)
            modules += (id(module), type(module), id(own.get("forward")))
            modules += _hooks(own["_forward_hooks"])
            modules += _hooks(own["_forward_pre_hooks"])
            settings.append(_plain(own))
            for tensor, persistent in _tensors(module):
                tensors.append(_identity(tensor) if persistent else (tensor.shape, tensor.dtype))
                sample = _sample(tensor)
                if sample is not None:
                    samples.append(sample)
    return Fingerprint(
        hash(tuple(tensors)), hash(_bytes(samples)), hash(tuple(modules)), hash(tuple(settings))
    )


def _tensors(module: nn.Module) -> Iterator[tuple[Tensor, bool]]:
    """A module's own parameters and buffers, and whether each is more than a derived value."""
    for parameter in module._parameters.values():
        if parameter is not None:
            yield parameter, parameter.device.type != "meta"
    for name, buffer in module._buffers.items():
        # Tables of positions, which some families make anew as they run.
        if buffer is not None:
            yield buffer, name not in module._non_persistent_buffers_set
    # accelerate keeps offloaded weights outside of the module, which holds nothing between calls.
    offloaded = getattr(getattr(module, "_hf_hook", None), "weights_map", None)
    dataset = getattr(offloaded, "dataset", None)
    held = getattr(dataset, "state_dict", dataset)
    if isinstance(held, Mapping):
        prefix = str(getattr(offloaded, "prefix", ""))
        for name in (*module._parameters, *module._buffers):
            tensor = held.get(prefix + name)
            if isinstance(tensor, Tensor):
                yield tensor, True


def _hooks(hooks: Mapping[int, Any]) -> list[int]:
    """Hooks that may change what a module returns: transformers' own only record it."""
    return [
        id(hook)
        for hook in hooks.values()
        if getattr(hook, "__module__", None) != "transformers.utils.output_capturing"
    ]


def _identity(tensor: Tensor) -> tuple[int, int, int]:
    version = -1 if tensor.is_inference() else tensor._version
    try:
        address = tensor.data_ptr()
    except RuntimeError:  # a tensor subclass without storage of its own
        address = 0
    return id(tensor), address, version


def _sample(tensor: Tensor) -> Tensor | None:
    if tensor.device.type == "meta" or not tensor.numel() or tensor.layout != torch.strided:
        return None
    n = tensor.numel()
    if not tensor.is_contiguous() or type(tensor) not in (Tensor, nn.Parameter):
        return None
    flat = tensor.detach().view(-1)
    return flat[:: min(SAMPLE_STEP, n // SAMPLES_PER_TENSOR | 1)]


def _bytes(samples: list[Tensor]) -> bytes:
    """The samples' bits: one transfer from each device for each dtype."""
    groups: dict[Any, list[Tensor]] = {}
    for sample in samples:
        groups.setdefault((sample.device, sample.dtype), []).append(sample)
    return b"".join(
        torch.cat(group).contiguous().view(torch.uint8).cpu().numpy().tobytes()
        for group in groups.values()
    )


def _plain(attributes: Mapping[str, Any]) -> int:
    """Hash of an object's numbers, names and flags, in nested lists and mappings too."""
    return hash(
        tuple(
            (name, _frozen(value))
            for name, value in attributes.items()
            if type(value) in _PLAIN
            and name not in _NO_PART_OF_A_PASS
            and not name.startswith("_attn")
        )
    )


_PLAIN = frozenset({bool, int, float, str, type(None), list, tuple, dict, set, torch.ScriptObject})


def _frozen(value: Any) -> Any:
    kind = type(value)
    if kind in (list, tuple):
        return tuple(map(_frozen, value))
    if kind is dict:
        return tuple((name, _frozen(item)) for name, item in value.items())
    if kind is set:
        return frozenset(map(_frozen, value))
    if kind in _PLAIN and kind is not torch.ScriptObject:
        return value
    return id(value) if kind is torch.ScriptObject else type(value)
