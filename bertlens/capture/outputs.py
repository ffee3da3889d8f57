"""The lists of attentions in what a model returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torch import Tensor


def attention_fields(outputs: Any) -> dict[str, list[Tensor]]:
    """Name of an output -> its layers' tensors, nested outputs included; empty ones left out."""
    found = {}
    for name, value in _named(outputs, ""):
        tensors = [item for item in value if isinstance(item, Tensor) and item.dim() >= 4]
        if tensors and len(tensors) == sum(item is not None for item in value):
            found[name] = tensors
    return found


def _named(outputs: Any, prefix: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    if not isinstance(outputs, Mapping):
        return
    for name, value in outputs.items():
        if isinstance(value, Mapping):
            yield from _named(value, f"{prefix}{name}.")
        elif isinstance(value, tuple | list) and name.endswith("attentions"):
            yield f"{prefix}{name}", tuple(value)


def kind_of_field(name: str) -> str:
    """ "attentions" -> "self", "encoder_attentions" -> "encoder", "text_model_output.attentions"
    -> "text", "cross_encoder_attentions" -> "cross"."""
    *outer, last = name.split(".")
    own = last.removesuffix("attentions").strip("_")
    own = "cross" if own.startswith("cross_") else own
    whole = [part.removesuffix("_output").removesuffix("_model") for part in outer] + [own]
    return " ".join(part for part in whole if part) or "self"
