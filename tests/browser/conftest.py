"""JupyterLab and Chromium for the tests here; without Chromium they are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.browser.jupyter import Lab, running_lab

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium."""
    names = (os.environ.get("BERTLENS_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if name and (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine: install it, or name it in BERTLENS_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One JupyterLab server for all tests."""
    with running_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@dataclass
class Complaints:
    """What a page should never do: log an error, or ask for anything beyond this machine."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext, home: str) -> None:
        """Listen to all pages of a context, whose own server is at `home`."""

        def console(message: ConsoleMessage) -> None:
            if message.type == "error":
                self.errors.append(f"{message.text} ({message.location.get('url', '')})")

        local = (home, home.replace("http", "ws", 1), "data:", "blob:")
        context.on("console", console)
        context.on("weberror", lambda error: self.errors.append(str(error.error)))
        context.on(
            "request",
            lambda request: (
                None if request.url.startswith(local) else self.requests.append(request.url)
            ),
        )


@pytest.fixture(scope="module")
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture(scope="module")
def page(browser: Browser, lab: Lab, complaints: Complaints) -> Iterator[Page]:
    """A page that the tests of one module share."""
    context = browser.new_context(viewport={"width": 1600, "height": 1400})
    context.set_default_timeout(20_000)
    complaints.watch(context, lab.url)
    yield context.new_page()
    context.close()


@pytest.fixture(autouse=True)
def no_complaints(complaints: Complaints) -> Iterator[None]:
    """Every test fails on an error in the console or a request that leaves the machine."""
    yield
    errors, requests = list(complaints.errors), list(complaints.requests)
    complaints.errors.clear()
    complaints.requests.clear()
    assert errors == []
    assert requests == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, which finds what keeps people out of a page."""
    source = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
    if not source.is_file():
        pytest.skip("axe-core is not installed: run `npm ci` in js/")
    return source.read_text()
