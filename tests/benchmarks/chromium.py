"""A page in a fresh Chromium: first paint, steps, CPU of the renderer's main thread, memory.

First paint is the second animation frame after `ready` first holds, counted from when the browser
goes to the page; a step is timed from just before it to the animation frame after the one that
shows it: `done` holds once it has been drawn. On a shared machine CPU seconds are steadier than
wall times, so both are kept.

A browser that has just started is left to come to rest first: it loads pages of its own then, in
other renderers, and those take half a second from a machine with two cores. CPU counts from when
the renderer started; what of it was spent before there was a page is given apart.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Dialog, Page, Playwright, Route

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
]
# `holds` is looked at whenever the document changes, so that no frame passes before it is seen.
WHEN = """
(holds, then) => {
  if (holds()) return then();
  const observer = new MutationObserver(() => {
    if (!holds()) return;
    observer.disconnect();
    then();
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true });
}
"""
# A dialog holds the main thread still until it is answered: time to read what CPU it has spent.
WATCH = """
(() => {
  const ready = () => { try { return !!(%s) } catch { return false } };
  const painted = (resolve) => {
    const at = performance.now();
    alert("painted");
    resolve(at);
  };
  window.painting = new Promise((resolve) => (%s)(
    () => ready() && (window.readyAt ??= performance.now()),
    () => requestAnimationFrame(() => requestAnimationFrame(() => painted(resolve)))));
})()
"""
# What a frame's own callbacks draw is painted with that frame, what is drawn between two frames
# with the second: `during` tells which it is.
STEP = f"""
([code, done]) => new Promise((resolve, reject) => {{
  setTimeout(() => reject(new Error(`not drawn in two minutes: ${{code}}`)), 120_000);
  const isDone = new Function(`return ${{done}}`);
  let [during, over] = [false, false];
  const frame = () => {{
    if (over) return;
    during = true;
    scheduler.postTask(() => {{ during = false }}, {{ priority: "user-blocking" }});
    requestAnimationFrame(frame);
  }};
  requestAnimationFrame(frame);
  const start = performance.now();
  (0, eval)(code);
  const script = performance.now() - start;
  const painted = () => {{
    over = true;
    resolve({{ script, paint: performance.now() - start }});
  }};
  const next = () => requestAnimationFrame(painted);
  ({WHEN})(isDone, () => during ? next() : requestAnimationFrame(next));
}})
"""
# Of what the page fetched, all that was here before what is painted first was ready.
BYTES = """
[...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")]
  .filter((entry) => entry.responseEnd <= window.readyAt)
  .map((entry) => entry.encodedBodySize)
  .concat(typeof answers === "undefined" ? [] : answers
    .filter(([at]) => at <= window.readyAt).map(([, bytes]) => bytes))
  .reduce((sum, bytes) => sum + bytes, 0)
"""


@dataclass(frozen=True)
class Step:
    """Something that a person does: `code` starts it, and `done` holds once it has been drawn."""

    code: str
    done: str = "true"


NOTHING = Step("0")


@dataclass(frozen=True)
class Subject:
    """A page to measure."""

    url: str
    ready: str
    steps: dict[str, Step] = field(default_factory=dict)
    answers: dict[str, Path] = field(default_factory=dict)
    """Files that stand in for addresses that end so."""
    repeats: int = 6


def visit(
    playwright: Playwright, executable: str, subject: Subject, repeats: int = 7
) -> dict[str, float]:
    """One trial: milliseconds of first paint and steps, MiB of memory, by name.

    Raises:
        TimeoutError of Playwright: the page never got ready.
    """
    browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
    try:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(180_000)
        if subject.answers:  # each request takes a detour through Python
            context.route(re.compile("^https?://"), answering(subject.answers))
        page = context.new_page()
        page.add_init_script(WATCH % (subject.ready, WHEN))
        come_to_rest(browser)
        before = spent(renderers(browser))
        after: dict[int, float] = {}

        def painted(dialog: Dialog) -> None:
            after.update(spent(renderers(browser)))
            dialog.accept()

        page.on("dialog", painted)
        page.goto(subject.url, wait_until="commit")
        first_paint = page.evaluate("window.painting")
        renderer = renderer_of(page, list(after))
        seen = {
            "first paint": first_paint,
            "first paint cpu": 1000 * after[renderer],
            "start cpu": 1000 * before.get(renderer, 0),
            "bytes": page.evaluate(BYTES),
        }
        for name, step in {"nothing": NOTHING, **subject.steps}.items():
            for key, value in measured(page, renderer, step, subject.repeats).items():
                seen[f"{name} {key}"] = value
        context.new_cdp_session(page).send("HeapProfiler.collectGarbage")
        seen["heap"] = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
        seen["memory"] = resident(renderer)
        return seen
    finally:
        browser.close()


def measured(page: Page, renderer: int, step: Step, repeats: int) -> dict[str, float]:
    """Medians over repeats of one step, in milliseconds: script, paint, cpu."""
    seen: list[dict[str, float]] = []
    for _ in range(repeats):
        cpu = main_thread(renderer)
        result = page.evaluate(STEP, [step.code, step.done])
        seen.append({**result, "cpu": 1000 * (main_thread(renderer) - cpu)})
    return {key: statistics.median(one[key] for one in seen) for key in seen[0]}


def answering(files: dict[str, Path]) -> Callable[[Route], Any]:
    """Answers known addresses from files, lets this machine through, and nothing else."""

    def answer(route: Route) -> None:
        url = route.request.url
        for tail, path in files.items():
            if url.endswith(tail):
                return route.fulfill(path=path, content_type="application/javascript")
        if url.startswith("http://127.0.0.1"):
            return route.continue_()
        return route.abort()

    return answer


def come_to_rest(browser: Browser) -> None:
    """Wait until the browser's processes have next to nothing to do.

    Raises:
        TimeoutError: they are still at work after half a minute.
    """
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        processes = processes_of(browser)
        before = all_threads(processes)
        time.sleep(0.25)
        rested = all_threads(processes) - before < 0.005
        if rested and processes == processes_of(browser):
            return
    raise TimeoutError("The browser is still busy starting after half a minute.")


def processes_of(browser: Browser) -> dict[int, str]:
    """The ids of the browser's processes, and what each is."""
    session = browser.new_browser_cdp_session()
    try:
        found = session.send("SystemInfo.getProcessInfo")["processInfo"]
        return {process["id"]: process["type"] for process in found}
    finally:
        session.detach()


def renderers(browser: Browser) -> list[int]:
    """The process ids of renderers: the page's, and those of the browser's own pages."""
    return [process for process, kind in processes_of(browser).items() if kind == "renderer"]


def renderer_of(page: Page, candidates: list[int]) -> int:
    """The page's renderer: the one whose main thread works while the page is kept busy."""
    before = spent(candidates)
    page.evaluate("for (const end = performance.now() + 200; performance.now() < end; );")
    after = spent(candidates)
    return max(candidates, key=lambda process: after[process] - before[process])


def resident(process: int) -> float:
    """Resident memory of a process, MiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def spent(processes: Iterable[int]) -> dict[int, float]:
    """CPU seconds of each process's main thread since it started."""
    return {process: main_thread(process) for process in processes}


def main_thread(process: int) -> float:
    """CPU seconds of a process's main thread since it started."""
    return seconds(Path(f"/proc/{process}/task/{process}"))


def all_threads(processes: Iterable[int]) -> float:
    """CPU seconds of these processes, all their threads that still run."""
    return sum(
        seconds(thread)
        for process in processes
        for thread in Path(f"/proc/{process}/task").glob("*")
    )


def seconds(thread: Path) -> float:
    """CPU seconds of a thread since it started; 0 once it has ended."""
    try:
        return int((thread / "schedstat").read_text().split()[0]) / 1e9
    except OSError:
        return 0.0
