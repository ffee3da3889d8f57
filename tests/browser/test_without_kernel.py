"""What is left of a view once its kernel is gone, or where its notebook is not trusted."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.explorer import Explorer
from tests.browser.jupyter import PANEL, Lab, Notebook

CELLS = (
    "import bertlens as bl",
    "view = bl.Lens.demo().explore('I went to the store.', 'I bought strawberries.', layer=1)",
    "view.heads = [8]",
    "view",
)
VIEW = len(CELLS) - 1
DATA_URI = re.compile(r'<img[^>]* src="data:image/[a-z+]+;base64,([^"]+)"')


@pytest.fixture(scope="module")
def executed(monkeypatch_module: pytest.MonkeyPatch) -> NotebookNode:
    """The notebook after a run, without the state of its widgets."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3", store_widget_state=False).execute()
    return notebook


@pytest.fixture(scope="module")
def monkeypatch_module() -> pytest.MonkeyPatch:
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return monkeypatch


def picture_loads(picture: Locator) -> None:
    expect(picture).to_be_visible()
    assert picture.evaluate("async (img) => { await img.decode(); return img.naturalWidth }") > 200


def test_beside_the_widget_stands_a_small_picture(executed: NotebookNode) -> None:
    data = executed.cells[VIEW].outputs[0].data

    assert "application/vnd.jupyter.widget-view+json" in data
    assert len(data["text/html"]) < 60_000
    assert DATA_URI.search(data["text/html"])
    assert "<script" not in data["text/html"]


def test_an_untrusted_notebook_shows_the_picture(
    executed: NotebookNode, page: Page, lab: Lab
) -> None:
    nbformat.write(executed, lab.root / "untrusted.ipynb")
    notebook = Notebook(page, lab, "untrusted.ipynb")

    output = notebook.output(VIEW)

    picture_loads(output.locator("img"))
    expect(output.locator(".bl-frame")).to_have_count(0)


def test_nbconvert_shows_the_picture(
    executed: NotebookNode, browser: Browser, tmp_path: Path
) -> None:
    html, _ = HTMLExporter().from_notebook_node(executed)
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri(), wait_until="domcontentloaded")

    picture_loads(page.locator(".jp-OutputArea img"))

    context.close()


def test_a_notebook_saved_with_its_state_shows_the_text_and_says_what_needs_a_kernel(
    page: Page, lab: Lab
) -> None:
    notebook = Notebook(page, lab, lab.write("saved.ipynb", *CELLS))
    notebook.run_all()
    Explorer(notebook.output(VIEW)).shows(1, [8])
    page.evaluate(
        "() => window.jupyterapp.commands.execute("
        "'@jupyter-widgets/jupyterlab-manager:saveWidgetState')"
    )
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function(f"() => !{PANEL}.context.model.dirty")
    notebook.close()
    size = (lab.root / "saved.ipynb").stat().st_size
    assert "widgets" in nbformat.read(lab.root / "saved.ipynb", as_version=4).metadata
    assert size < 400_000  # the page's own code, no attention

    Notebook(page, lab, "saved.ipynb")
    explorer = Explorer(notebook.output(VIEW))

    expect(explorer.token("from", 2)).to_have_text("went")
    expect(explorer.swatch(8)).to_have_attribute("aria-pressed", "true")
    expect(explorer.frame).to_contain_text("No kernel answers", timeout=40_000)


def test_after_a_restart_the_page_says_to_run_the_cell_again(page: Page, lab: Lab) -> None:
    notebook = Notebook(page, lab, lab.write("restarted.ipynb", *CELLS))
    notebook.run_all()
    explorer = Explorer(notebook.output(VIEW))
    explorer.shows(1, [8])

    page.evaluate(f"() => {PANEL}.sessionContext.session.kernel.restart()")
    explorer.cell(3, 2).click()

    expect(explorer.error).to_contain_text("run this cell again", timeout=10_000)
    expect(explorer.frame).to_have_attribute("data-closed", "")
    notebook.run_all()
    again = Explorer(notebook.output(VIEW))
    again.shows(1, [8])
    expect(again.error).to_be_hidden()


def test_a_static_picture_is_an_output_of_its_own(page: Page, lab: Lab) -> None:
    name = lab.write("static.ipynb", *CELLS[:VIEW], "view.static()")
    notebook = Notebook(page, lab, name)
    notebook.run_all()

    output = notebook.output(VIEW)

    picture_loads(output.locator("img"))
    expect(output.locator(".bl-frame")).to_have_count(0)
