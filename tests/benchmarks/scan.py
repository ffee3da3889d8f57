"""A scan's cost over a plain eager pass of the same batches, beside the naive way.

    python -m tests.benchmarks.scan [SEGMENTS]

Segments of 128 tokens of MiniLM, one thread, CPU seconds; the least of the rounds, since other work
on the machine only adds. The naive way keeps every map and then measures it with NumPy, as the
paper's code does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import bertlens as bl
from bertlens import capture
from bertlens.corpus.stream import RunSummary, batches
from bertlens.scores import catalogue, patterns
from bertlens.text.token_types import token_types_of

ROUNDS = 3


def segments(lens: bl.Lens, n: int) -> list[tuple[str, str]]:
    """Pairs of 128 tokens: words that are one token each, with punctuation as text has it."""
    words = [
        token
        for token in lens.tokenizer.convert_ids_to_tokens(range(2000, 6000))
        if token.isalpha()
    ]
    random = np.random.default_rng(0)

    def text(length: int) -> str:
        drawn = [str(word) for word in random.choice(words, length)]
        for place in range(9, length, 10):
            drawn[place] = random.choice([".", ","])
        return " ".join(drawn)

    made = [(text(62), text(63)) for _ in range(n)]
    assert {len(lens.encode(*pair)) for pair in made} == {128}
    return made


def cpu(work: Callable[[], Any]) -> float:
    """The least CPU seconds of some rounds."""
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def plain(lens: bl.Lens, texts: list[tuple[str, str]]) -> None:
    """The same batches through the model's own eager attention."""
    implementation = lens.model.config._attn_implementation
    lens.model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            for _, inputs in inputs_of(lens, texts):
                lens.model(**inputs)
    finally:
        lens.model.set_attn_implementation(implementation)


def inputs_of(lens: bl.Lens, texts: list[tuple[str, str]]) -> Any:
    """Batches tokenized beforehand, so that the plain pass is the model's time alone."""
    key = (id(lens), len(texts))
    if key not in _made:
        _made[key] = list(batches(lens, texts, RunSummary()))
    return _made[key]


_made: dict[tuple[int, int], Any] = {}


def naive(lens: bl.Lens, texts: list[tuple[str, str]], *, apart: bool = False) -> None:
    """Collect all maps, then NumPy: ten scores, or the distances."""
    maps, kinds = [], []
    for batch, inputs in inputs_of(lens, texts):
        layers: list[np.ndarray] = []
        capture.stream(lens.model, inputs, lambda _, w, kept=layers: kept.append(w.numpy()))
        maps += list(np.stack(layers, 1))
        kinds += [token_types_of(encoding.tokens, lens.tokenizer) for encoding in batch.encodings]
    for own, kind in zip(maps, kinds, strict=True):
        if apart:
            naive_distances(own.reshape(-1, *own.shape[2:]))
            continue
        cls, sep = np.flatnonzero(kind.cls), np.flatnonzero(kind.sep)
        rest, punctuation = np.flatnonzero(~kind.sep), np.flatnonzero(kind.punctuation)
        for steps in (0, -1, 1):
            patterns.offset(own, steps)
        for columns, rows in ((cls, None), (sep, None), (punctuation, None)):
            patterns.attention_to(own, columns, rows)
        patterns.attention_to(own, sep, sep)
        patterns.attention_to(own, sep, rest)
        entropies = patterns.entropy(own)
        entropies.mean(-1), entropies[..., 0]


def naive_distances(maps: np.ndarray) -> np.ndarray:
    """Every pair of heads, one head against all the others at a time."""
    n = maps.shape[-1]
    smooth = 0.999 * maps.astype(np.float64) + 0.001 / n
    entropies = -(smooth * np.log(smooth)).sum(-1)
    found = np.zeros((len(maps), len(maps)))
    for head, own in enumerate(smooth):
        mixture = (own + smooth) / 2
        mixed = -(mixture * np.log(mixture)).sum(-1)
        found[head] = (mixed - (entropies[head] + entropies) / 2).sum(-1)
    return found


def main(n: int) -> None:
    torch.set_num_threads(1)
    lens = bl.Lens.demo()
    texts = segments(lens, n)
    few = texts[: max(8, n // 16)]
    quiet: dict[str, Any] = {"progress": False}
    plain(lens, texts[:8])
    base = cpu(lambda: plain(lens, texts))
    rows = [
        ("plain eager pass", base / n),
        ("ten scores", cpu(lambda: lens.scan(texts, scores=catalogue.PAPER, **quiet)) / n),
        ("all but distances", cpu(lambda: lens.scan(texts, **quiet)) / n),
        ("ten scores, naive", cpu(lambda: naive(lens, texts)) / n),
    ]
    apart = cpu(lambda: lens.scan(few, scores=["self"], distances=True, **quiet)) / len(few)
    rows.append(("one score and distances", apart))
    rows.append(("distances, naive", cpu(lambda: naive(lens, few[:8], apart=True)) / 8))
    print(f"{n} segments of 128 tokens, {len(few)} for distances; CPU ms a segment, one thread")
    for name, seconds in rows:
        print(f"{name:26}{seconds * 1e3:9.2f} ms{seconds / (base / n):8.2f} x")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
