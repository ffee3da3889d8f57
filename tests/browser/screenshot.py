"""Takes README's pictures of the explorer in JupyterLab: python -m tests.browser.screenshot"""

from __future__ import annotations

import io
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import FLAGS
from tests.browser.explorer import Explorer
from tests.browser.jupyter import PANEL, Lab, Notebook, running_lab

DOCS = Path(__file__).parents[2] / "docs"
THEMES = {"explorer.png": "JupyterLab Light", "explorer-dark.png": "JupyterLab Dark"}
CELLS = (
    "import bertlens as bl\n"
    "lens = bl.Lens.demo()\n"
    "view = lens.explore(\n"
    "    'I went to the store.', 'At the store, I bought fresh strawberries.',\n"
    "    layer=2, heads=[8, 0], token=13,\n"
    ")",
    "view",
)


def take(browser: Browser, lab: Lab, name: str, theme: str) -> None:
    """One picture of the explorer, in one theme."""
    page = browser.new_page(viewport={"width": 1460, "height": 1400}, device_scale_factor=1.25)
    notebook = Notebook(page, lab, lab.write(f"{Path(name).stem}.ipynb", *CELLS))
    page.evaluate(
        "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
    )
    # the file browser takes a fifth of the width
    page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    notebook.run_all()
    explorer = Explorer(notebook.output(1))
    explorer.shows(2, [8, 0])
    for pane in (explorer.grid, explorer.token_pane):
        pane.and_(page.locator("[data-painted]")).wait_for()
    page.evaluate(f"() => {PANEL}.content.deselectAll()")
    shot = Image.open(io.BytesIO(explorer.frame.screenshot(animations="disabled")))
    shot.convert("RGB").save(DOCS / name, optimize=True)
    notebook.close()
    page.close()


def main() -> int:
    chromium = os.environ.get("BERTLENS_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        print("No Chromium: install it, or name it in BERTLENS_CHROMIUM.", file=sys.stderr)
        return 1
    DOCS.mkdir(exist_ok=True)
    with (
        TemporaryDirectory() as folder,
        running_lab(Path(folder)) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, theme in THEMES.items():
            take(browser, lab, name, theme)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
