"""Measures bertlens beside BertViz and prints a table: python -m tests.benchmarks [--only PART]

Needs Chromium; BertViz's columns need `pip install bertviz==1.4.1` and npm. Budgets are goals, not
tests: a busy machine moves wall times, so compare the two sides of one run with each other.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from tests.benchmarks import jupyterlab, kernel, pages
from tests.benchmarks.chromium import FLAGS
from tests.benchmarks.table import Figure, markdown

OUT = Path(__file__).with_name("out")
PARTS = ("kernel", "pages", "jupyterlab")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="measure this part alone")
    parser.add_argument("--trials", type=int, default=5, help="trials of each figure (default 5)")
    parser.add_argument("--without-bertviz", action="store_true", help="leave BertViz out")
    options = parser.parse_args()

    chromium = os.environ.get("BERTLENS_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print("No Chromium: install it, or name it in BERTLENS_CHROMIUM.", file=sys.stderr)
        return 1
    bertviz = not options.without_bertviz
    if bertviz and find_spec("bertviz") is None:
        print("No BertViz: pip install bertviz==1.4.1, or --without-bertviz.", file=sys.stderr)
        return 1
    OUT.mkdir(exist_ok=True)
    figures: list[Figure] = []
    with sync_playwright() as playwright:
        for part in options.only or PARTS:
            print(f"Measuring: {part}", file=sys.stderr)
            figures += measure(part, playwright, chromium, options.trials, bertviz)
    print(markdown(figures))
    return 0


def measure(
    part: str, playwright: Playwright, chromium: str, trials: int, bertviz: bool
) -> list[Figure]:
    """The figures of one part."""
    if part == "kernel":
        return kernel.figures(trials, bertviz)
    if part == "pages":
        return pages.figures(playwright, chromium, trials, OUT if bertviz else None)
    browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
    try:
        return jupyterlab.figures(browser, trials)
    finally:
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
