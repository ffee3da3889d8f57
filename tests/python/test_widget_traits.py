"""What a person reads, sets and observes of a view."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from traitlets import TraitError

import bertlens as bl
from bertlens.attention.maps import joined_kinds
from bertlens.attention.sources import DenseWeights
from bertlens.errors import BertlensError, EmptyTextError, TextTooLongError
from bertlens.widgets.explorer import Explorer
from tests.python.page import Page, countable

pytestmark = pytest.mark.usefixtures("pages")

STORE = "I went to the store."
STRAWBERRIES = "At the store, I bought fresh strawberries."


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return countable()


def test_a_view_starts_at_layer_0_head_0_with_nothing_pinned(lens: bl.Lens) -> None:
    view = lens.explore(STORE, STRAWBERRIES)
    assert isinstance(view, Explorer)
    assert (view.layer, view.heads, view.token) == (0, [0], None)
    assert (view.side, view.segment_filter, view.level) == ("from", "all", "token")
    assert (view.special, view.min_weight, view.score) == ("show", 0.02, None)
    assert (view.text, view.text_pair, view.kind) == (STORE, STRAWBERRIES, "self")
    assert view.views == ["grid", "head", "token", "query-key"]
    assert view.editable


def test_starting_values_are_given_by_name(lens: bl.Lens) -> None:
    view = lens(STORE).explore(layer=2, heads=[0, 3], token=4, level="word", editable=False)
    assert (view.layer, view.heads, view.token, view.level) == (2, [0, 3], 4, "word")
    assert not view.editable
    state = Page(view).state
    assert (state["layer"], state["heads"], state["token"]) == (2, [0, 3], 4)


def test_an_unknown_argument_is_a_type_error_that_names_it(lens: bl.Lens) -> None:
    with pytest.raises(TypeError, match=r"no 'layr' to set. There are: heads, kind, layer,"):
        lens(STORE).explore(layr=2)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("layer", 3, "no layer 3: this model has layers 0 to 2"),
        ("layer", -1, "no layer -1"),
        ("layer", "a", "'layer'.*integer.*'a'"),
        ("layer", True, "'layer'.*integer.*True"),
        ("heads", [0, 9], "no head 9: this model has heads 0 to 3"),
        ("heads", [1, 1], "holds 1 twice"),
        ("heads", 1, "'heads'.*list of heads"),
        ("heads", "01", "'heads'.*list of heads"),
        ("heads", [0, "a"], "must be an integer, not 'a'"),
        ("token", 99, "no token 99: this text has tokens 0 to 7"),
        ("side", "left", "'from', 'to'.*'left'"),
        ("segment_filter", "b", "'a->b'.*'b'"),
        ("level", "letter", "'token', 'word'.*'letter'"),
        ("special", "drop", "'hide', 'renormalise'.*'drop'"),
        ("min_weight", 1.5, "not be greater than 1.0.*1.5"),
        ("kind", "cross", "no kind of attention 'cross': this model has 'self'"),
        ("score", 0.5, "must be a HeadScores or None, not 0.5"),
        ("text", 5, "'text'.*string.*5"),
    ],
)
def test_a_wrong_value_is_refused_in_words_and_changes_nothing(
    lens: bl.Lens, name: str, value: object, words: str
) -> None:
    view = lens.explore("I went to the store.")
    assert len(view.attention.tokens) == 8
    before = getattr(view, name)
    with pytest.raises(TraitError, match=f"(?s){words}"):
        setattr(view, name, value)
    assert getattr(view, name) == before


def test_a_missing_layer_is_an_index_error_and_an_error_of_bertlens(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    with pytest.raises(IndexError):
        view.layer = 7
    with pytest.raises(BertlensError):
        view.layer = 7


def test_integers_of_numpy_and_any_sequence_of_heads_are_taken(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    view.layer = np.int64(2)
    view.heads = np.array([3, 1])
    assert (view.layer, view.heads) == (2, [3, 1])
    assert type(view.layer) is int
    view.heads = range(4)
    assert view.heads == [0, 1, 2, 3]
    view.heads = []
    assert view.heads == []


def test_views_of_one_pane_stay_in_step_both_ways(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    head, grid, token = view.head_view(), view.layer_grid(), view.token_view()
    assert [v.views for v in (head, grid, token)] == [["head"], ["grid"], ["token"]]
    view.layer = 1
    assert (head.layer, grid.layer, token.layer) == (1, 1, 1)
    head.heads = [2]
    assert (view.heads, grid.heads) == ([2], [2])
    Page(grid).set(layer=2, heads=[0, 3])
    assert (view.layer, view.heads, token.heads) == (2, [0, 3], [0, 3])
    assert Page(token).state["heads"] == [0, 3]
    view.selection.token = 5
    assert [v.token for v in (view, head, grid, token)] == [5, 5, 5, 5]


def test_a_click_that_changes_two_traits_reaches_each_other_page_as_one_message(
    lens: bl.Lens,
) -> None:
    view = lens.explore(STORE)
    head = view.head_view()
    with Page(head).new() as messages:
        Page(view).set(layer=2, heads=[1])
    assert [message["state"] for message in messages] == [{"layer": 2, "heads": [1]}]


def test_an_observer_of_one_trait_sees_the_others_of_the_same_click(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    head = view.head_view()
    seen: list[tuple[int, list[int]]] = []
    head.observe(lambda _: seen.append((head.layer, head.heads)), names=["layer", "heads"])
    Page(view).set(layer=2, heads=[1])
    assert seen == [(2, [1]), (2, [1])]


def test_what_the_page_sends_wrongly_is_put_right_there_and_said(lens: bl.Lens) -> None:
    view = lens.explore(STORE, layer=1)
    page = Page(view)
    with page.new() as messages:
        page.set(layer=99, heads=[2])
    assert (view.layer, view.heads) == (1, [0])
    assert (page.state["layer"], page.state["heads"]) == (1, [0])
    (words,) = [m["content"]["error"] for m in messages if m["method"] == "custom"]
    assert words == "There is no layer 99: this model has layers 0 to 2."


def test_the_page_cannot_change_what_only_the_kernel_knows(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    meta = view.meta
    Page(view).set(meta={}, generation=7, views=[], editable=False)
    assert (view.meta, view.generation, view.editable) == (meta, 1, True)


def test_a_new_text_keeps_layer_and_heads_and_clears_the_token(lens: bl.Lens) -> None:
    view = lens.explore(STORE, STRAWBERRIES, layer=2, heads=[3, 1], token=4)
    head = view.head_view()
    with Page(head).new() as messages:
        view.text = "The cat sat on the mat."
    assert (view.layer, view.heads, view.token) == (2, [3, 1], None)
    assert view.attention.text == "The cat sat on the mat."
    assert view.attention.text_pair == STRAWBERRIES
    assert (head.text, head.generation, head.token) == (view.text, 2, None)
    (message,) = messages
    assert set(message["state"]) == {"text", "generation", "meta", "token"}
    assert message["state"]["meta"]["from"]["label"][1:4] == ["The", "cat", "sat"]


def test_two_texts_set_together_run_the_model_once(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    with view.hold_trait_notifications():
        view.text = "The cat sat."
        view.text_pair = "The dog did not."
    assert (view.attention.text, view.attention.text_pair) == ("The cat sat.", "The dog did not.")
    assert view.generation == 2
    view.text_pair = None
    assert view.attention.text_pair is None
    assert view.generation == 3


def test_a_text_that_cannot_be_run_leaves_everything_as_it_was(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    attention = view.attention
    with pytest.raises(EmptyTextError):
        view.text = "  "
    with pytest.raises(TextTooLongError):
        view.text = "the store " * 100
    with pytest.raises(TextTooLongError), view.hold_trait_notifications():
        view.text = "the store " * 100
    assert (view.text, view.generation) == (STORE, 1)
    assert view.attention is attention
    assert Page(view).state["text"] == STORE


def test_a_long_text_is_cut_and_noted_where_that_was_asked_for(lens: bl.Lens) -> None:
    view = lens.explore("the store " * 100, truncate=True)
    assert view.meta["notes"] == ["Cut to 64 of 202 tokens."]
    view.text = "went to the " * 100
    assert len(view.attention.tokens) == 64
    assert view.meta["notes"] == ["Cut to 64 of 302 tokens."]


def test_another_attention_can_be_shown_in_the_same_views(lens: bl.Lens) -> None:
    view = lens.explore(STORE, STRAWBERRIES, segment_filter="a->b")
    head = view.head_view()
    words = lens(words=["The", "cat", "sat"])
    view.attention = words
    assert head.attention is words
    assert (head.text, head.text_pair, head.segment_filter) == ("The cat sat", None, "all")
    assert head.meta["from"]["words"]["label"] == ["[CLS]", "The", "cat", "sat", "[SEP]"]


def test_tokens_reach_the_page_as_columns(lens: bl.Lens) -> None:
    view = lens.explore("I bought strawberries.", "The cat.")
    columns = view.meta["from"]
    assert columns["label"] == [
        "[CLS]", "I", "bought", "straw", "ber", "ries", ".", "[SEP]", "The", "cat", ".", "[SEP]"
    ]  # fmt: skip
    assert columns["text"][2:6] == ["bought", "straw", "##ber", "##ries"]
    assert columns["word"] == [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9]
    assert columns["continuation"] == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    assert columns["special"] == [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert columns["segment"] == [0] * 8 + [1] * 4
    assert columns["words"]["label"] == [
        "[CLS]", "I", "bought", "strawberries", ".", "[SEP]", "The", "cat", ".", "[SEP]"
    ]  # fmt: skip
    assert columns["words"]["segment"] == [0] * 6 + [1] * 4
    assert columns["words"]["special"] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert view.meta["to"] is None
    assert (view.meta["n_layers"], view.meta["n_heads"]) == (3, 4)


def scores(name: str, layers: int = 3, heads: int = 4, **more: Any) -> bl.HeadScores:
    values = np.arange(layers * heads, dtype=float).reshape(layers, heads)
    return bl.HeadScores(name, values, **more)


def test_a_score_colours_the_grid_and_can_be_chosen_again_on_the_page(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    page = Page(view)
    dobj = scores("dobj", unit="accuracy", baseline=0.25)
    view.score = dobj
    sent = page.state["score"]
    assert (sent["name"], sent["unit"], sent["baseline"]) == ("dobj", "accuracy", 0.25)
    assert sent["values"] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert (sent["low"], sent["high"], sent["support"]) == (None, None, None)
    page.set(score=None)
    assert view.score is None
    page.set(score=sent)
    assert view.score is dobj


def test_an_undefined_value_crosses_as_null(lens: bl.Lens) -> None:
    values = np.full((3, 4), np.nan)
    values[1, 2] = 0.5
    view = lens.explore(STORE, score=bl.HeadScores("few", values))
    sent = Page(view).state["score"]["values"]
    assert sent[1] == [None, None, 0.5, None]


def test_scores_of_another_model_are_refused(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    with pytest.raises(ValueError, match="6 layers x 12 heads, but this model has 3 x 4"):
        view.score = scores("dobj", 6, 12)
    with pytest.raises(ValueError, match=r"scores\['nsubj'\] is of 6 layers"):
        view.add_scores({"nsubj": scores("nsubj", 6, 12)})


def test_added_scores_are_offered_beside_those_of_the_text(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    page = Page(view)
    corpus = scores("entropy")
    view.add_scores({"entropy": corpus, "dobj": scores("dobj")})
    assert page.state["added_scores"] == ["entropy", "dobj"]
    reply, _ = page.ask("scores")
    offered = {score["name"]: score["values"] for score in reply["scores"]}
    assert offered["entropy"] == corpus.values.tolist()
    of_text = view.attention.scores["entropy"].values
    np.testing.assert_allclose(offered["entropy (this text)"], of_text)
    page.set(score=next(s for s in reply["scores"] if s["name"] == "entropy (this text)"))
    assert view.score is view.attention.scores["entropy"]
    page.set(score=next(s for s in reply["scores"] if s["name"] == "entropy"))
    assert view.score is corpus


def test_an_unknown_score_from_the_page_is_refused_and_the_page_put_right(lens: bl.Lens) -> None:
    dobj = scores("dobj")
    view = lens.explore(STORE, score=dobj)
    page = Page(view)
    with page.new() as messages:
        page.set(score={"name": "nsubj", "values": []})
    assert view.score is dobj
    assert page.state["score"]["name"] == "dobj"
    (words,) = [m["content"]["error"] for m in messages if m["method"] == "custom"]
    assert words.startswith("There is no score 'nsubj'; there are: ")


def test_a_score_of_the_text_follows_the_text_and_any_other_stays(lens: bl.Lens) -> None:
    view = lens.explore(STORE)
    view.score = view.attention.scores["entropy"]
    view.text = "The cat sat on the mat."
    assert view.score is view.attention.scores["entropy"]
    assert view.added_scores == []
    view.score = dobj = scores("dobj")
    view.text = "The dog did not mind."
    assert view.score is dobj


def test_the_pin_is_dropped_when_the_other_side_has_no_such_token(lens: bl.Lens) -> None:
    attention = lens(STORE)
    short = lens("The cat.")
    crossed = bl.Attention(
        attention.source,
        attention.tokens,
        attention.words,
        columns=(short.tokens, short.words),
    )
    view = crossed.explore(token=6)
    view.side = "to"
    assert view.token is None
    assert view.meta["to"]["label"] == [token.label for token in short.tokens]


def test_another_kind_of_attention_is_another_map_of_the_same_text(lens: bl.Lens) -> None:
    attention = lens(STORE)
    encoder, decoder = (
        bl.Attention(
            DenseWeights(attention.weights()[:layers]),
            attention.tokens,
            attention.words,
            text=STORE,
            kind_name=name,
        )
        for name, layers in (("encoder", 3), ("decoder", 2))
    )
    view = joined_kinds([encoder, decoder]).explore(layer=2, heads=[1], token=3)
    head = view.head_view()
    assert (view.kind, view.meta["kinds"]) == ("encoder", ["encoder", "decoder"])
    Page(head).set(kind="decoder")
    assert view.attention is decoder
    assert (view.kind, head.generation, view.meta["n_layers"]) == ("decoder", 2, 2)
    assert (view.layer, head.heads, view.token) == (1, [1], None)
    view.kind = "encoder"
    assert head.attention is encoder


def test_an_attention_without_a_model_has_no_text_box_and_says_why(lens: bl.Lens) -> None:
    attention = lens(STORE)
    bare = bl.Attention(attention.source, attention.tokens, attention.words, text=STORE)
    view = bare.explore()
    assert not view.editable
    with pytest.raises(BertlensError, match="given without a model"):
        view.text = "The cat sat."


@pytest.mark.parametrize(
    "message",
    [
        {"heads": [99], "score": "x"},
        {"heads": [99], "score": {"name": ["entropy"]}},
        {"layer": 1, "heads": [0, 0]},
        {"side": "to", "token": 10**9},
    ],
)
def test_a_message_of_the_page_is_taken_whole_or_not_at_all(
    lens: bl.Lens, message: dict[str, Any]
) -> None:
    view = lens.explore("I went to the store.")
    sibling = view.head_view()
    page = Page(view)
    before = {name: getattr(view, name) for name in ("layer", "heads", "side", "token", "score")}
    page.set(**message)
    assert {name: getattr(view, name) for name in before} == before
    assert {name: getattr(sibling, name) for name in before} == before
    # Nothing stands in the way of the next setting, from either end.
    view.heads = [2]
    page.set(layer=1)
    assert (sibling.layer, sibling.heads) == (1, [2])
    view.close()


def test_half_a_character_never_leaves_a_view_unable_to_sync() -> None:
    broken = "half \ud83d"
    weights = np.full((1, 1, 2, 2), 0.5, np.float32)
    att = bl.Attention.from_tensors(list(weights), [broken, "b"], name=broken)
    view = att.explore()
    view.add_scores({broken: bl.HeadScores(broken, np.zeros((1, 1)), unit=broken)})
    page = Page(view)
    page.ask("scores")
    page.set(score={"name": broken})
    json.dumps(view.get_state()).encode()
    for message, _ in page.comm.messages:
        assert "\ud83d" not in json.loads(json.dumps(message)).__repr__()
    view.layer = 0
    view.close()


def test_what_is_too_large_is_refused_at_once_in_few_words(lens: bl.Lens) -> None:
    view = lens.explore("I went to the store.")
    page = Page(view)
    for many in (list(range(10**6)), [0] * 10**6, "0" * 10**7):
        with pytest.raises(TraitError) as refused:
            view.heads = many
        assert len(str(refused.value)) < 500
    for field, value in (("heads", list(range(100_000))), ("level", "w" * 10**7)):
        asked = {"layer": 0, "heads": [0], "level": "token", field: value}
        reply, _ = page.ask("block", **asked)
        assert not reply["ok"]
        assert len(reply["error"]) < 500
    view.close()


def test_a_long_label_is_drawn_shortened(lens: bl.Lens) -> None:
    weights = np.full((1, 1, 2, 2), 0.5, np.float32)
    att = bl.Attention.from_tensors(list(weights), ["x" * 5_000, "b"])
    view = att.explore()
    label = view.meta["from"]["label"][0]
    assert len(label) == 200
    assert label.endswith("…")
    assert att.tokens[0].label == "x" * 5_000
    view.close()


def test_a_misspelt_trait_is_an_error_that_names_the_right_one(lens: bl.Lens) -> None:
    view = lens.explore("I went to the store.")
    with pytest.raises(AttributeError, match=r"no 'layr' to set\. Did you mean layer"):
        view.layr = 2  # type: ignore[attr-defined]
    view.close()
