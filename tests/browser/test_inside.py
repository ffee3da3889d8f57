"""Inside a head in JupyterLab: the query-key view, pairs of tokens, and value norms."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer import Explorer
from tests.browser.jupyter import Lab, Notebook

CELLS = (
    "import bertlens as bl\n"
    "lens = bl.Lens.demo()\n"
    "att = lens('I went to the store.', 'At the store, I bought fresh strawberries.')\n"
    "view = att.explore(layer=0, heads=[2], token=16)\n"
    "long = lens('The small lamp stood near the old window. ' * 80, truncate=True)",
    "view",
    "view.query_key_view()",
    "slow = long.explore(layer=3, heads=[2], token=100)\nslow",
)
# [CLS] I went to the store . [SEP] At the store , I bought fresh straw berries . [SEP]
BOUGHT, STRAW, BERRIES = 13, 15, 16


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Iterator[Notebook]:
    notebook = Notebook(page, lab, lab.write("inside.ipynb", *CELLS))
    notebook.run_all()
    assert notebook.errors() == []
    yield notebook
    notebook.close()


def inside(output: Locator) -> Locator:
    return output.get_by_role("region", name="Query and key")


def test_the_pane_of_the_explorer_is_folded_until_it_is_opened(notebook: Notebook) -> None:
    explorer = Explorer(notebook.output(1))
    explorer.shows(0, [2])
    pane = inside(explorer.frame)
    expect(pane.get_by_role("table")).to_have_count(0)

    pane.get_by_role("button", name="open query and key").click()

    first = pane.locator("tbody tr").nth(1)
    expect(first.get_by_role("rowheader")).to_have_text("straw")
    weight = notebook.python(f"float(att.weights(0, 2)[{BERRIES}, {STRAW}])")
    expect(first.get_by_role("cell").last).to_have_text(f"{weight:.3f}")
    score = notebook.python(f"float(att.scores_before_softmax(0, 2)[{BERRIES}, {STRAW}])")
    expect(first.get_by_role("cell").nth(3)).to_have_text(f"+{score:.2f}")


def test_the_view_of_its_own_follows_the_explorer(notebook: Notebook) -> None:
    pane = inside(notebook.output(2))
    expect(pane).to_contain_text("Head 0-2, query of “berries”")

    notebook.do(f"view.token, view.heads = {BOUGHT}, [5]")

    expect(pane).to_contain_text("Head 0-5, query of “bought”")
    notebook.do(f"view.token, view.heads = {BERRIES}, [2]")


def test_shift_click_finds_the_heads_that_join_two_tokens(notebook: Notebook) -> None:
    explorer = Explorer(notebook.output(1))
    explorer.piece(STRAW).click(modifiers=["Shift"])

    expect(explorer.grid).to_have_attribute(
        "data-painted", f"berries ({BERRIES}) -> straw ({STRAW})"
    )
    best = explorer.frame.locator(".bl-best button")
    expect(best).to_have_count(5)
    ranked = notebook.python(
        f"['{{}}-{{}}'.format(*b[:2]) for b in att.find_heads({BERRIES}, {STRAW}).ranked()[:5]]"
    )
    assert [text.split()[0] for text in best.all_inner_texts()] == ranked
    notebook.becomes("view.score.best()[:2]", (0, 2))
    notebook.becomes("view.token", BERRIES)
    notebook.do("view.score = None")


def test_value_norms_are_drawn_on_request(notebook: Notebook) -> None:
    explorer = Explorer(notebook.output(1))
    explorer.menu("lines").select_option("value norms")

    notebook.becomes("view.norm", "value")
    expect(explorer.frame).to_contain_text("Kobayashi 2020")
    explorer.shows(0, [2])

    notebook.do("view.norm = None")
    expect(explorer.frame).not_to_contain_text("Kobayashi 2020")


def test_a_text_of_512_tokens_is_opened_as_well(notebook: Notebook) -> None:
    assert notebook.python("len(long.tokens)") == 512
    explorer = Explorer(notebook.output(3))
    explorer.shows(3, [2])
    pane = inside(explorer.frame)
    pane.get_by_role("button", name="open query and key").click()

    for token in (100, 500):
        notebook.do(f"slow.token = {token}")
        largest = pane.locator("tbody tr").nth(1).get_by_role("cell").last
        weight = notebook.python(f"float(long.weights(3, 2)[{token}].max())")
        expect(largest).to_have_text(f"{weight:.3f}")
