"""First paint, layer switch, hover and memory on a plain page, beside BertViz's head view.

bertlens opens with one head on, BertViz with all: both are measured as they open, and bertlens
with all heads too. Trials of the two sides take turns.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Playwright

from bertlens import Lens
from tests.benchmarks import bertviz_page
from tests.benchmarks.bertlens_page import HOVER_STEP, served, switch
from tests.benchmarks.chromium import Subject, visit
from tests.benchmarks.subjects import LENGTHS, base_size, minilm, text_of
from tests.benchmarks.table import Figure

Seen = dict[str, float]
FIRST_PAINT = {128: (250, 100)}
HOVER = {128: 8, 512: 16}
SLOW = 256
"""From this length on BertViz takes minutes a trial: it gets one."""


def figures(
    playwright: Playwright, chromium: str, trials: int, bertviz: Path | None
) -> list[Figure]:
    """Figures for MiniLM at every length, and for a model of BERT-base's size at 512 tokens."""
    empty = Subject("data:text/html,<!doctype html><body>", ready="document.body")
    blank = medians(repeated(trials, lambda: visit(playwright, chromium, empty)))
    found = [
        Figure("first paint of an empty page", "", "ms", blank["first paint"]),
        Figure("the same, main-thread CPU", "", "ms", blank["first paint cpu"]),
        Figure("of it, before there was a page", "", "ms", blank["start cpu"]),
    ]
    for n in LENGTHS:
        ours = repeated(trials, lambda n=n: page_of(playwright, chromium, minilm(), n, [0]))
        every = list(range(12))
        full: list[Seen] = []
        theirs: list[Seen] = []
        subject = bertviz_page.subject(n, bertviz) if bertviz and n < 512 else None
        for trial in range(trials):
            full.append(page_of(playwright, chromium, minilm(), n, every))
            if subject and (trial == 0 or n < SLOW):
                theirs.append(visit(playwright, chromium, subject))
        recorded = bertviz is not None and n == 512
        other = bertviz_page.RECORDED_512 if recorded else medians(theirs)
        found += rows(n, medians(ours), medians(full), other, recorded)
    walked = repeated(trials, lambda: walk(playwright, chromium, base_size(), 512))
    found += memory_rows(medians(walked), blank)
    return found


def repeated(trials: int, trial: Callable[[], Seen]) -> list[Seen]:
    """The results of several trials."""
    return [trial() for _ in range(trials)]


def medians(trials: list[Seen]) -> Seen:
    """The median of each figure over trials; empty without any."""
    return (
        {key: statistics.median(one[key] for one in trials) for key in trials[0]} if trials else {}
    )


def page_of(playwright: Playwright, chromium: str, lens: Lens, n: int, heads: list[int]) -> Seen:
    """One visit to bertlens on `n` tokens: layers new and cached, and hovering."""
    view = lens.explore(text_of(n), heads=heads)
    # The layers beside the one shown are fetched when idle: 3 and 5 are new when first gone to.
    steps = {"switch": switch(3, 5), "cached": switch(3, 5), "hover": HOVER_STEP}
    with served(view) as subject:
        seen = visit(playwright, chromium, replace(subject, steps=steps, repeats=2))
    view.close()
    return seen


def walk(playwright: Playwright, chromium: str, lens: Lens, n: int) -> Seen:
    """One visit with all heads on that goes through every layer, for what memory it takes."""
    view = lens.explore(text_of(n), heads=list(range(12)))
    layers = list(range(lens.model.config.num_hidden_layers))
    steps = {"switch": switch(*layers), "hover": HOVER_STEP}
    with served(view) as subject:
        seen = visit(playwright, chromium, replace(subject, steps=steps, repeats=len(layers)))
    view.close()
    return seen


def rows(n: int, ours: Seen, full: Seen, theirs: Seen, recorded: bool) -> list[Figure]:
    """The table's lines for one length."""

    def line(
        what: str, key: str, seen: Seen, unit: str = "ms", budget: float | None = None
    ) -> Figure:
        other = theirs.get(key)
        return Figure(what, size, unit, seen[key], budget, other, recorded)

    wall, cpu = FIRST_PAINT.get(n, (None, None))
    size = f"MiniLM, {n} tokens"
    payload = 1e6 if n == 512 else None
    return [
        line("bytes before first paint, as opened", "bytes", ours, "B", payload),
        line("first paint, as opened", "first paint", ours, budget=wall),
        line("the same, main-thread CPU", "first paint cpu", ours, budget=cpu),
        line("first paint, all 12 heads", "first paint", full),
        line("layer switch, all 12 heads", "switch paint", full),
        line("the same, layer cached", "cached paint", full),
        line("hover, script", "hover script", full, budget=HOVER.get(n)),
        line("hover, painted", "hover paint", full),
        line("a no-op step", "nothing paint", full),
    ]


def memory_rows(seen: Seen, blank: Seen) -> list[Figure]:
    """What exploring every layer of a large model holds on to, beyond what an empty page does."""
    size = "BERT-base size, 512 tokens"
    what = "after a walk through all layers with all heads"
    return [
        Figure(
            f"renderer memory gained {what}",
            size,
            "MiB",
            seen["memory"] - blank["memory"],
            budget=150,
        ),
        Figure("JS heap, buffers included", size, "MiB", seen["heap"], budget=150),
    ]
