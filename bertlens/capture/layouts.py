"""What a model returns as attention, turned into weights [batch, heads, from, to].

Most families return the weights themselves. Some return them padded, in bands or in blocks, or the
scores before the softmax; each form carries a note for the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.errors import NoAttentionError

MAX_DENSE_TOKENS = 4096
"""Tokens up to which a band or blocks are expanded; a larger dense matrix is refused."""


@dataclass(frozen=True)
class Sizes:
    """How long a text is, and the widths that a family's config gives.

    Attributes:
        source, target: tokens; None where the inputs are not tokens.
        window: of each layer, both sides together.
    """

    source: int | None
    target: int | None
    window: tuple[int, ...]

    @classmethod
    def of(cls, body: nn.Module, inputs: Mapping[str, Any]) -> Sizes:
        config = getattr(body, "config", None)
        window = getattr(config, "attention_window", None) or getattr(config, "local_radius", None)
        widths = tuple(window) if isinstance(window, list | tuple) else (int(window or 0),)
        return cls(_length(inputs, "input_ids"), _length(inputs, "decoder_input_ids"), widths)

    def shape(self, kind: str) -> tuple[int | None, int | None]:
        """How many tokens attend and are attended to."""
        source, target = self.source, self.target
        if kind == "cross":
            return target, source
        return (target, target) if kind == "decoder" else (source, source)


def _length(inputs: Mapping[str, Any], name: str) -> int | None:
    tensor = inputs.get(name)
    return int(tensor.shape[-1]) if isinstance(tensor, Tensor) and tensor.dim() == 2 else None


Dense = Callable[[Tensor, Sizes, str, int], Tensor]


@dataclass(frozen=True)
class Form:
    """A way to weights; `note` tells the reader about it."""

    dense: Dense
    note: str = ""


def _as_is(tensor: Tensor, sizes: Sizes, kind: str, layer: int) -> Tensor:
    return tensor


def _softmax(tensor: Tensor, sizes: Sizes, kind: str, layer: int) -> Tensor:
    return tensor.softmax(-1)


def _main_stream(tensor: Tensor, sizes: Sizes, kind: str, layer: int) -> Tensor:
    """ProphetNet: rows of the tokens, then those of what it predicts from each; raw scores."""
    return tensor[..., : sizes.target, :].softmax(-1)


def _cropped(tensor: Tensor, sizes: Sizes, kind: str, layer: int) -> Tensor:
    rows, columns = sizes.shape(kind)
    return tensor[..., :rows, :columns]


def _from_band(tensor: Tensor, sizes: Sizes, kind: str, layer: int) -> Tensor:
    """Longformer: row i holds the weights to tokens i - w ... i + w."""
    width = sizes.window[min(layer, len(sizes.window) - 1)] // 2
    n = sizes.shape(kind)[0] or tensor.shape[2]
    if tensor.shape[-1] != 2 * width + 1:
        raise NoAttentionError(
            f"The model gives some tokens global attention ({tensor.shape[-1]} columns in a band "
            f"of {2 * width + 1}), which does not fit one matrix. Task heads set it by themselves: "
            "make the Lens of the model without its head (model.base_model), and leave out "
            "global_attention_mask."
        )
    check_dense(n)
    dense = tensor.new_zeros((*tensor.shape[:2], n, n))
    for offset in range(-width, width + 1):
        rows = torch.arange(max(0, -offset), min(n, n - offset), device="cpu")
        if len(rows):
            dense[:, :, rows, rows + offset] = tensor[:, :, rows, offset + width]
    return dense


def _from_blocks(tensor: Tensor, sizes: Sizes, kind: str, layer: int) -> Tensor:
    """LongT5: [batch, block, heads, row in block, column in the blocks before, here and after]."""
    batch, blocks, heads, length, _ = tensor.shape
    n = sizes.shape(kind)[0] or blocks * length
    check_dense(n)
    spread = tensor.new_zeros((batch, heads, blocks * length, (blocks + 2) * length))
    for block in range(blocks):
        rows = slice(block * length, (block + 1) * length)
        columns = slice(block * length, (block + 3) * length)
        spread[:, :, rows, columns] = tensor[:, block, ..., : 3 * length]
    return spread[:, :, :n, length : length + n]


def check_dense(n: int) -> None:
    """Make sure that a matrix of zeros outside of a band or blocks is of a bearable size.

    Raises:
        NoAttentionError: it is not.
    """
    if n > MAX_DENSE_TOKENS:
        raise NoAttentionError(
            f"The model attends within a band or blocks, and a dense matrix of {n} tokens would be "
            f"too large: at most {MAX_DENSE_TOKENS} are shown. Give a shorter text or window=..."
        )


FORMS = {
    "as is": Form(_as_is),
    "softmax": Form(
        _softmax, "The model returns scores before the softmax; their softmax is shown."
    ),
    "cropped": Form(_cropped),
    "main stream": Form(
        _main_stream,
        "The model looks at the source from several streams; the main one is shown, as the softmax "
        "of the scores that the model returns.",
    ),
    "band": Form(
        _from_band, "The model attends within a band around each token; beyond it weights are 0."
    ),
    "blocks": Form(
        _from_blocks,
        "The model attends to neighbouring blocks; beyond them weights are 0, and what goes to "
        "its global summaries is left out.",
    ),
}

_OF_FAMILY = {
    ("squeezebert", "self"): "softmax",
    ("prophetnet", "encoder"): "softmax",
    ("prophetnet", "cross"): "main stream",
    ("big_bird", "self"): "cropped",
    ("bigbird_pegasus", "encoder"): "cropped",
    ("longformer", "self"): "band",
    ("led", "encoder"): "band",
    ("longt5", "encoder"): "blocks",
}


def form_of(body: nn.Module, kind: str, tensor: Tensor) -> str | None:
    """The name of the form in which a family returns a kind; None if it is not weights."""
    family = getattr(getattr(body, "config", None), "model_type", "")
    named = _OF_FAMILY.get((family, kind))
    if named is None and kind == "self":  # an encoder alone
        named = _OF_FAMILY.get((family, "encoder"))
    if named is not None and not (named == "blocks" and tensor.dim() != 5):
        return named
    # A kind of several sizes, as pooling models have, may go from few to many tokens.
    staged = kind[-1].isdigit()
    square = "cross" in kind.split() or staged or tensor.shape[-1] == tensor.shape[-2]
    return "as is" if tensor.dim() == 4 and square and are_weights(tensor) else None


def are_weights(tensor: Tensor) -> bool:
    """Whether no number is negative and no row sums to more than one (sinks take their share)."""
    numbers = tensor.detach().float().nan_to_num()
    return bool(numbers.min() >= -1e-6) and bool(numbers.sum(-1).max() <= 1 + 1e-2)
