"""How much a loss depends on attention: to each kind of token (paper section 3, Figure 3), and of
each head (Michel et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from bertlens.capture.gradients import Loss, gradients, has_masked_lm_head, masked_lm_class
from bertlens.corpus.stream import RunSummary, encoded
from bertlens.errors import NoLossError
from bertlens.scores.head_scores import HeadScores, Notable, ScoreTable
from bertlens.scores.statistics import RunningStats
from bertlens.text.encoding import Encoding
from bertlens.text.text_model import TextModel
from bertlens.text.token_types import Flags, TokenTypes, token_types_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


KINDS = ("cls", "sep", "punctuation", "other")
"""The kinds of tokens that the paper's Figure 3 tells apart."""


@dataclass(frozen=True)
class Meaning:
    """What a score of importance is called and means."""

    name: str
    description: str
    unit: str = "change of loss"
    notable: Notable = "high"


_MEANINGS = (
    *(
        Meaning(
            f"gradient_{kind}",
            f"How much the loss changes with attention to {what}, mean of |dL/dA| over pairs.",
        )
        for kind, what in zip(KINDS, ("[CLS]", "[SEP]", "'.' and ','", "other tokens"), strict=True)
    ),
    Meaning("gate", "How much the loss changes with a gate on the head's output, mean of |dL/dg|."),
)


class Importance(ScoreTable):
    """Scores `gradient_cls`, `gradient_sep`, `gradient_punctuation`, `gradient_other`, `gate` and
    `gate_normalised`: means over texts, with 95% intervals.

    Attributes:
        coverage: what became of the texts.
    """

    def __init__(self, tally: RunningStats, coverage: RunSummary) -> None:
        scores = tally.scores()
        if "gate" in scores:
            scores["gate_normalised"] = within_layers(scores["gate"])
        super().__init__(scores)
        self.coverage = coverage

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Mean importance by layer, a line for each kind of token (Figure 3).

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from bertlens.scores.figures import layer_means

        return layer_means([self[f"gradient_{kind}"] for kind in KINDS if len(self)], ax, **style)


def by_gradient(
    lens: TextModel,
    texts: Iterable[Any],
    *,
    loss: Loss | None = None,
    mask_rate: float = 0.15,
    reduction: Literal["mean", "sum"] = "mean",
    seed: int = 0,
    truncate: bool = True,
    progress: bool = True,
) -> Importance:
    """How much a loss changes with attention, by kind of token and by head.

    The gradient of the loss by every weight is taken at each text on its own. Of its size, the mean
    over pairs (i, j) is given for each kind of token j; a gate multiplies a head's output, and
    |dL/dgate| = |sum A dL/dA|, as the output is linear in A. `gate_normalised` is divided by the
    l2 norm of its layer, as Michel et al. do before they compare layers.

    Args:
        texts: as in `Lens.scan`.
        loss: a function of the model and its inputs that returns one number. By default the
            masked-LM loss of models that have that head.
        mask_rate: the share of a text's tokens that are masked, at least one; the paper does not
            say its own. All of them become the mask token.
        reduction: of the loss over the masked tokens; the paper does not say.
        seed: of the choice of masked tokens.
        truncate: cut texts that are too long, instead of skipping them.
        progress: show a progress bar.

    Raises:
        NoLossError: no loss is given, and the model predicts no masked tokens.
        NoAttentionError: no gradient can be taken at this model's weights.
        ValueError: a mask rate that is no share.
    """
    from tqdm.auto import tqdm

    if loss is None:
        _check_masked_lm(lens)
    if not 0 < mask_rate <= 1:
        raise ValueError(f"mask_rate must be between 0 and 1, not {mask_rate}.")
    coverage, tally = RunSummary(), RunningStats(_MEANINGS)
    try:
        for index, _, encoding in tqdm(
            encoded(lens, enumerate(texts), coverage, truncate=truncate),
            unit="text",
            disable=not progress,
        ):
            inputs, own_loss = lens.tensors([encoding]), loss
            if own_loss is None:
                inputs, own_loss = masked(lens, encoding, mask_rate, reduction, (seed, index))
            weights, slopes = gradients(lens.model, inputs, own_loss)
            tally = tally.merged(
                _one(token_types_of(encoding.tokens, lens.tokenizer), weights, slopes)
            )
            coverage.counted += 1
    except KeyboardInterrupt:
        coverage.partial = True
    return Importance(tally, coverage)


def masked(
    lens: TextModel,
    encoding: Encoding,
    rate: float,
    reduction: Literal["mean", "sum"],
    seed: tuple[int, int],
) -> tuple[dict[str, Tensor], Loss]:
    """A text with tokens masked, and the loss of predicting them."""
    places = [i for i, token in enumerate(encoding.tokens) if not token.special]
    count = max(1, round(rate * len(places)))
    chosen = np.random.default_rng(seed).choice(places, count, replace=False)
    inputs = lens.tensors([encoding])
    ids = inputs["input_ids"].clone()
    hidden = torch.as_tensor(np.sort(chosen), device=ids.device)
    truth = ids[0, hidden].clone()
    ids[0, hidden] = lens.tokenizer.mask_token_id

    def loss(model: Any, inputs: dict[str, Tensor]) -> Tensor:
        logits = model(**inputs).logits[0, hidden]
        return functional.cross_entropy(logits.float(), truth, reduction=reduction)

    return {**inputs, "input_ids": ids}, loss


def within_layers(score: HeadScores) -> HeadScores:
    """A score divided by the l2 norm of its layer (Michel et al. 2019)."""
    norms = np.sqrt(np.nansum(score.values**2, axis=1, keepdims=True))
    with np.errstate(invalid="ignore"):
        values = score.values / norms
    return HeadScores(
        f"{score.name}_normalised",
        values,
        unit="share of the layer's norm",
        description=f"{score.description} Divided by the l2 norm of the layer.",
        notable=score.notable,
        support=score.support,
    )


def _check_masked_lm(lens: TextModel) -> None:
    if has_masked_lm_head(lens.model):
        if lens.tokenizer.mask_token_id is None:
            raise NoLossError(
                f"The tokenizer of {lens.name} has no mask token. Pass loss=, a function of the "
                "model and its inputs that returns one number."
            )
        return
    name = masked_lm_class(lens.model)
    advice = (
        f"Load {name} (or AutoModelForMaskedLM), or pass loss="
        if name
        else "Its family has none: pass loss="
    )
    raise NoLossError(
        f"{type(lens.model).__name__} has no masked-LM head, so there is no loss to take gradients "
        f"of. {advice}, a function of the model and its inputs that returns one number."
    )


def _one(kinds: TokenTypes, weights: list[Tensor], slopes: list[Tensor]) -> RunningStats:
    """The tally of one text."""
    cls, sep, punctuation = kinds.cls, kinds.sep, kinds.punctuation
    columns: tuple[Flags, ...] = (cls, sep, punctuation, ~(cls | sep | punctuation))
    applies = [bool(flags.any()) for flags in columns] + [True]
    layers = []
    for weight, slope in zip(weights, slopes, strict=True):
        steep = _array(slope)[0]
        values = [
            abs(steep[:, :, flags]).mean((1, 2)) if flags.any() else np.zeros(len(steep))
            for flags in columns
        ]
        values.append(abs((_array(weight)[0] * steep).sum((1, 2))))
        layers.append(np.stack([values, np.square(values)]))
    # Importance has no baseline: even attention changes no loss by itself.
    counts = np.array([applies, np.full(len(applies), np.nan)], dtype=float)
    return RunningStats(_MEANINGS, tuple(layers), counts)


def _array(tensor: Tensor) -> NDArray[np.float64]:
    return tensor.detach().float().cpu().numpy().astype(np.float64)
