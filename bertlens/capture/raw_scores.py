"""The scores that a family's eager function passes to its softmax, and their parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from bertlens.capture.attention_function import Call
from bertlens.errors import OutOfReachError

_SOFTMAXES = {torch.nn.functional.softmax, torch.softmax, Tensor.softmax}


@dataclass(frozen=True)
class Scores:
    """A layer's scores before the softmax, and their parts; float32 on the CPU.

    total = dot * scale + cap + position_bias + mask + other, and weights = softmax(total), or
    softmax of total and one more column, the sink, where the family has one.

    Attributes:
        total: [heads, from, to].
        dot: queries times keys, [heads, from, to].
        scale: what the dot products are multiplied with.
        cap: what the soft cap takes away or adds, or None.
        position_bias, mask: what is added, [heads or 1, from or 1, to], or None.
        other: what else the family's function does to a score, or None where that is nothing.
        sink: [heads, from], or None.
    """

    total: Tensor
    dot: Tensor
    scale: float
    cap: Tensor | None
    position_bias: Tensor | None
    mask: Tensor | None
    other: Tensor | None
    sink: Tensor | None


def scores_before_softmax(call: Call, text: int = 0) -> Scores:
    """The scores of a stored call (or a `part` of one), for one text of its batch.

    The total is read off the family's own eager function as it calls softmax, so it holds whatever
    a family does to its scores; the parts that are known by name are worked out beside it.

    Raises:
        OutOfReachError: the family's function makes its weights without a softmax.
    """
    with torch.no_grad():
        seen = _softmax_input(call)[text]
        width = call.key.shape[-2]
        # In the model's dtype: half precision rounds its scores, and so must the parts.
        key = per_head(call.key[text], call.query.shape[1])
        dot = (call.query[text] @ key.transpose(1, 2)).float().cpu()
        scale = call.options.get("scaling")
        scale = _default_scale(call) if scale is None else float(scale)
        known = dot * scale
        cap = _softcap(call)
        capped = None if cap is None else torch.tanh(known / cap) * cap - known
        bias = _added(call.options.get("position_bias"), text, width)
        mask = _added(call.mask, text, width)
        for part in (capped, bias, mask):
            known = known if part is None else known + part
        total, sink = seen[..., :width], None
        if seen.shape[-1] == width + 1:
            # Families with a sink take the row's maximum off first, which changes no weight.
            shift = (total - known).gather(-1, total.argmax(-1, keepdim=True))
            total, sink = total - shift, (seen[..., -1:] - shift)[..., 0]
    return Scores(total, dot, scale, capped, bias, mask, _rest(total, known), sink)


def per_head(states: Tensor, n_heads: int) -> Tensor:
    """Keys or values of grouped heads, repeated for each query head: [heads, tokens, dim]."""
    return states.repeat_interleave(n_heads // states.shape[0], dim=0)


def _softmax_input(call: Call) -> Tensor:
    width = call.key.shape[-2]
    with _Softmaxes() as softmaxes:
        call.eager(call.key.new_zeros((*call.key.shape[:-1], 1)))
    scores_in = [x for x in softmaxes.inputs if x.shape[-1] in (width, width + 1)]
    if len(scores_in) != 1:
        raise OutOfReachError(
            f"{type(call.module).__name__} computes its weights with {len(scores_in)} softmax "
            "calls over tokens where one is expected, so no scores before the softmax can be shown."
        )
    scores: Tensor = scores_in[0].float().cpu()
    return scores


class _Softmaxes(TorchFunctionMode):
    """Notes what softmax is called on while it is entered, on this thread only."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in _SOFTMAXES:
            self.inputs.append(args[0] if args else kwargs["input"])
        return func(*args, **(kwargs or {}))


def _default_scale(call: Call) -> float:
    own = getattr(call.module, "scaling", None)
    return float(own) if isinstance(own, int | float) else float(call.query.shape[-1] ** -0.5)


def _softcap(call: Call) -> float | None:
    cap = call.options.get("softcap")
    return None if cap is None else float(cap)


def _added(part: Any, text: int, width: int) -> Tensor | None:
    """A mask or position bias of one text: [heads or 1, from or 1, to]; None if absent."""
    if not isinstance(part, Tensor):
        return None
    return part[text if len(part) > 1 else 0, ..., :width].float().cpu()


def _rest(total: Tensor, known: Tensor) -> Tensor | None:
    rest = total - known
    # Masked scores are about -3e38, where the smallest step is larger than any score.
    rest = torch.where(known < -1e30, torch.zeros_like(rest), rest)
    loose = 1e-4 * known[known > -1e30].abs().max().clamp(min=1)
    return rest if bool(rest.abs().max() > loose) else None
