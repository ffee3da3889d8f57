"""Weights among what modules and models return: taken as they pass, or read from the lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from bertlens.capture.plan import Place

Take = Callable[[str, Tensor], None]
"""Takes a kind and the weights that a module of this kind returned."""


def tensors_in(output: Any, steps: tuple[int | str, ...] = ()) -> Iterator[tuple[Any, Tensor]]:
    """(steps, tensor) of everything in a module's nested output."""
    if isinstance(output, Tensor):
        yield steps, output
    elif isinstance(output, Mapping):
        for name, value in output.items():
            yield from tensors_in(value, (*steps, name))
    elif isinstance(output, tuple | list):
        for i, value in enumerate(output):
            yield from tensors_in(value, (*steps, i))


@contextmanager
def watched(body: nn.Module, see: Callable[[str, Any], None]) -> Iterator[None]:
    """Show every module's path and output, the innermost first."""
    handles = []
    for path, module in body.named_modules():

        def after(_: nn.Module, __: Any, output: Any, path: str = path) -> None:
            see(path, output)

        handles.append(module.register_forward_hook(after))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def taken(
    body: nn.Module, places: Mapping[Place, str], take: Take, *, remove: bool
) -> Iterator[None]:
    """Hand the weights at `places` to `take`; with `remove`, None goes on in their place."""
    by_path: dict[str, list[tuple[Place, str]]] = {}
    for place, kind in places.items():
        by_path.setdefault(place.path, []).append((place, kind))
    modules = dict(body.named_modules())
    handles = []
    for path, places_here in by_path.items():

        def after(
            _: nn.Module, __: Any, output: Any, places_here: list[tuple[Place, str]] = places_here
        ) -> Any:
            for place, kind in places_here:
                tensor = _at(output, place.steps)
                if isinstance(tensor, Tensor):
                    take(kind, tensor)
                    if remove:
                        output = _without(output, place.steps)
            return output

        handles.append(modules[path].register_forward_hook(after))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _at(output: Any, steps: tuple[int | str, ...]) -> Any:
    for step in steps:
        try:
            output = output[step]
        except (LookupError, TypeError):
            return None
    return output


def _without(output: Any, steps: tuple[int | str, ...]) -> Any:
    """The same nested output with None at the place; mappings are left as they are."""
    if not steps:
        return None
    if isinstance(output, tuple | list):
        step, *rest = steps
        parts = list(output)
        parts[step] = _without(parts[step], tuple(rest))  # type: ignore[index]
        return type(output)(parts) if type(output) in (tuple, list) else output
    return output


def attention_fields(outputs: Any) -> dict[str, list[Tensor]]:
    """Name of an output -> its layers' tensors, nested outputs included; empty ones left out."""
    fields = {}
    for name, value in _named(outputs, ""):
        tensors = [item for item in value if isinstance(item, Tensor) and item.dim() >= 4]
        if tensors and len(tensors) == sum(item is not None for item in value):
            fields[name] = tensors
    return fields


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
