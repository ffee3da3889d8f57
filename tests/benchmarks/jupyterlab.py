"""bertlens in a real JupyterLab: switching layers, and how fast a click reaches elsewhere."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page

from tests.benchmarks.chromium import NOTHING, STEP, Step
from tests.benchmarks.subjects import text_of
from tests.benchmarks.table import Figure
from tests.browser.jupyter import Lab, Notebook, running_lab

CELLS = (
    "import time\n"
    "import torch\n"
    "import bertlens as bl\n"
    "torch.set_num_threads(1)\n"
    "view = bl.Lens.demo().explore({text!r}, heads=list(range(12)))\n"
    "arrived = []\n"
    "view.observe(lambda change: arrived.append(time.time()), 'token')",
    "view",
    "view.head_view()",
)
MENU = (
    "[...document.querySelector('.bl-pane-head').querySelectorAll('label')]"
    ".find((label) => label.firstChild.textContent.trim() === 'layer').querySelector('select')"
)
HEADS = ",".join(map(str, range(12)))
TEXTS = 3
BUDGETS = {128: (80, 50), 512: (200, 60)}


def figures(browser: Browser, trials: int) -> list[Figure]:
    """Layer switches of all 12 heads, and clicks, with the kernel idle."""
    found = []
    with TemporaryDirectory() as folder, running_lab(Path(folder)) as lab:
        for n, (fresh, cached) in BUDGETS.items():
            times = [switching(browser, lab, n) for _ in range(trials)]
            nothing, asked, first, again = map(statistics.median, zip(*times, strict=True))
            size = f"all 12 heads, {n} tokens"
            found += [
                Figure("a no-op step in JupyterLab", size, "ms", nothing),
                Figure("layer switch, nothing fetched ahead", size, "ms", asked, budget=fresh),
                Figure("layer switch, as it comes to people", size, "ms", first),
                Figure("layer switch, layer cached", size, "ms", again, budget=cached),
            ]
        reach = [clicking(browser, lab) for _ in range(trials)]
        python, other = map(statistics.median, zip(*reach, strict=True))
        size = "128 tokens"
        found += [
            Figure("a click reaches Python", size, "ms", python, budget=20),
            Figure("a click is drawn in another cell", size, "ms", other, budget=100),
        ]
    return found


@contextmanager
def opened(browser: Browser, lab: Lab, n: int, *, sibling: bool) -> Iterator[tuple[Page, Notebook]]:
    """A new page and kernel with the explorer on `n` tokens; `sibling`: a head view below it."""
    context = browser.new_context(viewport={"width": 1400, "height": 2400})
    page = context.new_page()
    cells = (CELLS[0].format(text=text_of(n)), *CELLS[1 : 3 if sibling else 2])
    notebook = Notebook(page, lab, lab.write(f"bench{n}.ipynb", *cells))
    notebook.run_all()
    assert notebook.errors() == []
    for pane in range(2 if sibling else 1):
        page.wait_for_function(painted(0, pane))
    page.evaluate("void (window.whenIdle = requestIdleCallback)")
    yield page, notebook
    notebook.close()
    context.close()


def painted(layer: int, pane: int = 0) -> str:
    """Whether a head view shows all heads of this layer."""
    panes = f"document.querySelectorAll('.bl-pane-head')[{pane}]"
    return f"{panes}?.dataset.painted?.endsWith(':{layer}:{HEADS}')"


def to_layer(layer: int) -> Step:
    """The page's own menu, as a person would use it."""
    act = f"(({MENU}).value = '{layer}', ({MENU}).dispatchEvent(new Event('change')))"
    return Step(act, painted(layer))


def switching(browser: Browser, lab: Lab, n: int) -> tuple[float, float, float, float]:
    """Milliseconds to paint: a no-op, a layer asked of the kernel, one seen first, one seen again.

    Every layer of the model is new once with each text, so one page runs several texts. While the
    page is idle it fetches layers ahead; for half of the texts it never gets to that.
    """
    nothing: list[float] = []
    asked: list[float] = []
    first: list[float] = []
    again: list[float] = []
    with opened(browser, lab, n, sibling=False) as (page, notebook):
        for text in range(2 * TEXTS):
            ahead = text % 2 == 0
            idle = "window.whenIdle" if ahead else "() => 0"
            page.evaluate(f"void (window.requestIdleCallback = {idle})")
            if text:
                run(page, notebook, text_of(n, text))
            settle(page)
            nothing.append(timed(page, NOTHING))
            for layer in (3, 5):
                (first if ahead else asked).append(timed(page, to_layer(layer)))
                settle(page)
            for layer in (3, 5, 3, 5):
                again.append(timed(page, to_layer(layer)))
            timed(page, to_layer(0))
    made = map(statistics.median, (nothing, asked, first, again))
    return next(made), next(made), next(made), next(made)


def timed(page: Page, step: Step) -> float:
    """Milliseconds from a step to its paint."""
    return float(page.evaluate(STEP, [step.code, step.done])["paint"])


def run(page: Page, notebook: Notebook, text: str) -> None:
    """Another text in the same view, drawn."""
    generation = notebook.python("view.generation")
    notebook.python(f"setattr(view, 'text', {text!r})")
    head = "document.querySelector('.bl-pane-head')"
    page.wait_for_function(f"{head}.dataset.painted?.startsWith('{generation + 1}:')")


def clicking(browser: Browser, lab: Lab) -> tuple[float, float]:
    """Milliseconds from a click on a token to Python's observer, and to the other cell's paint."""
    click = """async (index) => {
      const [here, there] = document.querySelectorAll(".bl-pane-head");
      const start = performance.timeOrigin + performance.now();
      here.querySelector(`[data-side=from][data-index="${index}"]`).click();
      while (there.dataset.hover !== `from:${index}`) await new Promise(requestAnimationFrame);
      return [start, performance.timeOrigin + performance.now()];
    }"""
    with opened(browser, lab, 128, sibling=True) as (page, notebook):
        settle(page)
        python, other = [], []
        for index in range(10, 20):
            start, drawn = page.evaluate(click, index)
            notebook.becomes("view.token", index)
            python.append(1000 * notebook.python("arrived[-1]") - start)
            other.append(drawn - start)
            settle(page)
    return statistics.median(python), statistics.median(other)


def settle(page: Page) -> None:
    """Wait until the page has been idle, so that what it fetches ahead is here."""
    page.evaluate("() => new Promise((resolve) => setTimeout(() => whenIdle(resolve), 500))")
