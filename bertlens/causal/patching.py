"""Activation patching: what a head carries from one text into another (Wang et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bertlens import capture
from bertlens.capture import Call, PatchEdit
from bertlens.capture.gradients import has_masked_lm_head
from bertlens.capture.interrupts import protected
from bertlens.causal.metrics import (
    Measure,
    MetricFunction,
    TextInputs,
    checked,
    metric_of,
    pooled,
    text_inputs,
)
from bertlens.causal.runs import as_matrix, runs
from bertlens.scores.head_scores import HeadScores
from bertlens.text.text_model import TextModel

Part = Literal["output", "pattern"]


@dataclass(frozen=True)
class TextPair:
    """A clean and a corrupted text of equal length, and a measure that tells them apart.

    Attributes:
        measure: of a batch's outputs.
        described: what it is.
        clean_value, corrupted_value: of the two plain runs.
        outputs, weights: of the clean run, by layer: [head, from, value_dim], [head, from, to].
    """

    clean: TextInputs
    corrupted: TextInputs
    measure: Measure
    described: str
    clean_value: float
    corrupted_value: float
    outputs: dict[int, Tensor]
    weights: dict[int, Tensor]

    @property
    def between(self) -> float:
        """The clean value minus the corrupted one."""
        return self.clean_value - self.corrupted_value


@protected
def patching(
    lens: TextModel,
    clean: Any,
    corrupted: Any,
    metric: MetricFunction | None = None,
    *,
    part: Part = "output",
    kind: str | None = None,
    batch_size: int | None = None,
) -> HeadScores:
    """What each head of the clean run restores when it is put into the corrupted one.

    Normalised as by Wang et al. 2022 ("Interpretability in the Wild"): (metric patched - metric
    corrupted) / (metric clean - metric corrupted), so 0 is as corrupted and 1 as clean.

        >>> clean, corrupted = "The cat sat on the mat.", "The dog sat on the mat."
        >>> bl.causal.patching(lens, clean, corrupted).values.shape
        (6, 12)

    Args:
        clean, corrupted: texts of equally many tokens, each as in `Lens.scan`.
        metric: a function of the model's outputs for a batch that returns one number a text,
            [batch]. By default: of classifiers the probability of the label predicted for the clean
            text; of language models the difference of the logits of the two texts' most probable
            next tokens (at the mask, for masked LMs); of models without a head the cosine
            similarity to the clean text's embedding.
        part: "output", the head's output before the output projection; "pattern", its weights,
            with the corrupted run's values.
        kind: of attention; by default the model's first.
        batch_size: copies that run together at most.

    Raises:
        ValueError: texts of different lengths, or that the metric does not tell apart.
        InterventionError: the model's heads cannot be edited.
    """
    if part not in ("output", "pattern"):
        raise ValueError(f'part must be "output" or "pattern", not {part!r}.')
    texts = [text_inputs(lens, text, index=i) for i, text in enumerate((clean, corrupted))]
    check_lengths(*texts)
    with runs(lens, texts[0], kind=kind, rows=batch_size) as held:
        pair = pair_of(lens, held, texts, metric)
        edits = [
            [
                PatchEdit(held.kind, layer, head, output=pair.outputs[layer][head])
                if part == "output"
                else PatchEdit(held.kind, layer, head, weights=pair.weights[layer][head])
            ]
            for layer, head in held.all_heads
        ]
        values = held.measured(pair.corrupted, edits, pair.measure)
    return HeadScores(
        f"patching_{part}",
        as_matrix((values - pair.corrupted_value) / pair.between, held.heads),
        unit="share restored",
        description=f"How much of {pair.described} comes back when the head's {part} is taken from "
        "the clean text: 0 as corrupted, 1 as clean.",
        baseline=0.0,
    )


def check_lengths(clean: TextInputs, corrupted: TextInputs) -> None:
    """Raise a ValueError unless the texts have equally many tokens."""
    for one, other in ((clean.encoding, corrupted.encoding), (clean.target, corrupted.target)):
        if one is not None and other is not None and len(one) != len(other):
            raise ValueError(
                f"The clean text has {len(one)} tokens and the corrupted one {len(other)}, so "
                "heads cannot be exchanged position by position. Choose texts of equally many "
                f"tokens: {_labels(one)} against {_labels(other)}."
            )


def pair_of(
    lens: TextModel, held: Any, texts: Sequence[TextInputs], metric: MetricFunction | None
) -> TextPair:
    """Run both texts as they are and find a measure that tells them apart.

    Raises:
        ValueError: the metric is the same for both.
    """
    outputs: dict[int, Tensor] = {}
    weights: dict[int, Tensor] = {}

    def see(kind: str, layer: int, call: Call, output: Tensor) -> None:
        if kind == held.kind or {kind, held.kind} == {"self", "encoder"}:
            heads = output[0].reshape(output.shape[1], call.query.shape[1], -1)
            outputs[layer] = heads.transpose(0, 1).detach().clone()
            weights[layer] = call.eager()[1][0].detach().clone()

    clean, corrupted = texts
    plain = held.plain(clean, see)
    other = held.plain(corrupted)
    measure, described = _measure(lens, clean, plain, other, metric)
    values = [float(checked(measure(out), 1)[0].detach()) for out in (plain, other)]
    if not np.isfinite(values).all() or values[0] == values[1]:
        raise ValueError(
            f"The metric ({described}) is {values[0]:.6g} for the clean text and {values[1]:.6g} "
            "for the corrupted one, so there is nothing to restore. Choose texts or a metric that "
            "differ."
        )
    return TextPair(clean, corrupted, measure, described, values[0], values[1], outputs, weights)


def _measure(
    lens: TextModel, clean: TextInputs, plain: Any, other: Any, metric: MetricFunction | None
) -> tuple[Measure, str]:
    if metric is not None or capture.answers(lens.model) is not None:
        found = metric_of(lens, metric)
        return found.measure(clean, plain), found.description
    logits = getattr(plain, "logits", None)
    if logits is None:
        first = pooled(plain).detach()
        return (
            lambda out: functional.cosine_similarity(pooled(out), first, dim=-1),
            "the similarity to the clean text's embedding",
        )
    place = -1
    if has_masked_lm_head(lens.model):
        masks = (clean.inputs["input_ids"][0] == lens.tokenizer.mask_token_id).nonzero()
        if len(masks) != 1:
            raise ValueError(
                "A masked LM is patched at one mask token: write it into both texts, or pass "
                "metric=, a function of the model's outputs."
            )
        place = int(masks[0, 0])
    best, rival = (int(torch.argmax(out.logits[0, place])) for out in (plain, other))
    if best == rival:
        return (
            lambda out: out.logits[:, place].float().log_softmax(-1)[:, best],
            "the log-probability of the clean text's next token",
        )
    return (
        lambda out: (out.logits[:, place, best] - out.logits[:, place, rival]).float(),
        "the logit difference of the two texts' next tokens",
    )


def _labels(encoding: Any) -> str:
    return " ".join(repr(token.label) for token in encoding.tokens[:20])
