"""What the page asks of the inside of a head, of pairs of tokens, and of value norms."""

from __future__ import annotations

import numpy as np
import pytest
from traitlets import TraitError

import bertlens as bl
from tests.python.opened import attention_of
from tests.python.page import Page, countable

pytestmark = pytest.mark.usefixtures("pages")

STORE = "I went to the store."


@pytest.fixture
def lens() -> bl.Lens:
    return countable()


@pytest.mark.parametrize("side", ["from", "to"])
def test_one_token_crosses_with_the_vectors_of_the_others(lens: bl.Lens, side: str) -> None:
    attention = lens(STORE)
    page = Page(attention.explore().query_key_view())
    reply, rows = page.ask("inside", layer=1, head=2, index=3, side=side)
    assert reply["ok"], reply["error"]
    queries, keys = attention.queries(1, 2), attention.keys(1, 2)
    own, others = (queries[3], keys) if side == "from" else (keys[3], queries)
    np.testing.assert_allclose(reply["own"], own, atol=1e-6)
    np.testing.assert_allclose(rows[:, :8], others, atol=1e-6)
    of_token = (3, slice(None)) if side == "from" else (slice(None), 3)
    dot, total, weight = rows[:, 8], rows[:, 9], rows[:, 10]
    np.testing.assert_allclose(dot, others @ own, atol=1e-4)
    np.testing.assert_allclose(total, attention.scores_before_softmax(1, 2)[of_token], atol=1e-4)
    np.testing.assert_allclose(weight, attention.weights(1, 2)[of_token], atol=1e-6)
    assert reply["parts"] == []
    assert reply["scale"] == pytest.approx(8**-0.5)
    assert reply["sink"] is None


def test_what_is_added_to_a_score_is_a_column_of_its_own() -> None:
    page = Page(attention_of("gpt2", "I went").explore())
    reply, rows = page.ask("inside", layer=0, head=0, index=0, side="from")
    assert reply["parts"] == ["mask"]
    assert rows[0, -1] == 0
    assert (rows[1:, -1] < -1e30).all()
    bias, _ = Page(attention_of("t5").explore()).ask("inside", layer=0, head=0, index=0, side="to")
    assert bias["parts"] == ["position_bias"]
    sink, _ = Page(attention_of("gpt_oss").explore()).ask(
        "inside", layer=0, head=0, index=0, side="from"
    )
    assert isinstance(sink["sink"], float)


def test_a_family_that_hides_its_queries_says_so_on_the_page() -> None:
    reply, _ = Page(attention_of("mpnet").explore()).ask(
        "inside", layer=0, head=0, index=0, side="from"
    )
    assert not reply["ok"]
    assert "Queries, keys and values of MPNetModel are not available" in reply["error"]


def test_at_512_tokens_a_token_crosses_in_few_bytes(demo: bl.Lens) -> None:
    attention = demo("word " * 600, truncate=True)
    page = Page(attention.explore())
    reply, rows = page.ask("inside", layer=2, head=0, index=100, side="from")
    assert reply["ok"], reply["error"]
    assert rows.shape == (512, 32 + 3)
    assert rows.nbytes < 100_000


def test_an_explorer_asks_for_nothing_of_the_pane(lens: bl.Lens) -> None:
    page = Page(lens(STORE).explore())
    assert page.state["views"] == ["grid", "head", "token", "query-key"]
    sent = [message for message, _ in page.comm.messages if message.get("method") == "custom"]
    assert sent == []


def test_a_pair_of_tokens_scores_every_head(lens: bl.Lens) -> None:
    attention = lens(STORE)
    page = Page(attention.explore())
    reply, _ = page.ask("between", **{"from": 2, "to": 5, "level": "token"})
    expected = attention.weights()[:, :, 2, 5]
    np.testing.assert_allclose(reply["score"]["values"], expected, atol=1e-6)
    assert reply["score"]["pair"] is True
    assert reply["score"]["baseline"] == pytest.approx(1 / len(attention.tokens))


def test_a_pair_that_is_kept_colours_the_grid_until_the_text_changes(lens: bl.Lens) -> None:
    view = lens(STORE).explore()
    page = Page(view)
    reply, _ = page.ask("between", **{"from": 2, "to": 5, "level": "token", "keep": True})
    page.set(score=reply["score"])
    assert view.score.name == reply["score"]["name"]
    assert Page(view.layer_grid()).state["score"]["pair"] is True
    listed, _ = page.ask("scores")
    assert reply["score"]["name"] in [score["name"] for score in listed["scores"]]
    view.text = "The cat sat."
    assert view.score is None
    listed, _ = page.ask("scores")
    assert reply["score"]["name"] not in [score["name"] for score in listed["scores"]]


def test_a_pair_that_is_pointed_at_leaves_no_trace(lens: bl.Lens) -> None:
    page = Page(lens(STORE).explore())
    reply, _ = page.ask("between", **{"from": 2, "to": 5, "level": "word"})
    listed, _ = page.ask("scores")
    assert reply["score"]["name"] not in [score["name"] for score in listed["scores"]]


def test_value_norms_are_drawn_as_shares_of_the_heads_largest_row(lens: bl.Lens) -> None:
    attention = lens(STORE)
    view = attention.explore()
    page = Page(view)
    before = page.state["generation"]
    page.set(norm="value")
    assert page.state["generation"] == before + 1
    assert "value norms" in page.state["meta"]["model"]
    assert any("Kobayashi 2020" in note for note in page.state["meta"]["notes"])
    norms = attention.weights(1, norm="value")
    largest = norms.sum(-1).max(-1)
    _, row = page.ask(
        "row", layer=1, heads=[0, 3], index=2, side="from", level="token", special="show"
    )
    np.testing.assert_allclose(row, norms[[0, 3], 2] / largest[[0, 3], None], atol=1e-6)
    _, block = page.ask("block", layer=1, heads=[3], level="token")
    assert np.abs(block[0] / 255 - np.sqrt(norms[3] / largest[3])).max() < 0.003
    view.norm = None
    assert page.state["generation"] == before + 2
    assert page.state["meta"]["model"] == attention.model_name
    assert page.state["meta"]["notes"] == list(attention.notes)


def test_value_norms_stay_on_for_the_next_text(lens: bl.Lens) -> None:
    view = lens(STORE).explore(norm="value")
    view.text = "The cat sat."
    assert view.norm == "value"
    assert "value norms" in view.meta["model"]
    assert view.attention.measure == "weights"


def test_a_family_without_value_norms_refuses_the_choice() -> None:
    view = attention_of("mpnet").explore()
    with pytest.raises(TraitError) as caught:
        view.norm = "value"
    assert "are not available" in str(caught.value)
    assert view.norm is None
    with pytest.raises(TraitError) as caught:
        attention_of("bert").rollout().explore(norm="value")
    assert "no value norms of rollout" in str(caught.value)


def test_scores_are_of_the_weights_whatever_is_drawn(lens: bl.Lens) -> None:
    attention = lens(STORE)
    page = Page(attention.explore(norm="value"))
    listed, _ = page.ask("scores")
    entropy = next(score for score in listed["scores"] if score["name"] == "entropy")
    np.testing.assert_allclose(entropy["values"], attention.scores["entropy"].values)


def test_a_rollout_explores_like_a_head_and_stays_one(lens: bl.Lens) -> None:
    view = lens(STORE).rollout().explore()
    page = Page(view)
    assert page.state["meta"]["n_heads"] == 1
    assert page.state["meta"]["model"].endswith(", rollout")
    _, block = page.ask("block", layer=2, heads=[0], level="token")
    assert block.shape == (1, 8, 8)
    view.text = "The cat sat."
    assert view.attention.measure == "rollout"
    expected = lens("The cat sat.").rollout().weights()
    np.testing.assert_allclose(view.attention.weights(), expected, atol=1e-6)


def test_value_norms_given_by_python_are_drawn_as_shares(lens: bl.Lens) -> None:
    page = Page(lens(STORE).value_norms().explore())
    _, block = page.ask("block", layer=0, heads=[0, 1, 2, 3], level="word")
    assert block.max() <= 255
    decoded = (block / 255.0) ** 2
    assert decoded.sum(-1).max() <= 1.01
