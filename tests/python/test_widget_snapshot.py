"""The still picture that stands beside the widget."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import bertlens as bl
from bertlens.widgets.explorer import Explorer
from bertlens.widgets.snapshot.png import png
from tests.python.page import countable

STORE = "I went to the store."
STRAWBERRIES = "At the store, I bought fresh strawberries."
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return countable()


@pytest.fixture(scope="module")
def long(demo: bl.Lens) -> bl.Attention:
    """512 tokens."""
    return demo("The small lamp stood near the old window while rain fell. " * 50, truncate=True)


def parsed(view: Explorer) -> ElementTree.Element:
    """The picture as any browser reads it: out of the data URI of the <img>."""
    html = view._repr_mimebundle_()[0]["text/html"]
    found = re.fullmatch(
        r'<img alt="[^"]+" style="[^"]+" src="data:image/svg\+xml;base64,(.*)">', html
    )
    assert found
    return ElementTree.fromstring(base64.b64decode(found[1]))


def labels(svg: ElementTree.Element) -> list[str]:
    return ["".join(element.itertext()) for element in svg.iter(f"{SVG}text")]


def lines(svg: ElementTree.Element) -> int:
    paths = [path.get("d", "") for path in svg.iter(f"{SVG}path") if path.get("stroke-opacity")]
    return sum(path.count("C") for path in paths)


def test_the_picture_stands_beside_the_widget(lens: bl.Lens) -> None:
    data, metadata = lens.explore(STORE)._repr_mimebundle_()
    assert set(data) == {"text/plain", "application/vnd.jupyter.widget-view+json", "text/html"}
    assert isinstance(metadata, dict)


def test_it_says_in_words_what_it_shows(lens: bl.Lens) -> None:
    view = lens.explore('I "went" to the <store>.', layer=1, heads=[0, 2])
    html = view.static()._repr_html_()
    assert (
        'alt="Attention of BertModel, layer 1, heads 0, 2, over “I &quot;went&quot; to the ' in html
    )
    assert "<store>" not in html


def test_both_columns_hold_every_token_and_markup_is_text(lens: bl.Lens) -> None:
    view = lens.explore("I <b>went</b> & sat.\x00")
    shown = labels(parsed(view))
    for label in ("[CLS]", "I", "<", "b", ">", "went", "&", "sat", ".", "[SEP]"):
        assert shown.count(label) >= 2, label


def test_every_line_from_the_smallest_weight_up_is_drawn(demo: bl.Lens) -> None:
    attention = demo(STORE, STRAWBERRIES)
    view = attention.explore(layer=1, heads=[8, 4], min_weight=0.1)
    expected = int((attention.weights(1)[[8, 4]] >= 0.1).sum())
    assert lines(parsed(view)) == expected


def test_a_pinned_token_shows_only_its_lines(demo: bl.Lens) -> None:
    attention = demo(STORE, STRAWBERRIES)
    view = attention.explore(layer=2, heads=[0], token=5, min_weight=0.01)
    assert attention.tokens[5].label == "store"
    weights = attention.weights(2, 0)
    assert lines(parsed(view)) == (weights[5] >= 0.01).sum()
    assert "“store” attends to" in labels(parsed(view))
    assert f"{weights[5].max():.3f}" in labels(parsed(view))
    view.side = "to"
    assert lines(parsed(view)) == (weights[:, 5] >= 0.01).sum()
    assert "“store” gets attention from" in labels(parsed(view))


def test_filters_of_the_view_hold_in_the_picture(demo: bl.Lens) -> None:
    attention = demo(STORE, STRAWBERRIES)
    second = np.array([token.segment == 1 for token in attention.tokens])
    weights = attention.weights(1, 4)
    view = attention.explore(layer=1, heads=[4], segment_filter="a->b")
    assert lines(parsed(view)) == (weights[~second][:, second] >= 0.02).sum()
    view.segment_filter = "all"
    view.special = "hide"
    special = np.array([token.special for token in attention.tokens])
    assert lines(parsed(view)) == (weights[~special][:, ~special] >= 0.02).sum()
    assert "[CLS]" not in [label for label in labels(parsed(view)) if not label.startswith("“")]
    view.special = "renormalise"
    left = np.where(special, 0, weights)
    left = left / left.sum(1, keepdims=True)
    assert lines(parsed(view)) == (left[~special] >= 0.02).sum()


def test_words_are_drawn_where_the_view_shows_words(demo: bl.Lens) -> None:
    view = demo(STORE, STRAWBERRIES).explore(level="word", token=16)
    assert view.attention.tokens[16].label == "berries"
    shown = labels(parsed(view))
    assert shown.count("strawberries") >= 2
    assert "berries" not in shown
    assert "“strawberries” attends to" in shown


def test_the_layer_grid_shows_small_maps_or_a_score(lens: bl.Lens) -> None:
    image = pytest.importorskip("PIL.Image")
    view = lens.explore(STORE, layer=1, heads=[3])
    grid = view.layer_grid()
    (found,) = grid_images(grid)
    attention = view.attention
    n = len(attention.tokens)
    pixels = np.asarray(image.open(io.BytesIO(found)))
    assert pixels.shape == (3 * n, 4 * n)
    cell = pixels[2 * n : 3 * n, n : 2 * n]
    expected = np.rint(np.sqrt(attention.weights(2, 1)) * 15)
    np.testing.assert_array_equal(cell, expected)

    values = np.arange(12.0).reshape(3, 4)
    values[0, 1] = np.nan
    view.score = bl.HeadScores("order", values, unit="places")
    (found,) = grid_images(grid)
    pixels = np.asarray(image.open(io.BytesIO(found)))
    assert pixels.shape == (3, 4)
    assert pixels[0, 0] == 0
    assert pixels[2, 3] == 15
    svg = ElementTree.fromstring(grid.static().svg)
    assert svg.find(f".//{SVG}pattern") is not None
    assert "order (places)" in labels(svg)
    assert {"0", "11"} <= set(labels(svg))


def test_a_score_of_categories_is_drawn_with_its_names(lens: bl.Lens) -> None:
    values = np.full((3, 4), np.nan)
    values[0, 0], values[1, 2], values[0, 1] = 1, 2, 0
    view = lens.explore(STORE)
    view.score = bl.HeadScores("behaviour", values, categories=("", "broad", "next"))
    grid = view.layer_grid()
    assert {"behaviour", "broad", "next"} <= set(labels(ElementTree.fromstring(grid.static().svg)))
    image = pytest.importorskip("PIL.Image")
    pixels = np.asarray(image.open(io.BytesIO(grid_images(grid)[0])).convert("RGB"))
    shown = {tuple(pixels[0, 0]), tuple(pixels[1, 2]), tuple(pixels[2, 3])}
    assert len(shown) == 3
    assert tuple(pixels[2, 3]) == tuple(pixels[0, 1]) == (255, 255, 255)


def test_a_picture_that_fails_leaves_the_widget(
    lens: bl.Lens, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no room")

    view = lens.explore(STORE)
    monkeypatch.setattr("bertlens.widgets.view.picture", fail)
    data, _ = view._repr_mimebundle_()
    assert set(data) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert "no room" in caplog.text


def grid_images(view: object) -> list[bytes]:
    svg = ElementTree.fromstring(view.static().svg)
    uris = [image.get("href", "") for image in svg.iter(f"{SVG}image")]
    return [base64.b64decode(uri.removeprefix("data:image/png;base64,")) for uri in uris]


def test_a_png_reads_back_as_it_was_written() -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 16, (7, 13), np.uint8)
    palette = [(i, 255 - i, 7 * i) for i in range(16)]
    read = image.open(io.BytesIO(png(pixels, palette)))
    np.testing.assert_array_equal(np.asarray(read), pixels)
    expected = np.array(palette, np.uint8)[pixels]
    np.testing.assert_array_equal(np.asarray(read.convert("RGB")), expected)


@pytest.mark.parametrize("heads", [[0], list(range(12))])
def test_at_512_tokens_it_stays_below_60_kilobytes(long: bl.Attention, heads: list[int]) -> None:
    assert len(long.tokens) == 512
    view = long.explore(heads=heads, min_weight=0.0)
    html = view._repr_mimebundle_()[0]["text/html"]
    assert len(html.encode()) < 60_000
    shown = labels(parsed(view))
    assert any(re.match(r"tokens 0 to 47 of 512; the strongest \d+ of \d+ lines", s) for s in shown)
    view.token = 300
    assert "tokens 276 to 323 of 512" in labels(parsed(view))


def test_a_text_of_wide_characters_stays_below_60_kilobytes(lens: bl.Lens) -> None:
    view = lens.explore("&" * 60, heads=[0, 1, 2, 3], min_weight=0.0)
    assert len(view._repr_mimebundle_()[0]["text/html"].encode()) < 60_000
    view.text = "注意" * 20
    assert len(view._repr_mimebundle_()[0]["text/html"].encode()) < 60_000


def test_static_is_an_output_of_its_own(lens: bl.Lens) -> None:
    view = lens.explore(STORE, layer=1)
    picture = view.static()
    view.layer = 2
    assert "Layer 1" in labels(ElementTree.fromstring(picture.svg))
    assert picture._repr_html_().startswith("<img ")
    assert repr(picture).startswith("<Picture: Attention of BertModel, layer 1")


def test_a_view_of_one_pane_draws_that_pane(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    assert "Layers × heads" in labels(ElementTree.fromstring(view.layer_grid().static().svg))
    head = labels(ElementTree.fromstring(view.head_view().static().svg))
    assert "Layer 0" in head
    assert "Layers × heads" not in head
    token = labels(ElementTree.fromstring(view.token_view().static().svg))
    assert "Attention received" in token


def test_without_a_chosen_head_the_picture_says_so(lens: bl.Lens) -> None:
    shown = labels(parsed(lens.explore(STORE, heads=[])))
    assert {"no head chosen", "No head chosen"} <= set(shown)


def texts_in(view: Explorer) -> list[str]:
    svg = re.sub(r"\s+", " ", view.static().svg)
    return labels(ElementTree.fromstring(svg))


@pytest.mark.parametrize("pane", ["head_view", "layer_grid", "token_view", "query_key_view"])
def test_the_texts_are_wrapped_within_every_pane(lens: bl.Lens, pane: str) -> None:
    view = lens.explore(STORE, STRAWBERRIES)
    svg = ElementTree.fromstring(getattr(view, pane)().static().svg)
    shown = " ".join(labels(svg))
    assert f"{STORE} / {STRAWBERRIES}" in shown
    width = float(svg.get("width", 0))
    first = svg.findall(f".//{SVG}g")[0]
    # 7 px a character is more than a letter of this font takes.
    assert all(6.9 * len("".join(line.itertext())) <= width for line in first.iter(f"{SVG}text"))


def test_the_query_key_picture_shows_the_pinned_tokens_weights(lens: bl.Lens) -> None:
    view = lens.explore(STORE, layer=1, heads=[2], token=4)
    shown = texts_in(view.query_key_view())
    weights = view.attention.weights(1, 2)[4]
    best = int(weights.argmax())
    at = shown.index("weight") + 1
    row = shown[at : at + 4]
    assert row[0] == view.attention.tokens[best].label
    assert float(row[3]) == pytest.approx(weights[best], abs=5e-4)


def test_the_query_key_picture_says_what_is_missing(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    assert any(line.startswith("Pin a token") for line in texts_in(view.query_key_view()))


def test_notes_and_predictions_are_part_of_the_picture(lens: bl.Lens) -> None:
    from bertlens.attention.prediction import Prediction

    attention = lens(STORE)
    attention.notes = ("Cut to 8 of 20 tokens.",)
    attention.prediction = Prediction("positive", 0.75)
    shown = texts_in(attention.explore().head_view())
    assert "Prediction: positive 75.0%" in shown
    assert "Cut to 8 of 20 tokens." in shown


def test_a_grid_of_a_long_text_has_no_blank_rows(
    long: bl.Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertlens.widgets.snapshot.grid.MOST_WEIGHTS", 1_000)
    view = long.explore(layer=4)
    shown = texts_in(view.layer_grid())
    assert "Heads of the layer" in shown
    # One row, numbered as the layer that it is; the heads' numbers stand above it.
    assert shown[shown.index("Heads of the layer") + 1 :][:13] == [*map(str, range(12)), "4"]


def test_a_head_is_the_same_colour_in_the_picture_and_on_the_page(lens: bl.Lens) -> None:
    view = lens.explore(STORE, heads=[2, 0])
    page = (Path(__file__).parents[2] / "js/src/drawing/palette.ts").read_text()
    first, second = re.findall(r"0x([0-9a-f]{6})", page)[:2]
    swatches = re.findall(r'rx="3" fill="#([0-9a-f]{6})"', view.head_view().static().svg)
    assert swatches == [first, second]
