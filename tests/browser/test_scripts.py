"""Every script on the page as its readers know it, in pictures worth looking at.

Set BERTLENS_PICTURES to a folder to keep the pictures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer import Explorer
from tests.browser.jupyter import Lab, Notebook

ROOT = Path(__file__).resolve().parents[2]
CELLS = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    "import bertlens as bl\n"
    "from tests.python.tiny import tiny, byte_bpe\n"
    "from tests.python import test_kinds as kinds\n"
    "lens = bl.Lens.demo()\n"
    "view = lens.explore('I went.', heads=[0, 1, 2])",
    "view",
    "pieces = bl.Lens(tiny('roberta'), byte_bpe()).explore('한국어 🍓 👩‍👩‍👧')",
    "pieces",
    "three = bl.Lens(kinds.model('t5'), byte_bpe())(kinds.SOURCE, kinds.TARGET).explore()",
    "three",
    "said = bl.Lens(kinds.BartForSequenceClassification(kinds.BartConfig(**kinds._BART,\n"
    "    num_labels=2)).eval(), byte_bpe())(kinds.SOURCE).explore()",
    "said",
)
LONG_WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Iterator[Notebook]:
    notebook = Notebook(page, lab, lab.write("scripts.ipynb", *CELLS))
    notebook.run_all()
    assert notebook.errors() == []
    yield notebook
    notebook.close()


def keep(explorer: Explorer, name: str) -> None:
    """A picture for who wants to look."""
    folder = os.environ.get("BERTLENS_PICTURES")
    if folder:
        explorer.frame.screenshot(path=Path(folder) / f"{name}.png", animations="disabled")


def shows_text(notebook: Notebook, text: str, pair: str | None = None) -> Explorer:
    """The first display, on another text."""
    explorer = Explorer(notebook.output(1))
    notebook.do(f"view.layer = 0; view.text, view.text_pair = {text!r}, {pair!r}")
    explorer.shows(0, [0, 1, 2])
    return explorer


def labels(explorer: Explorer, side: str = "from") -> list[str]:
    return explorer.head_pane.locator(f"[data-side={side}]").all_inner_texts()


def directions(explorer: Explorer, side: str) -> set[str]:
    """The writing direction of each label between the special tokens."""
    found = explorer.head_pane.locator(f"[data-side={side}]:not([data-special])")
    return set(found.evaluate_all("all => all.map(one => getComputedStyle(one).direction)"))


def stay_inside(explorer: Explorer) -> None:
    """No label of the head view sticks out of the widget."""
    frame = explorer.frame.bounding_box()
    assert frame is not None
    boxes = explorer.head_pane.locator("[data-side]").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert min(left for left, _ in boxes) >= frame["x"] - 1
    assert max(right for _, right in boxes) <= frame["x"] + frame["width"] + 1


def test_chinese_stands_a_character_a_token(notebook: Notebook) -> None:
    explorer = shows_text(notebook, "我去了商店。", "我买了新鲜的草莓。")
    assert labels(explorer)[1:7] == ["我", "去", "了", "商", "店", "。"]
    stay_inside(explorer)
    keep(explorer, "chinese")


def test_arabic_runs_from_right_to_left(notebook: Notebook) -> None:
    explorer = shows_text(notebook, "ذهبت إلى المتجر.")
    assert "rtl" in directions(explorer, "from")
    assert "rtl" in directions(explorer, "to")
    # The running text begins at the right edge and ends, with its full stop, at the left.
    pieces = explorer.token_pane.locator(".bl-running").first
    first, stop, last = (pieces.locator(".bl-piece").nth(i).bounding_box() for i in (0, -2, -1))
    text = pieces.bounding_box()
    assert first
    assert stop
    assert last
    assert text
    assert first["x"] + first["width"] > text["x"] + text["width"] - 10
    assert last["x"] < stop["x"] < first["x"]
    stay_inside(explorer)
    keep(explorer, "arabic")


def test_hebrew_and_english_keep_their_own_directions(notebook: Notebook) -> None:
    explorer = shows_text(notebook, "הלכתי to the store.")
    assert directions(explorer, "from") == {"rtl", "ltr"}
    pieces = explorer.token_pane.locator(".bl-running .bl-piece")
    boxes = {
        name: pieces.get_by_text(name, exact=True).first.bounding_box()
        for name in ("[CLS]", "to", "store", "[SEP]")
    }
    places = {name: box["x"] for name, box in boxes.items() if box}
    # From right to left: the start, the English words in their own order, the end.
    assert places["[CLS]"] > places["store"] > places["to"] > places["[SEP]"]
    keep(explorer, "hebrew")


def test_an_emoji_the_model_does_not_know_shows_its_source(notebook: Notebook) -> None:
    explorer = shows_text(notebook, "I like 🍓🍓 and 👩‍👩‍👧.")
    assert "🍓🍓" in labels(explorer)
    assert "👩‍👩‍👧" in labels(explorer)
    assert "[UNK]" not in labels(explorer)
    keep(explorer, "emoji")


def test_a_character_of_several_tokens_is_shown_once(notebook: Notebook) -> None:
    explorer = Explorer(notebook.output(3))
    shown = labels(explorer)
    assert shown[1:4] == ["한", "⋮", "⋮"]
    assert shown.count("🍓") == 1
    keep(explorer, "bytes")


def test_long_words_stay_inside(notebook: Notebook) -> None:
    explorer = shows_text(notebook, f"Die {LONG_WORD} ist lang. {'x' * 120}")
    stay_inside(explorer)
    notebook.do("view.level = 'word'")
    expect(explorer.head_pane.get_by_text(LONG_WORD).first).to_be_visible()
    stay_inside(explorer)
    keep(explorer, "long-words")
    notebook.do("view.level = 'token'")


def test_512_tokens_scroll_inside_the_widget(notebook: Notebook) -> None:
    explorer = shows_text(notebook, "store " * 510)
    assert len(labels(explorer)) == 512
    box = explorer.frame.bounding_box()
    assert box is not None
    assert box["height"] < 1400
    stay_inside(explorer)
    keep(explorer, "512-tokens")


def test_markup_in_a_text_stays_text(notebook: Notebook) -> None:
    text = "<b>bold</b> <img src=x onerror=alert(1)> &amp;"
    explorer = shows_text(notebook, text)
    assert explorer.frame.locator("img, b").count() == 0
    assert "".join(labels(explorer)[1:-1]) == text.replace(" ", "")


def test_the_kind_of_attention_is_chosen_on_the_page(notebook: Notebook) -> None:
    explorer = Explorer(notebook.output(5))
    explorer.shows(0, [0])
    explorer.menu("attention").select_option("cross")
    notebook.becomes("three.kind", "cross")
    expect(explorer.head_pane.locator("[data-side=from]").last).to_have_text(".")
    assert labels(explorer, "to") == notebook.python(
        "[t.label for t in three.attention.kind('encoder').tokens]"
    )
    keep(explorer, "cross")


def test_a_prediction_stands_beside_the_text(notebook: Notebook) -> None:
    explorer = Explorer(notebook.output(7))
    prediction = notebook.python("str(said.attention.prediction)")
    expect(explorer.frame.get_by_text(f"Prediction: {prediction}")).to_be_visible()
    keep(explorer, "prediction")
