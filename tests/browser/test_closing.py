"""Closing a view leaves nothing behind; running its cell again leaves one display."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer import Explorer
from tests.browser.jupyter import Lab, Notebook

CELLS = (
    "import bertlens as bl\n"
    "from ipywidgets import Widget\n"
    "lens = bl.Lens.demo()\n"
    "before = set(Widget.widgets)  # loading shows its progress in widgets",
    "view = lens.explore('I went to the store.'); view",
    "view.token_view()",
)


@pytest.fixture
def notebook(page: Page, lab: Lab, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    notebook = Notebook(page, lab, lab.write(f"{request.node.name}.ipynb", *CELLS))
    notebook.run_all()
    Explorer(notebook.output(1)).shows(0, [0])
    yield notebook
    notebook.close()


def test_closing_an_explorer_takes_it_and_its_siblings_off_the_page(
    notebook: Notebook, page: Page
) -> None:
    notebook.do("view.close()")

    expect(page.locator(".bl-frame")).to_have_count(0)
    assert notebook.errors() == []


def test_closing_frees_tensors_and_every_widget_in_the_kernel(notebook: Notebook) -> None:
    more = "len(set(Widget.widgets) - before)"
    assert notebook.python(f"(view.attention.is_cached, {more} > 0)") == (True, True)

    notebook.do("view.close()")

    assert notebook.python(f"(view.attention.is_cached, {more})") == (False, 0)


def test_running_a_cell_again_leaves_one_display_in_its_place(
    notebook: Notebook, page: Page
) -> None:
    for _ in range(12):
        notebook.run(1)
    output = notebook.output(1)
    Explorer(output).shows(0, [0])

    expect(output.locator(".bl-frame")).to_have_count(1)
    explorers = "[w for w in Widget.widgets.values() if type(w).__name__ == 'Explorer']"
    assert notebook.python(f"len({explorers})") == 13
    # Tensors of runs that are no longer shown go once the bound on bytes is reached.
    notebook.do("import bertlens as bl\nbl.memory.set_limit(bl.memory.used() // 2)")
    assert 0 < notebook.python(f"sum(w.attention.is_cached for w in {explorers})") < 13
