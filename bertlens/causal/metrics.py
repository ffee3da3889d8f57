"""What is measured of a model's output: by default what its task head is for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bertlens import capture
from bertlens.capture.gradients import has_masked_lm_head
from bertlens.corpus.stream import RunSummary, encode_item
from bertlens.errors import EmptyTextError, TextTooLongError
from bertlens.scores.head_scores import Notable
from bertlens.text.encoding import Encoding
from bertlens.text.text_model import TextModel

MASK_RATE = 0.15
"""The share of a text's tokens that are masked for a masked LM (Devlin et al. 2019)."""

Measure: TypeAlias = Callable[[Any], Tensor]
"""Takes a model's outputs for a batch, returns one number a text, [batch]."""

MetricFunction: TypeAlias = Callable[..., Tensor]
"""Takes a model's outputs, and if it has a second argument the text's index; returns [batch]."""


@dataclass(frozen=True)
class TextInputs:
    """One text, as the model takes it.

    Attributes:
        index: its place among the texts.
        encoding, target: its tokens; a target for an encoder-decoder.
        inputs: [1, tokens] each.
        run: the inputs that are run, which may have masked tokens.
        measure: for a masked LM, what predicting these tokens measures.
    """

    index: int
    encoding: Encoding
    target: Encoding | None
    inputs: dict[str, Tensor]
    run: dict[str, Tensor]
    measure: Measure | None = None


@dataclass(frozen=True)
class Metric:
    """What is measured, and how a text's own measure is made.

    Attributes:
        name, description, unit: for HeadScores.
        notable: the end of a *change* of it that stands out: "low" where more is better.
        measure: takes a text and the plain model's outputs for it, returns its Measure.
        masks: whether tokens are masked before the pass.
        is_distance: from the plain output, so that its gradient there is zero.
    """

    name: str
    description: str
    unit: str
    notable: Notable
    measure: Callable[[TextInputs, Any], Measure]
    masks: bool = False
    is_distance: bool = False


def metric_of(lens: TextModel, metric: MetricFunction | Metric | None) -> Metric:
    """The Metric that a caller means; by default the one that fits the model's task head.

    Raises:
        TypeError: no function.
    """
    if isinstance(metric, Metric):
        return metric
    if metric is not None:
        if not callable(metric):
            raise TypeError(f"metric must be a function of the model's output, got {metric!r:.80}.")
        return _custom(metric)
    about = capture.answers(lens.model)
    if about is not None:
        return _CLASSIFIERS[about]
    if has_masked_lm_head(lens.model) and lens.tokenizer.mask_token_id is not None:
        return MASKED_LM
    whole: Any = capture.unwrapped(lens.model)
    if hasattr(whole, "can_generate") and whole.can_generate():
        return NEXT_TOKEN
    return EMBEDDING


def texts_of(
    lens: TextModel,
    texts: Iterable[Any],
    metric: Metric,
    summary: RunSummary,
    *,
    truncate: bool = True,
    start: int = 0,
) -> Iterator[TextInputs]:
    """Each text as the model takes it; empty and too long ones are counted in `summary`.

    Of an encoder-decoder that writes, texts are pairs of source and target.

    Raises:
        TypeError: an item is no text.
    """
    for index, item in enumerate(texts, start):
        summary.texts += 1
        try:
            yield text_inputs(lens, item, masks=metric.masks, index=index)
        except EmptyTextError:
            summary.skip("empty", index)
        except TextTooLongError:
            if not truncate:
                summary.skip("too long", index)
                continue
            summary.truncate(index)
            yield text_inputs(lens, item, masks=metric.masks, index=index, truncate=True)


def text_inputs(
    lens: TextModel, item: Any, *, masks: bool = False, index: int = 0, truncate: bool = False
) -> TextInputs:
    """One text; errors as in `texts_of`.

    Args:
        masks: mask some tokens, as for a masked LM.
    """
    target = None
    if lens.reads_target:
        if not (isinstance(item, tuple) and len(item) == 2):
            raise TypeError(
                f"Text {index}: an encoder-decoder needs pairs of source and target, got "
                f"{item!r:.80}."
            )
        encoding = encode_item(lens, item[0], truncate=truncate)
        target = lens.encode_target(item[1], truncate=truncate)
    else:
        encoding = encode_item(lens, item, truncate=truncate)
        target = lens.encode_again(encoding) if lens.translates else None
    inputs = lens.tensors([encoding], None if target is None else [target])
    if not masks:
        return TextInputs(index, encoding, target, inputs, inputs)
    places = [i for i, token in enumerate(encoding.tokens) if not token.special]
    n = max(1, round(MASK_RATE * len(places)))
    chosen = np.sort(np.random.default_rng((0, index)).choice(places, n, replace=False))
    hidden = torch.as_tensor(chosen, device=lens.device)
    ids = inputs["input_ids"].clone()
    truth = ids[0, hidden].clone()
    ids[0, hidden] = lens.tokenizer.mask_token_id

    def measure(outputs: Any) -> Tensor:
        logits = outputs.logits[:, hidden].float().log_softmax(-1)
        own: Tensor = logits.gather(-1, truth.expand(len(logits), -1)[..., None])[..., 0].mean(-1)
        return own

    return TextInputs(index, encoding, target, inputs, {**inputs, "input_ids": ids}, measure)


def checked(values: Any, batch: int) -> Tensor:
    """Values [batch] of a caller's metric.

    Raises:
        TypeError: another shape, or no tensor.
    """
    if isinstance(values, Tensor) and values.dim() == 0 and batch == 1:
        return values[None]
    if not isinstance(values, Tensor) or values.shape != (batch,):
        got = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
        raise TypeError(
            f"The metric must return one number for each text of the batch, shape ({batch},); got "
            f"{got}. For the class probability of a classifier: "
            "lambda out: out.logits.softmax(-1)[:, 1]."
        )
    return values


def _custom(function: MetricFunction) -> Metric:
    parameters = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]

    def measure(text: TextInputs, _: Any) -> Measure:
        return (lambda out: function(out, text.index)) if len(parameters) > 1 else function

    name = getattr(function, "__name__", "metric")
    name = "metric" if name == "<lambda>" else name
    return Metric(name, f"{name} of the model's output", "", "low", measure)


def _label_probability(_: TextInputs, plain: Any) -> Measure:
    if plain.logits.shape[-1] == 1:
        return lambda out: out.logits[:, 0].float()
    label = int(plain.logits[0].argmax())
    return lambda out: out.logits.float().softmax(-1)[:, label]


def _tag_probability(text: TextInputs, plain: Any) -> Measure:
    places = [i for i, token in enumerate(text.encoding.tokens) if not token.special]
    tags = plain.logits[0, places].argmax(-1)

    def measure(out: Any) -> Tensor:
        chances = out.logits[:, places].float().softmax(-1)
        own: Tensor = chances.gather(-1, tags.expand(len(chances), -1)[..., None])[..., 0].mean(-1)
        return own

    return measure


def _span_probability(_: TextInputs, plain: Any) -> Measure:
    start, end = int(plain.start_logits[0].argmax()), int(plain.end_logits[0].argmax())

    def measure(out: Any) -> Tensor:
        starts, ends = out.start_logits.float().softmax(-1), out.end_logits.float().softmax(-1)
        own: Tensor = starts[:, start] * ends[:, end]
        return own

    return measure


def _next_token_divergence(_: TextInputs, plain: Any) -> Measure:
    log_p = plain.logits.detach().float().log_softmax(-1)

    def measure(out: Any) -> Tensor:
        log_q = out.logits.float().log_softmax(-1)
        own: Tensor = (log_p.exp() * (log_p - log_q)).sum(-1).mean(-1)
        return own

    return measure


def _next_token_log_probability(text: TextInputs, _: Any) -> Measure:
    # A decoder predicts its own next token, a causal model the text's.
    ids = text.inputs["input_ids" if text.target is None else "decoder_input_ids"][0, 1:]

    def measure(out: Any) -> Tensor:
        log_p = out.logits[:, :-1].float().log_softmax(-1)
        own: Tensor = log_p.gather(-1, ids.expand(len(log_p), -1)[..., None])[..., 0].mean(-1)
        return own

    return measure


def pooled(out: Any) -> Tensor:
    """The mean of the last hidden states over one text's tokens, [batch, hidden]."""
    return out.last_hidden_state.float().mean(1)  # type: ignore[no-any-return]


def _embedding_distance(_: TextInputs, plain: Any) -> Measure:
    first = pooled(plain).detach()
    return lambda out: 1 - functional.cosine_similarity(pooled(out), first, dim=-1)


def _masked_log_probability(text: TextInputs, _: Any) -> Measure:
    assert text.measure is not None
    return text.measure


_CLASSIFIERS = {
    "text": Metric(
        "label_probability",
        "the probability of the label that the model predicts",
        "probability",
        "low",
        _label_probability,
    ),
    "next sentence": Metric(
        "label_probability",
        "the probability of what the model says of the pair",
        "probability",
        "low",
        _label_probability,
    ),
    "tokens": Metric(
        "tag_probability",
        "the probability of the tags that the model predicts, mean over tokens",
        "probability",
        "low",
        _tag_probability,
    ),
    "span": Metric(
        "span_probability",
        "the probability of the span that the model predicts",
        "probability",
        "low",
        _span_probability,
    ),
}
MASKED_LM = Metric(
    "masked_log_probability",
    "the log-probability of the original tokens where they are masked, mean over them",
    "nats",
    "low",
    _masked_log_probability,
    masks=True,
)
NEXT_TOKEN = Metric(
    "next_token_divergence",
    "the KL divergence of the next-token distributions from the plain model's, mean over positions",
    "nats",
    "high",
    _next_token_divergence,
    is_distance=True,
)
NEXT_TOKEN_LOG_PROBABILITY = Metric(
    "next_token_log_probability",
    "the log-probability of the text's own next tokens, mean over positions",
    "nats",
    "low",
    _next_token_log_probability,
)
EMBEDDING = Metric(
    "embedding_distance",
    "the cosine distance of the mean-pooled embedding from the plain model's",
    "cosine distance",
    "high",
    _embedding_distance,
    is_distance=True,
)
