"""Relations of a treebank in the widget: the kernel's side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bertlens as bl
from bertlens.probes import RelationTable, Sentence, Treebank
from bertlens.probes.relations.guesses import Guesses
from bertlens.widgets.explorer import Explorer
from bertlens.widgets.requests import protocol
from bertlens.widgets.traits import SelectionError
from tests.python.tiny import SENTENCES, tiny, tokenizer_for

TREES = Treebank(
    [
        Sentence(("The", "cat", "sat"), (2, 3, 0), ("det", "nsubj", "root")),
        Sentence(("I", "bought", "strawberries"), (2, 0, 2), ("nsubj", "root", "obj")),
        Sentence(("Dogs", "jumps"), (2, 0), ("nsubj", "root")),
    ],
    "hand.conllu",
)


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


@pytest.fixture(scope="module")
def table() -> RelationTable:
    """Three layers of four heads: each looks one word ahead, but head 2-1 from words at words."""
    ahead = np.concatenate([np.arange(2, len(sentence) + 2) for sentence in TREES])
    picked = np.tile(ahead.astype(np.int16)[None, :, None, None], (2, 1, 3, 4))
    picked[1] = 1
    picked[0, :, 2, 1] = [3, 3, 9, 3, 9, 2, 2, 9]
    return RelationTable(Guesses(TREES, picked, False))


@pytest.fixture
def view(lens: bl.Lens) -> Iterator[Explorer]:
    made = lens.explore(SENTENCES[0])
    yield made
    made.close()


def ask(view: Explorer, kind: str, **content: Any) -> dict[str, Any]:
    return protocol.reply(view.selection, {"id": "1", "kind": kind, **content})[0]


def test_a_table_brings_a_relation_and_its_colours(view: Explorer, table: RelationTable) -> None:
    shown = view.probe_view(table)
    assert shown.views == ["probe"]
    assert (view.relation, shown.relation) == ("obj", "obj")
    assert view.score is table["obj"]
    sent = shown.get_state("probed")["probed"]
    assert sent["treebank"] == "hand.conllu"
    assert sent["relations"] == [
        {"name": "all", "support": 5},
        {"name": "nsubj", "support": 3},
        {"name": "det", "support": 1},
        {"name": "obj", "support": 1},
    ]


def test_another_relation_colours_the_grid(view: Explorer, table: RelationTable) -> None:
    view.probe_view(table, relation="nsubj")
    assert view.score is table["nsubj"]
    view.set_state({"relation": "det"})
    assert view.score is table["det"]
    assert view.selection.relation == "det"
    # The page knows the score by its name.
    assert [s["name"] for s in ask(view, "scores", generation=view.generation)["scores"]][-3:] == [
        "obj",
        "nsubj",
        "det",
    ]


def test_the_page_asks_for_a_heads_hits_and_misses(view: Explorer, table: RelationTable) -> None:
    view.probe_view(table)
    asked: dict[str, Any] = {"relation": "nsubj", "layer": 2, "head": 1, "hit": "both", "start": 0}
    found = ask(view, "examples", **asked)
    assert found["ok"], found["error"]
    assert (found["total"], found["right"], found["support"]) == (3, 2, 3)
    assert found["direction"] == "dependent->head"
    assert found["distances"] == [(1, 3)]
    assert found["examples"][1] == {
        "sentence": 1,
        "words": ["I", "bought", "strawberries"],
        "dependent": 1,
        "head": 2,
        "guess": 3,
        "relation": "nsubj",
    }
    misses = ask(view, "examples", **{**asked, "hit": "miss"})
    assert [e["sentence"] for e in misses["examples"]] == [1]
    assert (misses["total"], misses["right"]) == (1, 2)
    assert ask(view, "examples", **asked, distance=-1)["total"] == 0
    later = ask(view, "examples", **{**asked, "start": 2})
    assert [e["sentence"] for e in later["examples"]] == [2]


def test_opening_an_example_turns_every_view_to_its_sentence(
    view: Explorer, table: RelationTable
) -> None:
    view.probe_view(table, relation="nsubj")
    view.layer, view.heads = 2, [1]
    answer = ask(view, "open", sentence=1, dependent=1)
    assert answer["ok"], answer["error"]
    assert view.text == "I bought strawberries"
    assert view.level == "word"
    assert view.example.words[view.example.guess - 1] == "strawberries"
    assert view.attention.words[view.attention.tokens[view.token].word].text == "I"
    assert view.side == "from"
    # The very words of the treebank were run, not their text cut anew.
    expected = view.attention.lens(words=["I", "bought", "strawberries"])
    np.testing.assert_allclose(view.attention.weights(2), expected.weights(2), atol=1e-6)


def test_python_opens_an_example_too(view: Explorer, table: RelationTable) -> None:
    view.probe_view(table, relation="nsubj")
    view.example = table.examples("nsubj", 0, 0)[2]
    assert view.text == "Dogs jumps"
    assert view.get_state("example")["example"]["sentence"] == 2
    view.example = table.examples("obj", 0, 0)[0]
    assert (view.relation, view.text) == ("obj", "I bought strawberries")


def test_the_example_follows_the_selected_head(view: Explorer, table: RelationTable) -> None:
    view.probe_view(table, relation="nsubj")
    view.layer, view.heads = 0, [0]
    view.example = table.examples("nsubj", 0, 0)[1]
    assert view.example.hit
    generation = view.generation
    view.layer, view.heads = 2, [1]
    assert not view.example.hit
    assert view.generation == generation  # the same sentence: nothing was run


def test_another_text_or_relation_leaves_the_example(view: Explorer, table: RelationTable) -> None:
    view.probe_view(table, relation="nsubj")
    view.example = table.examples("nsubj", 0, 0)[0]
    view.text = SENTENCES[1]
    assert view.example is None
    assert view.relation == "nsubj"
    view.example = table.examples("nsubj", 0, 0)[0]
    view.relation = "det"
    assert view.example is None


def test_what_the_table_does_not_have_is_refused(view: Explorer, table: RelationTable) -> None:
    with pytest.raises(SelectionError, match=r"no relation 'obj'.*set probed"):
        view.relation = "obj"
    with pytest.raises(SelectionError, match=r"probed must be a table of bl\.probes\.relations"):
        view.probed = "table"
    view.probe_view(table)
    with pytest.raises(SelectionError, match="no relation 'iobj'; there are: all, nsubj, det, obj"):
        view.relation = "iobj"
    with pytest.raises(SelectionError, match=r"example must be one of table\.examples"):
        view.example = 3
    other = Guesses(TREES[::-1], table.reported_on.picked, False)
    with pytest.raises(SelectionError, match="of another treebank"):
        view.example = RelationTable(other).examples("det", 0, 0)[0]
    assert ask(view, "open", sentence=0, dependent=9)["error"] == (
        "'dependent' must be an integer of 0 to 3, not 9."
    )
    assert "is no word with relation 'obj'" in ask(view, "open", sentence=0, dependent=1)["error"]
    view.heads = []
    assert ask(view, "open", sentence=1, dependent=3)["error"].startswith("No head is on")


def test_without_a_table_the_page_is_told(view: Explorer) -> None:
    asked = {"relation": "obj", "layer": 0, "head": 0, "hit": "both", "start": 0}
    assert "There is no table of relations" in ask(view, "examples", **asked)["error"]


def test_a_table_of_another_model_is_refused_and_goes_with_it(
    view: Explorer, table: RelationTable
) -> None:
    small = Guesses(TREES, np.ones((2, 8, 1, 2), np.int16), False)
    with pytest.raises(SelectionError, match="of 1 layers x 2 heads, but this model has 3 x 4"):
        view.probe_view(RelationTable(small))
    view.probe_view(table)
    view.attention = bl.Lens.demo()(SENTENCES[0])
    assert (view.probed, view.relation) == (None, None)


def test_a_table_explores_itself(lens: bl.Lens, table: RelationTable) -> None:
    view = table.explore(lens, "nsubj")
    assert view.views == ["grid", "probe", "head"]
    assert (view.layer, view.heads, view.relation) == (0, [0], "nsubj")
    assert view.text == "The cat sat"
    view.close()


def test_the_page_cannot_set_the_table_or_the_example(view: Explorer, table: RelationTable) -> None:
    view.probe_view(table)
    view.set_state({"probed": None, "example": {"sentence": 0}})
    assert view.probed is table
    assert view.example is None
