"""What bertlens costs in the kernel: importing, running the model, handing over a view."""

from __future__ import annotations

import gzip
import statistics
import subprocess
import sys
from importlib.resources import files

import torch

from bertlens import Lens
from tests.benchmarks.clock import ratio
from tests.benchmarks.subjects import base_size, minilm, text_of
from tests.benchmarks.table import Figure

SPENT = "import time; start = time.process_time(); {code}; print(time.process_time() - start)"


def figures(trials: int) -> list[Figure]:
    """Import time, bundle size, and a lens's cost over the model's own pass."""
    raw, packed = bundle()
    return [
        Figure("`import bertlens`, CPU", "", "ms", 1000 * import_seconds(trials), budget=50),
        Figure("bundle, raw", "", "kB", raw / 1000, budget=100),
        Figure("bundle, gzip", "", "kB", packed / 1000, budget=35),
        Figure(
            "`lens(text)` over tokenizing and a plain SDPA pass, CPU",
            "MiniLM, 512 tokens",
            "x",
            over_plain(minilm(), trials),
            budget=1.2,
        ),
        Figure(
            "the same",
            "BERT-base size, 512 tokens",
            "x",
            over_plain(base_size(), max(3, trials // 3)),
            budget=1.2,
        ),
    ]


def import_seconds(trials: int) -> float:
    """CPU seconds that `import bertlens` takes in a new interpreter, the median."""
    command = [sys.executable, "-c", SPENT.format(code="import bertlens")]
    runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(trials)]
    return statistics.median(float(run.stdout) for run in runs)


def bundle() -> tuple[int, int]:
    """Bytes of the page's script and style, and the same packed with gzip."""
    static = files("bertlens") / "widgets" / "static"
    parts = [static.joinpath(name).read_bytes() for name in ("widget.js", "widget.css")]
    return sum(map(len, parts)), sum(len(gzip.compress(part)) for part in parts)


def over_plain(lens: Lens, trials: int) -> float:
    """CPU of `lens(text)` as a multiple of tokenizing and running its model without bertlens."""
    text = text_of(512)

    def plain() -> object:
        inputs = lens.tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            return lens.model(**inputs)

    return ratio(lambda: lens(text), plain, trials)
