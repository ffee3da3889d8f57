"""Mean outputs of heads over reference texts, for ablation by the mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from bertlens import capture
from bertlens.corpus.stream import RunSummary, batches
from bertlens.text.text_model import TextModel


def mean_outputs(
    lens: TextModel, texts: Iterable[Any], *, kind: str, batch_size: int | None = None
) -> list[Tensor]:
    """Each layer's mean head outputs [head, value_dim] over all positions of the texts, float32.

    Padding does not count, special tokens do.

    Raises:
        ValueError: no text could be read.
    """
    sums: dict[int, Tensor] = {}
    counts: dict[int, float] = defaultdict(float)

    def see(_: str, layer: int, output: Tensor, counted: Tensor) -> None:
        among = counted.to(output.device)[..., None, None]
        total = (output.double() * among).sum((0, 1)).cpu()
        sums[layer] = sums[layer] + total if layer in sums else total
        counts[layer] += float(counted.sum())

    for _, inputs in batches(lens, texts, RunSummary(), batch_size=batch_size):
        capture.head_outputs(lens.model, inputs, see, kind=kind)
    if not sums:
        raise ValueError("texts= holds no text to take a mean over: give at least one.")
    return [(sums[layer] / counts[layer]).to(torch.float32) for layer in sorted(sums)]
