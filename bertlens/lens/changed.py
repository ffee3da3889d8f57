"""A Lens on the same model with heads ablated or edges knocked out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from bertlens import capture
from bertlens.capture import EdgeEdit, Edit, EditedModel, HeadEdit
from bertlens.capture.edits import Method
from bertlens.causal.means import mean_outputs
from bertlens.errors import EmptyTextError
from bertlens.text.pointed import Pointed

if TYPE_CHECKING:
    from bertlens.lens.lens import Lens

SHOWN = 3
"""Heads or tokens that a changed Lens's name lists."""


def ablated(
    lens: Lens,
    heads: Iterable[tuple[int, int]],
    method: Method,
    texts: Iterable[Any] | None,
    kind: str | None,
) -> Lens:
    """See `Lens.ablate`."""
    if method not in get_args(Method):
        raise ValueError(f'method must be "zero", "mean" or "uniform", not {method!r}.')
    if texts is not None and method != "mean":
        raise TypeError(f'texts= belongs to method="mean", not to {method!r}.')
    kind, shape = _shape(lens, kind)
    chosen = checked_heads(heads, shape)
    means = None
    if texts is not None and chosen:
        means = mean_outputs(lens, texts, kind=kind)
    edits = [
        HeadEdit(kind, layer, head, method, None if means is None else means[layer][head])
        for layer, head in chosen
    ]
    return _changed(lens, edits, f"without {_listed([f'{a}-{b}' for a, b in chosen])} ({method})")


def knocked_out(
    lens: Lens,
    from_: Pointed,
    to: Pointed,
    layers: int | Iterable[int] | None,
    heads: int | Iterable[int] | None,
    kind: str | None,
) -> Lens:
    """See `Lens.knockout`."""
    kind, shape = _shape(lens, kind)
    edit = EdgeEdit(
        kind,
        _tokens(from_, "from_"),
        _tokens(to, "to"),
        _numbers(layers, "layer", len(shape) if shape else None),
        _numbers(heads, "head", max(shape) if shape else None),
    )
    ends = [_listed([str(one) for one in side]) for side in (edit.from_, edit.to)]
    return _changed(lens, [edit], f"without {ends[0]} -> {ends[1]}")


def sample_inputs(lens: Lens) -> dict[str, Any] | None:
    """A small text as the model's inputs; None where the model reads no text."""
    if lens.takes != "input_ids":
        return None
    for text in ("a b", "0 1"):
        try:
            encoding = lens.encode(text)
        except EmptyTextError:
            continue
        targets = [lens.encode_again(encoding)] if lens.translates else None
        return dict(lens.tensors([encoding], targets))
    return None


def checked_heads(heads: Iterable[tuple[int, int]], shape: Sequence[int]) -> list[tuple[int, int]]:
    """(layer, head) pairs, each once.

    Args:
        shape: the number of heads of each layer; empty where it is not known.

    Raises:
        TypeError: no list of pairs of numbers.
        IndexError: a head that the model does not have.
    """
    chosen: dict[tuple[int, int], None] = {}
    for pair in _iterable(heads):
        try:
            layer, head = pair
        except (TypeError, ValueError):
            layer = head = None
        if not _is_index(layer) or not _is_index(head):
            raise TypeError(f"heads must be a list of (layer, head), not of {pair!r:.80}.")
        if shape and not 0 <= layer < len(shape):
            raise IndexError(f"The model has layers 0 to {len(shape) - 1}, not {layer}.")
        if shape and not 0 <= head < shape[layer]:
            raise IndexError(f"Layer {layer} has heads 0 to {shape[layer] - 1}, not {head}.")
        chosen[int(layer), int(head)] = None
    return list(chosen)


def _shape(lens: Lens, kind: str | None) -> tuple[str, tuple[int, ...]]:
    """The kind of attention that is meant, and how many heads each of its layers has."""
    sample = sample_inputs(lens)
    if sample is None:
        return kind or "self", ()
    plan = capture.plan_for(capture.without_edits(lens.model), sample)
    kind = plan.kinds[0] if kind is None else kind
    body = capture.unwrapped(lens.model)
    capture.check_plan(plan, body, [EdgeEdit(kind, (), ())])
    stored = capture.store(capture.without_edits(lens.model), sample)
    return kind, tuple(layer.n_heads for layer in stored.kinds[kind])


def _changed(lens: Lens, edits: Sequence[Edit], what: str) -> Lens:
    model = EditedModel(lens.model, edits, sample_inputs(lens))
    name = f"{lens.name} {what}" if edits else lens.name
    return type(lens)(model, lens.tokenizer, name=name)


def _tokens(given: Pointed, what: str) -> tuple[int | str, ...]:
    several = [given] if isinstance(given, int | np.integer | str) else _iterable(given)
    tokens = tuple(one if isinstance(one, str) else _index(one, what) for one in several)
    if not tokens:
        raise ValueError(f"{what} names no token: give at least one.")
    return tokens


def _index(one: Any, what: str) -> int:
    if not _is_index(one) or one < 0:
        raise TypeError(f"{what} must hold indices or labels of tokens, not {one!r:.80}.")
    return int(one)


def _numbers(given: Any, what: str, n: int | None) -> frozenset[int] | None:
    if given is None:
        return None
    several = [given] if _is_index(given) else list(_iterable(given))
    for one in several:
        if not _is_index(one):
            raise TypeError(f"{what}s must be a number or a list of numbers, not {given!r:.80}.")
        if n is not None and not 0 <= one < n:
            raise IndexError(f"The model has {what}s 0 to {n - 1}, not {one}.")
    if not several:
        raise ValueError(f"{what}s is empty, so nothing would be cut. Leave it out for all.")
    return frozenset(map(int, several))


def _is_index(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def _iterable(given: Any) -> Iterable[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"Expected a list, got {given!r:.80}.")
    return given


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
