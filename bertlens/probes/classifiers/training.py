"""Training of a probe: Adam, one sentence a step, cross-entropy over its words (section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from bertlens.probes.classifiers.gold import UNKNOWN, Gold, without_roots
from bertlens.probes.classifiers.word_maps import PairMaps

if TYPE_CHECKING:
    from bertlens.probes.classifiers.attention_probe import AttentionProbe


class Epoch(NamedTuple):
    """A pass over the training sentences: loss a word in nats, and UAS on the development set."""

    loss: float
    dev_uas: float | None


def train(
    probe: AttentionProbe,
    weights: nn.ParameterDict,
    maps: PairMaps,
    golds: Sequence[Gold],
    *,
    dev: PairMaps | None = None,
    progress: bool = True,
) -> list[Epoch]:
    """Fit a probe's weights in place; with `dev` the best epoch's are kept.

    Returns:
        What each epoch came to.
    """
    from tqdm.auto import tqdm

    if not probe.root:
        golds = [without_roots(gold) for gold in golds]
    adam = torch.optim.Adam(weights.parameters(), lr=probe.learning_rate)
    random = np.random.default_rng(probe.seed)
    history: list[Epoch] = []
    best: tuple[float, dict[str, torch.Tensor]] | None = None
    since_best = 0
    with tqdm(total=probe.epochs * len(maps), unit="sentence", disable=not progress) as bar:
        for _ in range(probe.epochs):
            order = random.permutation(len(maps)) if probe.shuffle else range(len(maps))
            loss, n_words = 0.0, 0
            for i in order:
                step = _step(probe, adam, maps, int(i), golds[int(i)])
                loss, n_words = loss + step[0], n_words + step[1]
                bar.update()
            uas = None if dev is None else probe.evaluate(dev).uas
            history.append(Epoch(loss / n_words if n_words else float("nan"), uas))
            if uas is None:
                continue
            if best is None or uas > best[0]:
                best, since_best = (uas, _copy(weights)), 0
            else:
                since_best += 1
                if since_best == probe.patience:
                    break
    if best is not None:
        weights.load_state_dict(best[1])
    return history


def _step(
    probe: AttentionProbe, adam: torch.optim.Adam, maps: PairMaps, index: int, gold: Gold
) -> tuple[float, int]:
    """One sentence; returns its loss, summed over words, and how many words there were."""
    known = np.flatnonzero(gold.heads != UNKNOWN)
    if not len(known):
        return 0.0, 0
    scores = probe.pair_scores(maps.map(index), gold.words)[:, known]
    loss = functional.cross_entropy(scores.T, torch.from_numpy(gold.heads[known]), reduction="sum")
    adam.zero_grad()
    torch.autograd.backward(loss)
    adam.step()
    return float(loss.detach()), len(known)


def _copy(weights: nn.ParameterDict) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in weights.state_dict().items()}
