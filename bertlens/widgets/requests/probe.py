"""Relations of a treebank in the widget: a table's scores, and the sentences behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertlens.attention.attention import Attention
from bertlens.widgets.requests.protocol import Reply, Request, RequestError, handles, model_of
from bertlens.widgets.traits import SelectionError

if TYPE_CHECKING:
    from bertlens.probes import Example, RelationTable
    from bertlens.widgets.probe_traits import ProbeSelection

MOST = 50
"""Examples in one reply."""

FIRST = ("obj", "dobj", "nsubj")
"""Relations to begin with, where the treebank has them."""


def check_probe(table: object, attention: Attention) -> RelationTable:
    """The table, if it is one of this model's heads.

    Raises:
        SelectionError: it is not.
    """
    from bertlens.probes import RelationTable

    if not isinstance(table, RelationTable):
        raise SelectionError(
            "probed must be a table of bl.probes.relations(lens, treebank) or None, not "
            f"{table!r:.80}."
        )
    if not fits(table, attention):
        guesses = table.reported_on
        raise SelectionError(
            f"The table is of {guesses.n_layers} layers x {guesses.n_heads} heads, but this model "
            f"has {attention.n_layers} x {attention.n_heads}: it was made for another model."
        )
    return table


def fits(table: RelationTable, attention: Attention) -> bool:
    """Whether a table's heads can be those of this model."""
    guesses = table.reported_on
    return (guesses.n_layers, guesses.n_heads) == (attention.n_layers, attention.n_heads)


def check_relation(relation: str | None, table: RelationTable | None) -> str | None:
    """The relation, if the table has it.

    Raises:
        SelectionError: it has not.
    """
    if relation is None or (table is not None and relation in table):
        return relation
    known = ", ".join(table) if table is not None else "set probed to a table of relations first"
    raise SelectionError(f"There is no relation {relation!r}; there are: {known}.")


def check_example(example: object, table: RelationTable | None) -> Example | None:
    """The example, if it is a word of the table's treebank.

    Raises:
        SelectionError: it is not.
    """
    from bertlens.probes import Example

    if example is None:
        return None
    if not isinstance(example, Example):
        raise SelectionError(
            f"example must be one of table.examples(relation, layer, head), not {example!r:.80}."
        )
    treebank = () if table is None else table.reported_on.treebank
    if example.sentence >= len(treebank) or treebank[example.sentence].words != example.words:
        raise SelectionError("This example is of another treebank than the table in probed.")
    return example


def first_relation(table: RelationTable, wanted: str | None) -> str:
    """The relation to show of a table: the one that is shown, or one that most know."""
    candidates = [name for name in (wanted, *FIRST) if name is not None and name in table]
    return candidates[0] if candidates else next(iter(table))


def payload(table: RelationTable | None) -> dict[str, Any] | None:
    """A table for the page: its treebank, and the relations in the order of their rows."""
    if table is None:
        return None
    return {
        "treebank": table.reported_on.treebank.name,
        "relations": [{"name": row.relation, "support": row.support} for row in table.rows],
        "held_out": table.held_out,
    }


def find_example(selection: ProbeSelection, sentence: int, dependent: int) -> Example:
    """A word of the treebank as the selected head guesses it.

    Args:
        sentence: from 0.
        dependent: the word's number, from 1.

    Raises:
        RequestError: there is no table, no head is on, or the word has another relation.
    """
    table, relation = selected(selection)
    layer, head = chosen_head(selection)
    for example in table.examples(relation, layer, head):
        if (example.sentence, example.dependent) == (sentence, dependent):
            return example
    raise RequestError(
        f"Word {dependent} of sentence {sentence} is no word with relation {relation!r}."
    )


def selected(selection: ProbeSelection) -> tuple[RelationTable, str]:
    """The table and the relation that are shown.

    Raises:
        RequestError: there is no table.
    """
    table: RelationTable | None = selection.probed
    if table is None:
        raise RequestError("There is no table of relations: set view.probed to one.")
    return table, selection.relation or first_relation(table, None)


def chosen_head(selection: ProbeSelection) -> tuple[int, int]:
    """The selected head.

    Raises:
        RequestError: no head is on.
    """
    if not selection.heads:
        raise RequestError("No head is on: choose one to see what it guesses.")
    return selection.layer, selection.heads[-1]


def pinned(attention: Attention, example: Example) -> int | None:
    """The first token of the example's word; None if it was cut off."""
    for word in attention.words:
        if word.index == example.dependent - 1:
            return word.tokens[0]
    return None


@handles("examples")
def examples(request: Request) -> Reply:
    """{relation, layer, head, hit, distance, start} -> {examples, total, ...}: words of a relation.

    `hit` is "hit", "miss" or "both", `distance` a whole number or null for all. Up to MOST
    examples from `start` on; `total` counts those that pass the filters. `right` of `support`
    are hits, `distances` lists how many words each distance has, both without the filters.
    """
    selection = request.selection
    table, _ = selected(selection)
    relation = request.text("relation")
    guesses = table.reported_on
    layer = request.index("layer", guesses.n_layers)
    head = request.index("head", guesses.n_heads)
    every = table.examples(relation, layer, head)
    hit = request.choice("hit", "hit", "miss", "both")
    kept = [example for example in every if hit == "both" or example.hit == (hit == "hit")]
    if request.has("distance"):
        distance = request.content["distance"]
        kept = [example for example in kept if example.distance == distance]
    start = request.index("start", len(kept) + 1)
    counts: dict[int, int] = {}
    for example in every:
        counts[example.distance] = counts.get(example.distance, 0) + 1
    return Reply(
        content={
            "examples": [sent(example) for example in kept[start : start + MOST]],
            "total": len(kept),
            "right": sum(example.hit for example in every),
            "support": len(every),
            "distances": sorted(counts.items()),
            "direction": table.better_direction(relation, layer, head),
        }
    )


def sent(example: Example | None) -> dict[str, Any] | None:
    """An example for the page; words are numbered from 1."""
    if example is None:
        return None
    return {
        "sentence": example.sentence,
        "words": list(example.words),
        "dependent": example.dependent,
        "head": example.head,
        "guess": example.guess,
        "relation": example.relation,
    }


@handles("open")
def open_example(request: Request) -> Reply:
    """{sentence, dependent} -> {}, after the views have turned to that sentence, by words."""
    selection = request.selection
    table, _ = selected(selection)
    treebank = table.reported_on.treebank
    sentence = request.index("sentence", len(treebank))
    dependent = request.index("dependent", len(treebank[sentence]) + 1)
    example = find_example(selection, sentence, dependent)
    with model_of(selection.attention):
        selection.example = example
    return Reply()
