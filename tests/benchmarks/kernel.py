"""What bertlens costs in the kernel: importing, running the model, handing over a view."""

from __future__ import annotations

import gzip
import json
import statistics
import subprocess
import sys
from importlib.resources import files

import torch

from bertlens import Attention, Lens
from tests.benchmarks import bertviz_page
from tests.benchmarks.bertlens_page import opening, reply
from tests.benchmarks.bertviz_page import RECORDED_512
from tests.benchmarks.clock import Cost, cost, ratio
from tests.benchmarks.subjects import LENGTHS, base_size, eager, minilm, text_of
from tests.benchmarks.table import Figure

SPENT = "import time; start = time.process_time(); {code}; print(time.process_time() - start)"


def figures(trials: int, bertviz: bool) -> list[Figure]:
    """Import time, bundle size, a lens's cost over the model's own pass, handing over a view."""
    raw, packed = bundle()
    return [
        *handing_over(trials, bertviz),
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
    """Bytes of the script and style that every page loads, and the same packed with gzip."""
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


def handing_over(trials: int, bertviz: bool) -> list[Figure]:
    """CPU and memory to make what the page opens with: the view, its state, its first maps."""
    found = []
    for n in LENGTHS:
        attention = minilm()(text_of(n))
        ours = [cost(lambda a=attention: opened(a)) for _ in range(trials)]
        theirs: list[Cost] = []
        if bertviz and n < 512:
            eager(n)
            theirs = [cost(lambda n=n: bertviz_page.html(n)) for _ in range(min(3, trials))]
        recorded = bertviz and n == 512
        cpu, memory = (
            (RECORDED_512["cpu"], RECORDED_512["memory"])
            if recorded
            else (
                statistics.median(one.cpu for one in theirs) if theirs else None,
                max(one.memory for one in theirs) / 2**20 if theirs else None,
            )
        )
        size = f"MiniLM, {n} tokens"
        last = n == 512
        found += [
            Figure(
                "Python CPU to hand over the view, forward pass not counted",
                size,
                "s",
                statistics.median(one.cpu for one in ours),
                0.3 if last else None,
                cpu,
                recorded,
            ),
            Figure(
                "memory gained by it",
                size,
                "MiB",
                max(one.memory for one in ours) / 2**20,
                150 if last else None,
                memory,
                recorded,
            ),
        ]
    return found


def opened(attention: Attention) -> object:
    """The explorer with its state as JSON, and the answer to the page's first request."""
    view = attention.explore()
    state = json.dumps({k: v for k, v in view.get_state().items() if k != "layout"})
    answer = reply(view, opening(view))
    assert len(answer) > len(attention.tokens) ** 2
    return view, state, answer
