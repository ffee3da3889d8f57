"""The output projection of an attention block, found by following the attention output."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.capture.attention_function import Call
from bertlens.capture.raw_scores import per_head
from bertlens.errors import OutOfReachError

CLOSE = 1e-5
"""How well the heads' shares must add up to what the block's projection gives, relative to it."""


ROUNDED = 2e-2
"""The same in half precision and of quantised layers."""


@dataclass(frozen=True)
class Projected:
    """What the heads of a layer write into the block's output; float32 on the CPU.

    Attributes:
        values: f(x_j) = (x_j W_V + b_V) W_O, the value of every token as the head's slice of the
            projection transforms it: [heads, to, hidden].
        bias: the projection's own bias, [hidden]; it belongs to no head.
        output: what the projection gave in the model's own pass, [from, hidden].
    """

    values: Tensor
    bias: Tensor
    output: Tensor


class Follower:
    """Watches which module takes the attention output of each call.

    Use `attended` at every call and `watching` around the model's pass; afterwards `project` gives
    a layer's transformed values.
    """

    def __init__(self) -> None:
        self._pending: tuple[int, Tensor] | None = None
        self._takers: dict[int, list[nn.Module]] = {}
        self._calls: dict[int, tuple[Call, Tensor]] = {}

    def attended(self, layer: int, call: Call, output: Tensor) -> None:
        """Note a call of the attention function and its output [batch, from, heads, value_dim]."""
        flat = output.reshape(*output.shape[:2], -1)
        self._pending = (layer, flat)
        self._calls[layer] = (call, flat)

    @contextmanager
    def watching(self, model: nn.Module) -> Iterator[None]:
        """Look at what every module is given; the hooks go away whatever happens."""
        hooks = [module.register_forward_pre_hook(self._given) for module in model.modules()]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    @property
    def layers(self) -> list[int]:
        """The layers that were followed, in the order of their calls."""
        return list(self._calls)

    def project(self, layer: int, text: int = 0) -> Projected:
        """The transformed values of a layer, for one text of the batch.

        Raises:
            OutOfReachError: no module projects the attention output as it is, for instance
                because the family gates or normalises it first.
        """
        call, flat = self._calls[layer]
        rounding = None
        for module in self._takers.get(layer, ()):
            projected = _projected(call, flat, module, text)
            if isinstance(projected, Projected):
                return projected
            if projected is not None:
                rounding = type(module).__name__, projected
        if rounding is not None:
            raise OutOfReachError(
                f"The output projection ({rounding[0]}) is not linear enough: what the heads "
                f"write adds up to its output only within {rounding[1]:.1%}, as it does where "
                "activations are rounded to 8 bits. So there are no value norms. Load the model "
                "without quantisation, or look at the weights instead."
            )
        raise OutOfReachError(
            f"{type(call.module).__name__} does not hand its attention output straight to a linear "
            "projection, so a head's share of the block's output is not defined and there are no "
            "value norms. Look at the weights instead."
        )

    def _given(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if self._pending is None or not args or not isinstance(args[0], Tensor):
            return
        layer, flat = self._pending
        if args[0].shape != flat.shape or not torch.equal(args[0], flat):
            return
        # BERT's output block takes a residual as well; what is looked for takes this alone.
        if len(args) == 1 and not isinstance(module, nn.Dropout | nn.Identity):
            self._takers.setdefault(layer, []).append(module)


def _is_quantised(module: nn.Module) -> bool:
    """Whether it is a layer of rounded weights, such as Linear8bitLt, or holds one."""
    names = [f"{type(m).__module__}.{type(m).__name__}".lower() for m in module.modules()]
    return any(re.search(r"[48]bit|quant|int8|bitsandbytes|awq|gptq", name) for name in names)


def _projected(call: Call, flat: Tensor, module: nn.Module, text: int) -> Projected | float | None:
    """What `module` makes of each head's values, or None unless it is a projection of them.

    Where it is one but rounds what it is given, by how much the heads' shares miss its output.

    The module is asked rather than read: that holds for nn.Linear, for GPT-2's Conv1D, and for
    adapters and quantised layers around either.
    """
    n_heads = call.query.shape[1]
    width = flat.shape[-1]
    identity = torch.eye(width, dtype=flat.dtype, device=flat.device)
    try:
        rows = module.forward(torch.cat([flat.new_zeros(1, width), identity])[None])[0]
        output = module.forward(flat[text : text + 1])[0]
    except (RuntimeError, TypeError, ValueError, IndexError):
        return None
    if not isinstance(rows, Tensor) or rows.dim() != 2 or output.dim() != 2:
        return None
    rows, output = rows.detach().float().cpu(), output.detach().float().cpu()
    bias, matrix = rows[0], rows[1:] - rows[0]
    values = per_head(call.value[text], n_heads).float().cpu()
    sliced = matrix.reshape(n_heads, width // n_heads, -1)
    together = flat[text].float().cpu() @ matrix + bias
    scale = output.abs().max()
    quantised = _is_quantised(module)
    close = ROUNDED if quantised or flat.dtype != torch.float32 else CLOSE
    off = float((together - output).abs().max())
    if off > close * float(scale.clamp(min=0 if quantised else 1)):
        return off / float(scale.clamp(min=1e-9)) if quantised else None
    return Projected(values @ sliced, bias, output)
