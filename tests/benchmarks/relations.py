"""What relations over a treebank cost over plain eager passes of the same sentences.

    python -m tests.benchmarks.relations TREEBANK [ROUNDS]

MiniLM, one thread, CPU seconds; the least of the rounds, since other work on the machine only adds.
The plain side runs the model's own eager attention over batches of 8 sentences sorted by length,
tokenized beforehand; ours is `bl.probes.relations` from sentences to table. Reading the treebank is
on neither side. Memory is the process's peak, with torch, the model and the treebank in it.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

import bertlens as bl

BATCH = 8


def cpu(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def sorted_batches(lens: bl.Lens, treebank: bl.probes.Treebank) -> list[dict[str, Tensor]]:
    """Batches for the model, of the tokenizer's own making."""
    tokenized = [
        lens.tokenizer(list(sentence.words), is_split_into_words=True) for sentence in treebank
    ]
    tokenized.sort(key=lambda one: len(one["input_ids"]))
    return [
        dict(lens.tokenizer.pad(tokenized[i : i + BATCH], return_tensors="pt"))
        for i in range(0, len(tokenized), BATCH)
    ]


def plain(lens: bl.Lens, batches: list[dict[str, Tensor]]) -> None:
    """The model's own eager attention."""
    implementation = lens.model.config._attn_implementation
    lens.model.set_attn_implementation("eager")
    try:
        with torch.no_grad():
            for batch in batches:
                lens.model(**batch)
    finally:
        lens.model.set_attn_implementation(implementation)


def main(path: str, rounds: int) -> None:
    torch.set_num_threads(1)
    lens = bl.Lens.demo()
    treebank = bl.probes.read_conllu(path)
    batches = sorted_batches(lens, treebank)
    plain(lens, batches[:20])
    theirs = min(cpu(lambda: plain(lens, batches)) for _ in range(rounds))
    ours = min(
        cpu(lambda: bl.probes.relations(lens, treebank, progress=False).rows) for _ in range(rounds)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"{treebank!r}, least of {rounds} rounds, one thread")
    print(f"plain eager passes  {theirs:7.2f} s")
    print(f"relations           {ours:7.2f} s  {ours / theirs:5.2f} x  peak {peak:,.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
