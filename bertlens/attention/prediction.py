"""What a fine-tuned model says of a text: the label of a classifier, tags, or an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertlens.text.tokens import Token

MOST_SAID = 12
"""A tagger's label names so many tokens; `tags` has them all."""


NEXT_SENTENCE = {0: "is the next sentence", 1: "is a random sentence"}
"""What the two logits of a head for next sentence prediction stand for (Devlin et al. 2019)."""


@dataclass(frozen=True)
class Labelled:
    """A label and how probable the model finds it; of a regression the value, and None."""

    label: str
    probability: float | None

    def __str__(self) -> str:
        return self.label if self.probability is None else f"{self.label} {self.probability:.1%}"


@dataclass(frozen=True)
class Prediction:
    """What the model's task head says.

    Attributes:
        label, probability: of the text, or of the answer, whose label is its text.
        ranked: every label of a classifier, the most probable first.
        tags: of a tagger, one a token; special tokens have None.
        span: of a reader, the first and last token of the answer.
    """

    label: str
    probability: float | None
    ranked: tuple[Labelled, ...] = ()
    tags: tuple[Labelled | None, ...] = ()
    span: tuple[int, int] | None = None

    def __str__(self) -> str:
        return str(Labelled(self.label, self.probability))


def predict(
    about: str | None,
    logits: Mapping[str, Tensor],
    config: Any,
    tokens: Sequence[Token],
    texts: tuple[str, str | None],
    *,
    text: int = 0,
) -> Prediction | None:
    """The prediction for one text of a batch.

    Args:
        about: what the task head says something about, see `capture.answers`.
        logits: [batch, ...] by name.
        config: of the model; gives the names of labels.
        tokens: of the text, which is padded on the right in its batch.
        texts: the text and its pair.
        text: its index in the batch.
    """
    if about == "span" and {"start_logits", "end_logits"} <= set(logits):
        return _answer(logits["start_logits"][text], logits["end_logits"][text], tokens, texts)
    if about not in ("text", "tokens", "next sentence") or "logits" not in logits:
        return None
    names: Mapping[int, str] = getattr(config, "id2label", None) or {}
    if about == "next sentence":
        names = NEXT_SENTENCE
    scores = logits["logits"][text]
    if about == "tokens":
        return _tags(scores[: len(tokens)], names, tokens)
    return _label(scores, names, getattr(config, "problem_type", None))


def _label(scores: Tensor, names: Mapping[int, str], problem: str | None) -> Prediction:
    if len(scores) == 1 and problem != "multi_label_classification":
        return Prediction(f"{float(scores[0]):.3f}", None)
    several = problem == "multi_label_classification"
    chances = scores.sigmoid() if several else scores.softmax(-1)
    order = torch.argsort(chances, descending=True, stable=True).tolist()
    ranked = tuple(Labelled(names.get(i, f"label {i}"), float(chances[i])) for i in order)
    return Prediction(ranked[0].label, ranked[0].probability, ranked)


def _tags(scores: Tensor, names: Mapping[int, str], tokens: Sequence[Token]) -> Prediction:
    chances, best = scores.softmax(-1).max(-1)
    tags = tuple(
        None if token.special else Labelled(names.get(int(i), f"label {int(i)}"), float(chance))
        for token, i, chance in zip(tokens, best, chances, strict=True)
    )
    said = [
        f"{token.label} {tag.label}"
        for token, tag in zip(tokens, tags, strict=True)
        if tag and tag.label != "O"  # outside of any entity
    ]
    more = f" and {len(said) - MOST_SAID} more" if len(said) > MOST_SAID else ""
    return Prediction(", ".join(said[:MOST_SAID]) + more, None, tags=tags)


def _answer(
    starts: Tensor, ends: Tensor, tokens: Sequence[Token], texts: tuple[str, str | None]
) -> Prediction:
    """The most probable span that does not end before it starts; in the second text of a pair."""
    n = len(tokens)
    where = 1 if texts[1] is not None else 0
    allowed = torch.tensor(
        [token.segment == where and not token.special for token in tokens], device="cpu"
    )
    chances = starts[:n].softmax(-1)[:, None] * ends[:n].softmax(-1)[None, :]
    possible = torch.triu(chances) * allowed[:, None] * allowed[None, :]
    first, last = divmod(int(possible.argmax()), n)
    probability = float(possible[first, last])
    begin, end = tokens[first].start, tokens[last].end
    if begin is None or end is None:
        answer = " ".join(token.label for token in tokens[first : last + 1])
    else:
        answer = (texts[where] or "")[begin:end]
    return Prediction(answer, probability, span=(first, last))
