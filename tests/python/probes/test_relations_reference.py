"""Relations on whole treebanks, against counts that separate code made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bertlens as bl
from bertlens.probes import RelationTable, Treebank
from bertlens.probes.relations.guesses import DIRECTIONS, Guesses

Reference = Callable[[str], dict[str, Any]]
THEIRS = {"dependent->head": "dep->head", "head->dependent": "head->dep"}
BEST = "best_of_dep->head_and_head->dep"


def assert_same(
    table: RelationTable, expected: dict[str, Any], kind: str = "self_excluded"
) -> None:
    """Best heads, counts and offsets of every relation are those of the reference."""
    assert set(table) - {"all"} == set(expected)
    for row in table.rows:
        if row.relation == "all":
            continue
        value = expected[row.relation]
        best = value[kind][BEST]
        found = (row.layer, row.head, THEIRS[row.direction], row.correct, row.support)
        wanted = (best["layer"], best["head"], best["direction"], best["correct"], value["support"])
        assert found == wanted, row.relation
        assert row.offset == value["offset_baseline"]["offset"], row.relation
        assert row.offset_accuracy == pytest.approx(value["offset_baseline"]["accuracy"], abs=1e-6)
        for direction in DIRECTIONS:
            best = value[kind][THEIRS[direction]]
            head = table.scores(row.relation, direction=direction).best()
            assert (head.layer, head.head) == (best["layer"], best["head"]), row.relation
            assert round(head.value * row.support) == best["correct"], row.relation


def assert_same_overall(table: RelationTable, expected: dict[str, Any]) -> None:
    row = table.rows[0]
    best = expected["self_excluded"][BEST]
    assert (row.relation, row.support, row.offset) == (
        "all",
        expected["support"],
        expected["offset_baseline"]["offset"],
    )
    assert (row.layer, row.head, row.correct) == (best["layer"], best["head"], best["correct"])


def test_every_relation_of_ewt_dev(ewt_guesses: Guesses, reference: Reference) -> None:
    expected = reference("relations_ewt_dev")
    table = RelationTable(ewt_guesses)
    assert_same(table, expected["relations"])
    assert_same_overall(table, expected["overall"]["punct_excluded"])


def test_merged_subtypes_and_punctuation(ewt_guesses: Guesses, reference: Reference) -> None:
    expected = reference("relations_ewt_dev")
    table = RelationTable(ewt_guesses).recount(subtypes=False, punctuation=True)
    assert_same(table, expected["relations_without_subtype"])
    assert_same_overall(table, expected["overall"]["punct_included"])


@pytest.fixture(scope="module")
def gum(shared: Path) -> Treebank:
    return bl.probes.read_conllu(shared / "data" / "sd" / "en_gum51_stanford-dev.conllu.gz")


def test_stanford_dependencies(demo: bl.Lens, gum: Treebank, reference: Reference) -> None:
    expected = reference("relations_gum_stanford_dev")
    table = bl.probes.relations(demo, gum, progress=False)
    assert_same(table, expected["relations"])
    assert_same_overall(table, expected["overall"]["punct_excluded"])


def test_self_attention_let_in(demo: bl.Lens, gum: Treebank, reference: Reference) -> None:
    expected = reference("relations_gum_stanford_dev")
    table = bl.probes.relations(demo, gum, self_attention=True, progress=False)
    assert_same(table, expected["relations"], "self_included")
