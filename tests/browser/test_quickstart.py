"""The quickstart, as `bertlens demo` opens it: every cell runs, and the page is as it says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from bertlens.cli.demo import NOTEBOOK, shipped_notebooks
from tests.browser.explorer import Explorer
from tests.browser.jupyter import Lab, Notebook


def place(name: str) -> int:
    """Where a cell of the quickstart stands."""
    cells = json.loads((shipped_notebooks() / NOTEBOOK).read_text())["cells"]
    return [cell["id"] for cell in cells].index(name)


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Iterator[Notebook]:
    shutil.copy(shipped_notebooks() / NOTEBOOK, Path(lab.root))
    notebook = Notebook(page, lab, NOTEBOOK)
    notebook.run_all()
    yield notebook
    notebook.close()


def test_every_cell_runs(notebook: Notebook) -> None:
    assert notebook.errors() == []


def test_the_page_ends_where_the_cells_have_led_it(notebook: Notebook) -> None:
    explorer = Explorer(notebook.output(place("explore")))

    explorer.shows(1, [8])
    expect(explorer.grid).to_have_attribute("data-painted", "entropy")
    expect(explorer.frame).to_contain_text("all-MiniLM-L6-v2")


def test_the_next_token_head_is_the_one_that_the_notebook_names(notebook: Notebook) -> None:
    """Of all heads, 1-8 gives most to the next token, counted here from the plain weights."""
    best = notebook.python(
        "max((float(np.diagonal(att.weights(layer, head), 1).mean()), layer, head)"
        " for layer in range(6) for head in range(12))[1:]"
    )

    assert best == (1, 8)


def test_the_selection_is_read_back(notebook: Notebook) -> None:
    Explorer(notebook.output(place("explore"))).cell(2, 0).click()
    notebook.becomes("view.layer", 2)

    notebook.run(place("selection"))

    expect(notebook.output(place("selection"))).to_contain_text("(2, [0], None)")


def test_the_head_view_alone_leads_the_explorer(notebook: Notebook) -> None:
    Explorer(notebook.output(place("head-view"))).swatch(5).click()

    notebook.becomes("view.heads[-1]", 5)
    explorer = Explorer(notebook.output(place("explore")))
    expect(explorer.swatch(5)).to_have_attribute("aria-pressed", "true")
