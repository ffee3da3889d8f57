"""Encodings as a batch for a model, padded on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertlens.text.encoding import Encoding


@dataclass(frozen=True)
class Batch:
    """Texts that went through the model together, padded on the right.

    Attributes:
        items: what the iterable gave.
        indices: the place of each in the iterable, from 0.
        encodings: their tokens. The weights of text b are `weights[b, :, :n, :n]` with
            `n = len(encodings[b])`; what lies beyond belongs to padding.
        mask: bool [batch, tokens] on the model's device, true where there is a token.
    """

    items: tuple[Any, ...]
    indices: tuple[int, ...]
    encodings: tuple[Encoding, ...]
    mask: Tensor

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(len(encoding) for encoding in self.encodings)

    def __len__(self) -> int:
        return len(self.encodings)


def token_mask(encodings: Sequence[Encoding]) -> Tensor:
    """Where a batch that is padded on the right has tokens, bool [batch, tokens]."""
    lengths = torch.tensor([len(encoding) for encoding in encodings], device="cpu")
    return torch.arange(int(lengths.max()), device="cpu") < lengths[:, None]


def padded(
    encodings: Sequence[Encoding], *, pad: int | None, targets: Sequence[Encoding] | None = None
) -> dict[str, Tensor]:
    """The model's inputs [batch, tokens], and [batch, target tokens] for a decoder.

    Always padded on the right, whatever the tokenizer's side is: positions then count from the
    first token, and nothing depends on what a text is batched with.

    Args:
        pad: the id of padding, if the tokenizer has one.
    """
    longest = max(len(encoding) for encoding in encodings)
    made = {
        name: _right(
            [encoding.inputs[name] for encoding in encodings],
            longest,
            (pad or 0) if name == "input_ids" else 0,
        )
        for name in encodings[0].inputs
    }
    if any(len(encoding) < longest for encoding in encodings):
        made.setdefault("attention_mask", _mask(encodings))
    if targets is not None:
        longest = max(len(target) for target in targets)
        rows = [target.inputs["input_ids"] for target in targets]
        made["decoder_input_ids"] = _right(rows, longest, pad or 0)
        if any(len(target) < longest for target in targets):
            made["decoder_attention_mask"] = _mask(targets)
    return made


def _right(rows: Sequence[list[int]], longest: int, value: int) -> Tensor:
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows], device="cpu")


def _mask(encodings: Sequence[Encoding]) -> Tensor:
    longest = max(len(encoding) for encoding in encodings)
    return _right([[1] * len(encoding) for encoding in encodings], longest, 0)
