"""Weights that a module returns beside its output, taken as they pass."""

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
    for path, wanted in by_path.items():

        def after(
            _: nn.Module, __: Any, output: Any, wanted: list[tuple[Place, str]] = wanted
        ) -> Any:
            for place, kind in wanted:
                found = _at(output, place.steps)
                if isinstance(found, Tensor):
                    take(kind, found)
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
