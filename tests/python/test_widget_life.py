"""Closing frees what a view held; without a bundle there is one clear sentence."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from ipywidgets.widgets import widget

import bertlens as bl
from bertlens.widgets import bundle
from tests.python.page import Page, countable

pytestmark = pytest.mark.usefixtures("pages")

STORE = "I went to the store."


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return countable()


def open_widgets() -> int:
    return len(widget._instances)


def test_closing_closes_siblings_and_layouts_and_frees_tensors(lens: bl.Lens) -> None:
    before = open_widgets()
    view = lens.explore(STORE)
    head = view.head_view()
    assert open_widgets() == before + 4
    assert view.attention.is_cached
    view.close()
    assert open_widgets() == before
    assert (view.comm, head.comm) == (None, None)
    assert not view.attention.is_cached


def test_closing_one_sibling_leaves_the_others_in_step(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    head, token = view.head_view(), view.token_view()
    head.close()
    token.layer = 2
    assert view.layer == 2
    assert head.layer == 0
    assert view.attention.is_cached


def test_closing_twice_does_no_harm(lens: bl.Lens) -> None:
    before = open_widgets()
    other = lens.explore(STORE)
    view = lens.explore(STORE)
    view.close()
    view.close()
    assert open_widgets() > before
    assert other.comm is not None
    other.close()
    assert open_widgets() == before


def test_a_closed_view_and_all_it_held_can_be_freed(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    view.text = "The cat sat."
    gone = [
        weakref.ref(thing)
        for thing in (view, view.head_view(), view.selection, view.attention, view.layout)
    ]
    view.close()
    del view
    gc.collect()
    assert [ref() for ref in gone] == [None] * 5


def test_texts_that_were_typed_and_left_are_freed(lens: bl.Lens) -> None:
    mine = lens(STORE)
    view = mine.explore()
    view.text = "The cat sat."
    typed = view.attention
    view.text = "The dog did not mind."
    assert not typed.is_cached
    # the one that the person made is the person's
    assert mine.is_cached


def test_a_cell_run_a_hundred_times_stays_within_the_limit(lens: bl.Lens) -> None:
    before = bl.memory.used()
    first_view = lens(STORE).explore()
    room = 8 * (bl.memory.used() - before)
    try:
        bl.memory.set_limit(room)
        views = [first_view] + [lens(STORE).explore() for _ in range(99)]
        assert bl.memory.used() - before <= room
        assert [view.attention.is_cached for view in views] == [False] * 92 + [True] * 8
    finally:
        bl.memory.set_limit(bl.memory.DEFAULT_LIMIT)
    first = Page(views[0])
    reply, block = first.ask("block", layer=0, heads=[0], level="token")
    assert reply["ok"]
    assert block.shape == (1, 8, 8)


def test_an_attention_in_two_explorers_survives_the_end_of_one(lens: bl.Lens) -> None:
    attention = lens(STORE)
    expected = attention.weights(1).copy()
    one, two = attention.explore(), attention.explore()
    one.close()
    two.layer = 1
    assert (two.attention.weights(1) == expected).all()


def test_the_state_that_a_notebook_saves_stays_small(demo: bl.Lens) -> None:
    attention = demo("the small lamp stood near the old window " * 100, truncate=True)
    view = attention.explore()
    Page(view).ask("block", layer=0, heads=list(range(12)), level="token")
    state = view.get_state()
    own = {name: value for name, value in state.items() if name not in ("_esm", "_css")}
    assert len(repr(own)) < 60_000
    assert not any(isinstance(value, bytes | memoryview) for value in own.values())


def test_a_missing_bundle_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"page is not built.*npm ci && npm run build"):
        bundle.source("widget.js", tmp_path)


def test_the_page_is_handed_over_as_text_unless_hot_reload_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "widget.js").write_text("export default {}", encoding="utf-8")
    monkeypatch.delenv("ANYWIDGET_HMR", raising=False)
    assert bundle.source("widget.js", tmp_path) == "export default {}"
    monkeypatch.setenv("ANYWIDGET_HMR", "1")
    assert bundle.source("widget.js", tmp_path) == tmp_path / "widget.js"
