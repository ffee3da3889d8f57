"""The explorer in JupyterLab: what a person does reaches Python, what Python sets is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer import Explorer
from tests.browser.jupyter import Lab, Notebook

CELLS = (
    "import bertlens as bl\n"
    "lens = bl.Lens.demo()\n"
    "pair = ('I went to the store.', 'At the store, I bought fresh strawberries.')\n"
    "view = lens.explore(*pair)\n"
    "start = {'layer': 0, 'heads': [0], 'token': None, 'side': 'from', 'segment_filter': 'all',\n"
    "         'level': 'token', 'special': 'show', 'min_weight': 0.02, 'score': None}",
    "view",
    "view",
    "view.head_view()",
)
# [CLS] I went to the store . [SEP] At the store , I bought fresh straw berries . [SEP]
WENT, BOUGHT, BERRIES = 2, 13, 16


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Iterator[Notebook]:
    notebook = Notebook(page, lab, lab.write("explorer.ipynb", *CELLS))
    notebook.run_all()
    assert notebook.errors() == []
    yield notebook
    notebook.close()


@pytest.fixture
def explorer(notebook: Notebook) -> Iterator[Explorer]:
    """The first display, as it is when a view is new."""
    explorer = Explorer(notebook.output(1))
    notebook.do("for name, value in start.items(): setattr(view, name, value)")
    explorer.shows(0, [0])
    explorer.has_no_pin()
    yield explorer
    if notebook.python("(view.text, view.text_pair) != pair"):
        notebook.do("view.text, view.text_pair = pair")


# What a person does reaches Python


def test_clicking_a_cell_of_the_grid_chooses_layer_and_head(
    notebook: Notebook, explorer: Explorer
) -> None:
    explorer.cell(2, 7).click()

    notebook.becomes("(view.layer, view.heads)", (2, [7]))
    explorer.shows(2, [7])


def test_shift_click_adds_a_head_of_the_layer(notebook: Notebook, explorer: Explorer) -> None:
    explorer.cell(2, 0).click()
    explorer.cell(2, 8).click(modifiers=["Shift"])

    notebook.becomes("(view.layer, view.heads)", (2, [0, 8]))
    explorer.shows(2, [0, 8])


def test_a_swatch_toggles_its_head_and_a_double_click_isolates_it(
    notebook: Notebook, explorer: Explorer
) -> None:
    explorer.swatch(5).click()
    notebook.becomes("view.heads", [0, 5])
    explorer.swatch(0).click()
    notebook.becomes("view.heads", [5])
    explorer.swatch(8).click()
    notebook.becomes("view.heads", [5, 8])

    explorer.swatch(3).dblclick()

    notebook.becomes("view.heads", [3])


def test_one_button_takes_all_heads_or_none(notebook: Notebook, explorer: Explorer) -> None:
    explorer.button("Show all heads").click()
    notebook.becomes("sorted(view.heads)", list(range(12)))

    explorer.button("Show no head").click()
    notebook.becomes("view.heads", [])
    expect(explorer.head_pane).to_contain_text("No head is on")


def test_the_layer_changes_by_menu_buttons_and_keys(notebook: Notebook, explorer: Explorer) -> None:
    explorer.menu("layer").select_option("3")
    notebook.becomes("view.layer", 3)
    explorer.button("Layer after (key ])").click()
    notebook.becomes("view.layer", 4)
    explorer.button("Layer before (key [)").click()
    notebook.becomes("view.layer", 3)
    explorer.swatch(0).focus()
    notebook.page.keyboard.press("[")
    notebook.becomes("view.layer", 2)
    explorer.shows(2, [0])


def test_clicking_a_token_pins_it_and_clicking_it_again_lets_it_go(
    notebook: Notebook, explorer: Explorer
) -> None:
    explorer.token("from", BOUGHT).click()
    notebook.becomes("(view.token, view.side)", (BOUGHT, "from"))
    explorer.has_pinned("from", BOUGHT)
    expect(explorer.token_pane).to_contain_text("“bought” attends to, head 0-0")

    explorer.token("from", BOUGHT).click()
    notebook.becomes("view.token", None)


def test_clicking_a_token_on_the_right_asks_where_attention_comes_from(
    notebook: Notebook, explorer: Explorer
) -> None:
    explorer.token("to", WENT).click()

    notebook.becomes("(view.token, view.side)", (WENT, "to"))
    expect(explorer.token_pane).to_contain_text("“went” is attended from")


def test_hovering_shows_a_tokens_lines_and_leaves_python_alone(
    notebook: Notebook, explorer: Explorer
) -> None:
    explorer.token("from", WENT).hover()

    expect(explorer.head_pane).to_have_attribute("data-hover", f"from:{WENT}")
    assert notebook.python("view.token") is None


def test_the_numbers_of_a_pinned_token_are_the_weights(
    notebook: Notebook, explorer: Explorer
) -> None:
    notebook.do("view.layer = 1; view.heads = [8]")
    explorer.token("from", BOUGHT).click()
    expect(explorer.token_pane).to_have_attribute("data-painted", f"from {BOUGHT}")

    largest = explorer.token_pane.locator(".bl-ranking tbody tr").first

    best, weight = notebook.python(
        "(lambda row: (view.attention.tokens[int(row.argmax())].label, f'{row.max():.3f}'))"
        f"(view.attention.weights(layer=1, head=8)[{BOUGHT}])"
    )
    expect(largest.get_by_role("rowheader")).to_have_text(best)
    expect(largest.locator(".bl-number")).to_have_text(weight)


def test_filters_reach_python(notebook: Notebook, explorer: Explorer) -> None:
    explorer.button("A→B").click()
    notebook.becomes("view.segment_filter", "a->b")
    explorer.menu("specials").select_option("hide")
    notebook.becomes("view.special", "hide")
    explorer.menu("level").select_option("word")
    notebook.becomes("view.level", "word")
    expect(explorer.head_pane.get_by_text("strawberries").first).to_be_visible()
    slider = explorer.frame.get_by_role("slider")
    slider.focus()
    notebook.page.keyboard.press("End")
    notebook.becomes("view.min_weight", 1.0)


def test_a_score_colours_the_grid(notebook: Notebook, explorer: Explorer) -> None:
    explorer.menu("What the grid shows").select_option("entropy")

    notebook.becomes("view.score and view.score.name", "entropy")
    expect(explorer.grid).to_have_attribute("data-painted", "entropy")


def test_the_token_view_pins_and_turns_round(notebook: Notebook, explorer: Explorer) -> None:
    explorer.piece(BERRIES).click()
    notebook.becomes("view.token", BERRIES)
    explorer.has_pinned("from", BERRIES)

    explorer.button("attended from").click()
    notebook.becomes("(view.token, view.side)", (BERRIES, "to"))
    explorer.has_pinned("to", BERRIES)


def test_clicking_the_matrix_pins_the_row_under_the_pointer(
    notebook: Notebook, explorer: Explorer
) -> None:
    expect(explorer.matrix).to_have_attribute("data-painted", "0-0")
    box = explorer.matrix.bounding_box()
    assert box
    row = (BOUGHT + 0.5) / 19

    explorer.matrix.click(position={"x": box["width"] / 2, "y": row * box["height"]})

    notebook.becomes("view.token", BOUGHT)


# The text box


def test_a_text_typed_on_the_page_is_run(notebook: Notebook, explorer: Explorer) -> None:
    notebook.do("view.layer = 2; view.heads = [3, 1]; view.token = 4")
    explorer.second_text.fill("")
    explorer.text.fill("Ça va, José?")
    explorer.text.press("Enter")

    notebook.becomes("(view.text, view.text_pair)", ("Ça va, José?", None))
    assert notebook.python("[t.label for t in view.attention.tokens if not t.special]")[0] == "Ça"
    assert notebook.python("(view.layer, view.heads, view.token)") == (2, [3, 1], None)
    explorer.shows(2, [3, 1])
    expect(explorer.token("from", 1)).to_have_text("Ça")


def test_of_two_texts_typed_in_a_row_the_last_wins(notebook: Notebook, explorer: Explorer) -> None:
    for text in ("One.", "Two words.", "Now three words."):
        explorer.text.fill(text)
        explorer.text.press("Enter")

    notebook.becomes("view.text", "Now three words.")
    expect(explorer.text).to_have_value("Now three words.")
    expect(explorer.head_pane.get_by_text("three").first).to_be_visible()
    expect(explorer.head_pane.get_by_text("Two")).to_have_count(0)


def test_a_text_that_is_too_long_is_refused_in_words(
    notebook: Notebook, explorer: Explorer
) -> None:
    explorer.text.fill("word " * 600)
    explorer.text.press("Enter")

    expect(explorer.error).to_contain_text("512")
    assert notebook.python("view.text") == "I went to the store."


def test_an_empty_text_is_refused_in_words(notebook: Notebook, explorer: Explorer) -> None:
    explorer.second_text.fill("")
    explorer.text.fill("")
    explorer.text.press("Enter")

    expect(explorer.error).not_to_be_empty()
    assert notebook.python("view.text") == "I went to the store."


def test_a_text_is_never_markup(notebook: Notebook, explorer: Explorer) -> None:
    text = "<img src=x onerror=alert(1)> <b>bold</b>"
    explorer.text.fill(text)
    explorer.text.press("Enter")

    notebook.becomes("view.text", text)
    expect(explorer.head_pane.get_by_text("<", exact=True).first).to_be_visible()
    expect(explorer.frame.locator("img, b")).to_have_count(0)


# What Python sets is shown


def test_layer_and_heads_set_in_python_are_shown(notebook: Notebook, explorer: Explorer) -> None:
    notebook.do("view.layer, view.heads = 1, [8]")
    explorer.shows(1, [8])
    notebook.do("view.heads = []")
    expect(explorer.grid.locator("[aria-selected=true]")).to_have_count(0)


def test_a_token_and_a_side_set_in_python_are_shown(notebook: Notebook, explorer: Explorer) -> None:
    notebook.do(f"view.token = {BOUGHT}")
    explorer.has_pinned("from", BOUGHT)

    notebook.do("view.side = 'to'")
    explorer.has_pinned("to", BOUGHT)

    notebook.do("view.token = None")
    explorer.has_no_pin()


def test_filters_set_in_python_are_shown(notebook: Notebook, explorer: Explorer) -> None:
    notebook.do("view.segment_filter = 'b->b'")
    expect(explorer.button("B→B")).to_have_attribute("aria-pressed", "true")

    notebook.do("view.special = 'hide'")
    expect(explorer.menu("specials")).to_have_value("hide")
    expect(explorer.head_pane.get_by_text("[CLS]")).to_have_count(0)

    notebook.do("view.level = 'word'")
    expect(explorer.menu("level")).to_have_value("word")
    expect(explorer.head_pane.get_by_text("strawberries").first).to_be_visible()

    notebook.do("view.min_weight = 0.25")
    expect(explorer.frame.get_by_role("slider")).to_have_value("50")


def test_a_score_of_ones_own_set_in_python_colours_the_grid(
    notebook: Notebook, explorer: Explorer
) -> None:
    notebook.do(
        "import numpy as np\n"
        "view.score = bl.HeadScores('mine', np.arange(72.0).reshape(6, 12), unit='points')"
    )

    expect(explorer.grid).to_have_attribute("data-painted", "mine")
    explorer.cell(5, 11).hover()
    expect(explorer.frame.locator(".bl-readout").first).to_contain_text("71")


def test_a_text_set_in_python_is_shown(notebook: Notebook, explorer: Explorer) -> None:
    notebook.do("view.text_pair = None; view.text = 'Snow fell.'")

    expect(explorer.text).to_have_value("Snow fell.")
    expect(explorer.token("from", 1)).to_have_text("Snow")
    expect(explorer.second_text).to_have_value("")


def test_what_a_model_has_not_is_refused_and_the_page_stays(
    notebook: Notebook, explorer: Explorer
) -> None:
    with pytest.raises(AssertionError, match="layers 0 to 5"):
        notebook.do("view.layer = 99")

    explorer.shows(0, [0])


def test_python_hears_of_a_click(notebook: Notebook, explorer: Explorer) -> None:
    notebook.do("heard = []; view.observe(lambda change: heard.append(change['new']), 'token')")
    explorer.token("from", BOUGHT).click()

    notebook.becomes("heard", [BOUGHT])
    notebook.do("view.unobserve_all('token')")


# Other cells


def test_the_same_view_in_two_cells_stays_in_step(notebook: Notebook, explorer: Explorer) -> None:
    explorer.cell(3, 4).click()
    explorer.token("from", WENT).click()
    notebook.becomes("(view.layer, view.heads, view.token)", (3, [4], WENT))

    twin = Explorer(notebook.output(2))
    twin.shows(3, [4])
    twin.has_pinned("from", WENT)

    twin.swatch(7).click()
    notebook.becomes("view.heads", [4, 7])
    twin.shows(3, [4, 7])
    Explorer(notebook.output(1)).shows(3, [4, 7])


def test_a_head_view_in_another_cell_stays_in_step_both_ways(
    notebook: Notebook, explorer: Explorer
) -> None:
    explorer.cell(1, 8).click()
    notebook.becomes("view.heads", [8])
    alone = Explorer(notebook.output(3))
    expect(alone.head_pane).to_have_attribute("data-painted", re.compile(":1:8$"))
    expect(alone.grid).to_have_count(0)

    alone.token("from", BOUGHT).click()
    alone.swatch(2).click()

    notebook.becomes("(view.token, view.heads)", (BOUGHT, [8, 2]))
    first = Explorer(notebook.output(1))
    first.shows(1, [8, 2])
    first.has_pinned("from", BOUGHT)


# Without a mouse


def test_the_grid_works_from_the_keyboard(notebook: Notebook, explorer: Explorer) -> None:
    keyboard = notebook.page.keyboard
    explorer.cell(0, 0).focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        keyboard.press(key)
    keyboard.press("Enter")
    notebook.becomes("(view.layer, view.heads)", (1, [2]))

    keyboard.press("ArrowRight")
    keyboard.press("Shift+Enter")
    notebook.becomes("(view.layer, view.heads)", (1, [2, 3]))


def test_every_pane_is_reached_by_tab_and_tokens_by_arrows(
    notebook: Notebook, explorer: Explorer
) -> None:
    page = notebook.page
    focused = "document.activeElement.closest('.bl-frame') && document.activeElement"
    explorer.text.focus()
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        where = page.evaluate(
            f"(({focused}) || document.body)"
            ".closest('[role=grid], [role=toolbar], [role=listbox], .bl-matrix')"
            "?.getAttribute('aria-label') ?? null"
        )
        seen.add(where)
    assert {"Layers by heads", "Heads", "Text: choose a token"} <= seen

    explorer.token("from", 0).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    notebook.becomes("(view.token, view.side)", (WENT, "from"))
    page.keyboard.press("Escape")
    notebook.becomes("view.token", None)


def test_the_hosts_shortcuts_stay_away_from_the_widget(
    notebook: Notebook, explorer: Explorer
) -> None:
    before = notebook.page.locator(".jp-Notebook .jp-Cell").count()
    for control in (explorer.swatch(1), explorer.cell(0, 0), explorer.token("from", 1)):
        control.focus()
        for key in ("a", "b", "x", "d", "d", "m"):
            notebook.page.keyboard.press(key)

    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == before
    assert notebook.page.locator(".jp-Notebook .jp-MarkdownCell").count() == 0


# For everyone, by day and by night


AXE = """async (frame) => (await axe.run(frame)).violations
  .map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])"""


@pytest.fixture(params=["JupyterLab Light", "JupyterLab Dark"])
def theme(notebook: Notebook, request: pytest.FixtureRequest) -> Iterator[str]:
    def change(theme: str) -> None:
        body = notebook.page.locator("body")
        light = "true" if theme.endswith("Light") else "false"
        if body.get_attribute("data-jp-theme-light") != light:
            act = (
                "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
            )
            notebook.page.evaluate(act, theme)
        expect(body).to_have_attribute("data-jp-theme-light", light)
        # its splash screen fades; a second change meanwhile would take it away twice
        expect(notebook.page.locator("#jupyterlab-splash")).to_have_count(0)

    change(request.param)
    yield request.param
    change("JupyterLab Light")


def test_axe_finds_nothing_to_complain_about(
    notebook: Notebook, explorer: Explorer, theme: str, axe: str
) -> None:
    explorer.token("from", BOUGHT).click()
    notebook.do("view.heads = [0, 8]; view.score = view.attention.scores['entropy']")
    explorer.shows(0, [0, 8])
    notebook.page.evaluate(axe)

    assert explorer.frame.evaluate(AXE) == []


def test_text_stands_out_from_its_ground(explorer: Explorer, theme: str) -> None:
    """Light on dark by night, dark on light by day."""
    luminance = """(frame) => {
      const channels = (colour) => colour.match(/[0-9.]+/g).slice(0, 4).map(Number);
      const bright = ([r, g, b]) => (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255;
      const token = frame.querySelector(".bl-token:not([data-special])");
      let ground = frame;
      while (ground && channels(getComputedStyle(ground).backgroundColor)[3] === 0)
        ground = ground.parentElement;
      return [bright(channels(getComputedStyle(token).color)),
              bright(channels(getComputedStyle(ground).backgroundColor))];
    }"""
    ink, ground = explorer.frame.evaluate(luminance)

    if theme.endswith("Dark"):
        assert ground < 0.25 < 0.7 < ink
    else:
        assert ink < 0.3 < 0.9 < ground


def test_pictures_outlive_a_change_of_theme(explorer: Explorer, theme: str) -> None:
    """For a moment of the change the page has no size."""
    drawn = """(canvas) => canvas.width > 0 && canvas.height > 0 && new Uint32Array(
      canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer
    ).some(Boolean)"""
    explorer.token("from", BOUGHT).click()
    name = "dark" if theme.endswith("Dark") else "light"
    expect(explorer.frame).to_have_attribute("data-bl-theme", name)

    for picture in ("grid", "shades", "matrix", "base"):
        canvas = explorer.frame.locator(f"canvas[class*={picture}]").first.element_handle()
        explorer.frame.page.wait_for_function(drawn, arg=canvas)
