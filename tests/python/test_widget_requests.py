"""What the page asks for, and what it is answered."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import bertlens as bl
from bertlens.widgets.requests import protocol
from bertlens.widgets.requests.maps import coded, renormalised, thumbnails
from tests.python.page import Page, countable

pytestmark = pytest.mark.usefixtures("pages")

STORE = "I went to the store."
STRAWBERRIES = "At the store, I bought fresh strawberries."


@pytest.fixture(scope="module")
def store(demo: bl.Lens) -> bl.Attention:
    """The packaged model on the pair of the tour."""
    return demo(STORE, STRAWBERRIES)


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return countable()


def test_a_block_holds_the_square_roots_of_the_weights(store: bl.Attention) -> None:
    reply, block = Page(store.explore()).ask("block", layer=2, heads=[8, 0], level="token")
    assert (reply["ok"], reply["error"], reply["dtype"]) == (True, None, "uint8")
    n = len(store.tokens)
    assert reply["shape"] == [2, n, n]
    expected = np.sqrt(store.weights(2))[[8, 0]]
    # half a step of 1/255
    assert np.abs(block / 255 - expected).max() < 0.002


def test_blocks_decode_to_the_reference_weights(
    store: bl.Attention, minilm: dict[str, np.ndarray], minilm_texts: list[list[str]]
) -> None:
    weights = minilm[f"attention_{minilm_texts.index([STORE, STRAWBERRIES])}"]
    page = Page(store.explore())
    for layer in range(6):
        _, block = page.ask("block", layer=layer, heads=list(range(12)), level="token")
        decoded = (block.astype(float) / 255) ** 2
        small = weights[layer] < 0.25
        assert np.abs(decoded - weights[layer])[small].max() < 0.002
        assert np.abs(decoded - weights[layer]).max() < 0.004


def test_a_block_of_words_is_pooled_in_the_kernel(lens: bl.Lens) -> None:
    attention = lens("I bought strawberries.")
    weights = attention.weights(1, 3)
    # by hand: three pieces of "strawberries" are tokens 3 to 5 of 8
    assert [token.word for token in attention.tokens] == [0, 1, 2, 3, 3, 3, 4, 5]
    columns = np.column_stack([weights[:, :3], weights[:, 3:6].sum(1), weights[:, 6:]])
    expected = np.vstack([columns[:3], columns[3:6].mean(0, keepdims=True), columns[6:]])
    reply, block = Page(attention.explore()).ask("block", layer=1, heads=[3], level="word")
    assert reply["shape"] == [1, 6, 6]
    assert np.abs(block[0] / 255 - np.sqrt(expected)).max() < 0.002


def test_the_code_reaches_both_ends_and_rounds() -> None:
    weights = np.array([0, 1, (10.4 / 255) ** 2, (10.6 / 255) ** 2], np.float32)
    assert coded(weights).tolist() == [0, 255, 10, 11]


def test_a_block_too_large_for_a_reply_says_how_many_heads_fit(demo: bl.Lens) -> None:
    attention = demo("the small lamp stood near the old window " * 100, truncate=True)
    page = Page(attention.explore())
    every = list(range(12))
    reply, block = page.ask("block", layer=0, heads=every, level="token")
    assert reply["ok"]
    assert block.nbytes == 12 * 512 * 512 < protocol.LIMIT
    _, grid = page.ask("grid", layers=[0, 1, 2, 3, 4, 5], level="token")
    assert grid.shape == (6, 12, 48, 48)


def test_more_than_four_megabytes_are_refused_with_what_fits(
    lens: bl.Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertlens.widgets.requests.maps.LIMIT", 150)
    page = Page(lens(STORE).explore())
    reply, _ = page.ask("block", layer=0, heads=[0, 1, 2], level="token")
    assert not reply["ok"]
    assert "at most 2 heads" in reply["error"]
    reply, _ = page.ask("block", layer=0, heads=[0, 1], level="token")
    assert reply["ok"]


def test_thumbnails_keep_the_largest_weight_of_each_block() -> None:
    weights = np.zeros((1, 6, 6), np.float32)
    weights[0, 0, 5] = 0.5
    weights[0, 3, 2] = 0.7
    weights[0, 3, 3] = 0.2
    assert thumbnails(weights, 3)[0].tolist() == [
        [0, 0, np.float32(0.5)],
        [0, np.float32(0.7), 0],
        [0, 0, 0],
    ]
    assert thumbnails(weights, 48).shape == (1, 6, 6)


def test_thumbnails_of_a_diagonal_stay_a_diagonal() -> None:
    small = thumbnails(np.eye(511, dtype=np.float32)[None])[0]
    assert small.shape == (48, 48)
    assert (np.diagonal(small) == 1).all()
    assert (small.sum(1) <= 2).all()


def test_a_grid_holds_every_head_of_the_layers_asked_for(store: bl.Attention) -> None:
    n = len(store.tokens)
    reply, grid = Page(store.explore()).ask("grid", layers=[5, 2], level="token")
    assert reply["shape"] == [2, 12, n, n]
    np.testing.assert_array_equal(grid[1], coded(store.weights(2)))


def test_an_exact_row_is_where_attention_goes_and_a_column_where_it_comes_from(
    store: bl.Attention,
) -> None:
    page = Page(store.explore())
    weights = store.weights(2)
    ask = {"layer": 2, "heads": [0, 8], "level": "token", "special": "show"}
    reply, row = page.ask("row", index=4, side="from", **ask)
    assert (reply["dtype"], reply["shape"]) == ("float32", [2, len(store.tokens)])
    np.testing.assert_array_equal(row, weights[[0, 8], 4, :])
    _, column = page.ask("row", index=4, side="to", **ask)
    np.testing.assert_array_equal(column, weights[[0, 8], :, 4])
    _, received = page.ask("row", index=None, side="to", **ask)
    np.testing.assert_allclose(received, weights[[0, 8]].mean(1), atol=1e-7)


def test_a_renormalised_row_leaves_special_tokens_out_and_sums_to_one(store: bl.Attention) -> None:
    page = Page(store.explore())
    special = np.array([token.special for token in store.tokens])
    ask = {"layer": 3, "heads": [1], "level": "token", "special": "renormalise"}
    _, row = page.ask("row", index=5, side="from", **ask)
    assert (row[0, special] == 0).all()
    assert row.sum() == pytest.approx(1, abs=1e-5)
    weights = store.weights(3, 1).astype(float)
    expected = weights[5, 2] / weights[5, ~special].sum()
    assert row[0, 2] == pytest.approx(expected, rel=1e-5)
    _, column = page.ask("row", index=2, side="to", **ask)
    assert column[0, 5] == pytest.approx(expected, rel=1e-5)


def test_a_row_with_nothing_left_is_zero_not_undefined() -> None:
    weights = np.array([[1, 0, 0], [0.5, 0.25, 0.25]], np.float32)
    left = renormalised(weights, np.array([True, False, False]))
    assert left.tolist() == [[0, 0, 0], [0, 0.5, 0.5]]


def test_rows_of_words_are_exact_too(lens: bl.Lens) -> None:
    attention = lens("I bought strawberries.")
    page = Page(attention.explore())
    ask = {"layer": 0, "heads": [2], "level": "word", "special": "show"}
    _, row = page.ask("row", index=3, side="from", **ask)
    weights = attention.weights(0, 2)
    pieces = weights[3:6].mean(0)
    expected = [*pieces[:3], pieces[3:6].sum(), *pieces[6:]]
    np.testing.assert_allclose(row[0], expected, atol=1e-6)


def test_scores_of_the_text_are_offered(
    store: bl.Attention, minilm: dict[str, np.ndarray], minilm_texts: list[list[str]]
) -> None:
    reply, _ = Page(store.explore()).ask("scores")
    offered = {score["name"]: score for score in reply["scores"]}
    assert offered["entropy"]["unit"] == "nats"
    assert offered["entropy"]["notable"] == "low"
    expected = minilm[f"entropy_{minilm_texts.index([STORE, STRAWBERRIES])}"]
    np.testing.assert_allclose(offered["entropy"]["values"], expected, atol=1e-5)


def test_a_typed_text_changes_the_traits_before_its_reply(lens: bl.Lens) -> None:
    view = lens.explore(STORE, layer=2, heads=[1], token=3)
    page = Page(view)
    with page.new() as messages:
        reply, _ = page.ask("text", text="The cat sat.", text_pair=None)
    assert reply["ok"]
    assert [message["method"] for message in messages] == ["update", "custom"]
    assert messages[0]["state"]["text"] == "The cat sat."
    assert messages[0]["state"]["token"] is None
    assert reply["generation"] == view.generation == page.state["generation"] == 2
    assert view.attention.text == "The cat sat."
    assert (view.layer, view.heads) == (2, [1])


def test_a_text_emptied_on_the_page_is_no_text_at_all(lens: bl.Lens) -> None:
    view = lens.explore(STORE, STRAWBERRIES)
    reply, _ = Page(view).ask("text", text=STORE, text_pair="  ")
    assert reply["ok"]
    assert view.text_pair is None
    reply, _ = Page(view).ask("text", text="", text_pair=None)
    assert not reply["ok"]
    assert "empty" in reply["error"]
    assert view.text == STORE


def test_a_text_too_long_is_refused_with_both_lengths(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    reply, _ = Page(view).ask("text", text="the store " * 100, text_pair=None)
    assert not reply["ok"]
    assert "202 tokens and the model takes 64" in reply["error"]
    assert (view.text, view.generation) == (STORE, 1)


def test_the_same_text_again_is_answered_without_a_run(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    attention = view.attention
    reply, _ = Page(view).ask("text", text=STORE, text_pair=None)
    assert reply["ok"]
    assert view.attention is attention


def test_a_question_about_an_earlier_text_is_not_answered_with_the_new_one(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    page = Page(view)
    view.text = "The cat sat."
    reply, block = page.ask("block", layer=0, heads=[0], level="token", generation=1)
    assert (reply["ok"], block, reply["generation"]) == (False, None, 2)
    assert "changed" in reply["error"]


class Held:
    """Another thread that holds a model, as a scan does."""

    def __init__(self, lens: bl.Lens) -> None:
        self._held, self._done = threading.Event(), threading.Event()
        self._lens = lens
        self._thread = threading.Thread(target=self._hold)

    def _hold(self) -> None:
        with self._lens.lock:
            self._held.set()
            self._done.wait(30)

    def __enter__(self) -> None:
        self._thread.start()
        assert self._held.wait(30)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def test_a_text_is_answered_busy_while_other_work_holds_the_model(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    page = Page(view)
    with Held(lens):
        reply, _ = page.ask("text", text="The cat sat.", text_pair=None)
        assert (reply["ok"], reply["busy"], reply["error"]) == (False, True, "The model is busy")
    reply, _ = page.ask("text", text="The cat sat.", text_pair=None)
    assert reply["ok"]


def test_blocks_of_stored_queries_and_keys_do_not_wait_for_the_model(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    page = Page(view)
    with Held(lens):
        assert page.ask("block", layer=1, heads=[0], level="word")[0]["ok"]
        assert page.ask("grid", layers=[0], level="token")[0]["ok"]


def test_a_block_whose_tensors_were_let_go_is_busy_rather_than_stuck(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    expected = view.attention.weights(1, 2).copy()
    page = Page(view)
    view.attention.close()
    with Held(lens):
        reply, _ = page.ask("block", layer=1, heads=[2], level="token")
        assert reply["busy"]
    _, block = page.ask("block", layer=1, heads=[2], level="token")
    np.testing.assert_array_equal(block[0], coded(expected))


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("blok", {}, "no request of kind 'blok'; there are: "),
        ("block", {}, "needs 'level'"),
        ("block", {"level": "token"}, "needs 'layer'"),
        ("block", {"level": "letter"}, "'level' must be one of token, word, not 'letter'"),
        ("block", {"level": "token", "layer": 9, "heads": [0]}, "integer of 0 to 2, not 9"),
        ("block", {"level": "token", "layer": 0, "heads": [4]}, "integers of 0 to 3: [4]"),
        ("block", {"level": "token", "layer": 0, "heads": []}, "at least one head"),
        ("block", {"level": "token", "layer": 0, "heads": 1}, "'heads' must be a list"),
        ("grid", {"level": "token", "layers": []}, "1 to "),
        (
            "row",
            {
                "level": "token",
                "layer": 0,
                "heads": [0],
                "side": "from",
                "special": "show",
                "index": 8,
            },
            "'index' must be an integer of 0 to 7, not 8",
        ),
        ("text", {"text": 5}, "'text' must be a string, not 5"),
    ],
)
def test_a_request_that_makes_no_sense_is_answered_in_words(
    lens: bl.Lens, kind: str, fields: dict[str, object], words: str
) -> None:
    reply, data = Page(lens.explore(STORE)).ask(kind, **fields)
    assert (reply["ok"], data, reply["dtype"], reply["shape"]) == (False, None, None, None)
    assert words in reply["error"]


def test_a_fault_in_the_kernel_reaches_the_page_in_words(
    lens: bl.Lens, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    view = lens.explore(STORE)
    monkeypatch.setattr("bertlens.widgets.requests.maps.coded", fail)
    reply, _ = Page(view).ask("block", layer=0, heads=[0], level="token")
    assert not reply["ok"]
    assert reply["error"] == "ZeroDivisionError: division by zero"
    assert "fail" in caplog.text


def test_an_interrupted_request_is_answered_too(
    lens: bl.Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    view = lens.explore(STORE)
    monkeypatch.setattr("bertlens.widgets.requests.maps.coded", interrupt)
    reply, _ = Page(view).ask("block", layer=0, heads=[0], level="token")
    assert (reply["ok"], reply["error"]) == (False, "Interrupted")


def test_requests_on_another_thread_and_a_cell_on_this_one_do_not_disturb_each_other(
    lens: bl.Lens,
) -> None:
    view = lens.explore(STORE)
    head = view.head_view()
    page = Page(head)
    errors: list[object] = []

    def click() -> None:
        for i in range(40):
            page.set(layer=i % 3, heads=[i % 4])
            reply, _ = page.ask("text", text="The cat sat." if i % 2 else STORE, text_pair=None)
            if not reply["ok"] and not reply.get("busy"):
                errors.append(reply)

    clicking = threading.Thread(target=click)
    clicking.start()
    for i in range(40):
        view.layer = i % 3
        view.text = "The dog did not mind." if i % 2 else STORE
    clicking.join()
    assert not errors
    view.heads = [3]
    assert view.attention.text == view.text == head.text == page.state["text"]
    assert (head.layer, head.heads) == (view.layer, [3])
    assert (page.state["layer"], page.state["heads"]) == (view.layer, [3])
    assert page.state["meta"]["from"]["label"] == [t.label for t in view.attention.tokens]
