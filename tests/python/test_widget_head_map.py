"""The map of heads in the widget."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
import pytest

import bertlens as bl
from bertlens.corpus.distances import HeadDistances, HeadMap, distances
from bertlens.widgets.explorer import Explorer
from bertlens.widgets.requests import protocol
from bertlens.widgets.traits import SelectionError
from tests.python.tiny import SENTENCES, tiny, tokenizer_for

APART = HeadDistances(np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0))), 3, 4, texts=7)


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


@pytest.fixture
def view(lens: bl.Lens) -> Iterator[Explorer]:
    made = lens.explore(SENTENCES[0])
    yield made
    made.close()


def line(labels: list[list[str]] | None = None) -> HeadMap:
    """Heads in a row, from (10, 5) to (32, 5)."""
    points = np.stack([10 + 2 * np.arange(12.0), np.full(12, 5.0)], -1).reshape(3, 4, 2)
    named = np.full((3, 4), "") if labels is None else np.array(labels)
    return HeadMap(points, named, APART)


def test_a_map_crosses_within_the_unit_square(view: Explorer) -> None:
    labels = [["cls", "", "", ""], ["odd", "next", "", ""], [""] * 4]
    shown = view.head_map(line(labels))
    assert shown.views == ["map"]
    sent = shown.get_state("mapped_heads")["mapped_heads"]
    assert sent["points"][0][0] == [0, 0.5]
    assert sent["points"][2][3] == [1, 0.5]
    assert sent["points"][1][1] == pytest.approx([5 / 11, 0.5], abs=1e-4)
    assert sent["texts"] == 7
    named = [[sent["categories"][index] for index in row] for row in sent["labels"]]
    assert named == labels
    assert sent["categories"][0] == ""


def test_every_view_of_the_selection_has_the_map(view: Explorer) -> None:
    heads = line()
    one = view.head_map(heads)
    assert view.mapped_heads is one.mapped_heads is heads
    assert view.head_map().mapped_heads is heads


def test_a_still_picture_has_every_head_and_rings_the_chosen(view: Explorer) -> None:
    labels = [["cls", "", "", ""], ["<b>", "next", "", ""], [""] * 4]
    shown = view.head_map(line(labels))
    view.layer, view.heads = 1, [1]
    svg = shown.static().svg
    drawn = ElementTree.fromstring(svg)
    paths = [path.get("d") for path in drawn.iter("{http://www.w3.org/2000/svg}path")]
    assert sum(path.count("h0") for path in paths) == 12 + 4  # and four colours named below
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 1
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Head map", "1-1", "[CLS] 1", "<b> 1", "next 1", "none of these 9"} <= set(texts)
    view.mapped_heads = None
    assert "No map of heads yet." in shown.static().svg


def test_a_scan_with_distances_is_a_map(view: Explorer, lens: bl.Lens) -> None:
    scan = lens.scan(SENTENCES, distances=True, progress=False)
    view.head_map(scan)
    assert view.mapped_heads.labels.tolist() == scan["behaviour"].labels.tolist()
    assert view.mapped_heads.distances.texts == 4
    with pytest.raises(ValueError, match="scan with distances=True"):
        view.head_map(lens.scan(SENTENCES, progress=False))


def test_without_a_map_it_is_that_of_the_text(view: Explorer) -> None:
    shown = view.head_map()
    expected = distances(view.attention)
    np.testing.assert_allclose(shown.mapped_heads.distances.values, expected.values)


def test_a_map_of_another_model_is_refused(view: Explorer) -> None:
    other = HeadMap(np.zeros((2, 4, 2)), np.full((2, 4), ""), APART)
    with pytest.raises(SelectionError, match="of 2 layers x 4 heads, but this model has 3 x 4"):
        view.head_map(other)
    with pytest.raises(SelectionError, match="must be a HeadMap or None"):
        view.mapped_heads = "heads"


def test_a_map_stays_with_another_text_and_goes_with_another_model(view: Explorer) -> None:
    heads = line()
    view.head_map(heads)
    view.text = SENTENCES[1]
    assert view.mapped_heads is heads
    other = bl.Lens(tiny("distilbert"), tokenizer_for("distilbert"))(SENTENCES[0])
    view.attention = other  # 3 x 4 heads too
    assert view.mapped_heads is heads
    view.attention = bl.Lens.demo()(SENTENCES[0])
    assert view.mapped_heads is None


def test_the_page_asks_for_the_nearest_heads(view: Explorer) -> None:
    view.head_map(line())
    content, _ = protocol.reply(
        view.selection, {"id": "1", "kind": "nearest", "layer": 0, "head": 1}
    )
    assert content["ok"]
    found = content["nearest"]
    assert found[:3] == [[0, 0, 1.0], [0, 2, 1.0], [0, 3, 2.0]]
    assert len(found) == 10


def test_nearest_heads_need_a_map_and_a_head(view: Explorer) -> None:
    request = {"id": "1", "kind": "nearest", "layer": 0, "head": 4}
    content, _ = protocol.reply(view.selection, request)
    assert content["error"] == "There is no map of heads."
    view.head_map(line())
    content, _ = protocol.reply(view.selection, request)
    assert content["error"] == "'head' must be an integer of 0 to 3, not 4."


def test_the_page_cannot_set_the_map(view: Explorer) -> None:
    heads = line()
    view.head_map(heads)
    view.set_state({"mapped_heads": None})
    assert view.mapped_heads is heads
