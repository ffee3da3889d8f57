"""The table of relations, on guesses worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import bertlens as bl
from bertlens.probes import RelationTable, Sentence, Treebank
from bertlens.probes.relations.guesses import NOT_RUN, Guesses

# "She saw Ann 's dog ." with the heads of Stanford Dependencies.
SAW = Sentence(
    ("She", "saw", "Ann", "'s", "dog", "."),
    (2, 0, 5, 3, 2, 2),
    ("nsubj", "root", "poss", "possessive", "dobj", "punct"),
)
RAN = Sentence(("Dogs", "ran", "<b>"), (2, 0, 2), ("nsubj", "root", "advmod"))


def guesses(*by_head: list[int], sentences: list[Sentence]) -> Guesses:
    """One layer; each list is a head's guesses, dependent->head; the other way it errs always."""
    row = np.array(by_head, np.int16).T[:, None, :]
    column = np.full_like(row, 7)
    return Guesses(Treebank(sentences, "hand"), np.stack([row, column]), False)


def test_accuracy_support_and_the_best_head() -> None:
    table = RelationTable(
        guesses(
            [2, 9, 9, 9, 9, 9, 3, 9, 9],
            [2, 9, 9, 9, 2, 9, 2, 9, 9],
            [2, 9, 9, 9, 2, 9, 2, 9, 9],
            sentences=[SAW, RAN],
        )
    )
    row = next(row for row in table.rows if row.relation == "nsubj")
    # Heads 1 and 2 are both right; the lower is chosen.
    assert (row.layer, row.head, row.direction) == (0, 1, "dependent->head")
    assert (row.correct, row.support, row.accuracy) == (2, 2, 1.0)
    assert (row.offset, row.offset_accuracy) == (1, 1.0)
    np.testing.assert_array_equal(table["nsubj"].values, [[0.5, 1.0, 1.0]])
    assert table["dobj"].baseline == 1.0  # -3 is always right for one word


def test_all_leaves_out_punctuation_and_roots_unless_asked() -> None:
    found = guesses([2, 9, 5, 3, 2, 2, 2, 9, 2], sentences=[SAW, RAN])
    table = RelationTable(found)
    assert table.rows[0][:7] == ("all", 0, 0, "dependent->head", 1.0, 6, 6)
    assert table.recount(punctuation=True).rows[0].support == 7
    rooted = table.recount(punctuation=True, roots=True).rows[0]
    assert (rooted.correct, rooted.support) == (7, 9)


def test_roots_are_no_relation_of_their_own() -> None:
    table = RelationTable(guesses([1] * 9, sentences=[SAW, RAN]))
    assert "root" not in table
    assert next(iter(table)) == "all"


def test_a_possessor_is_judged_by_its_clitic_when_asked() -> None:
    # The head looks from "Ann" to "saw", and from "'s" to "dog".
    table = RelationTable(guesses([9, 9, 2, 5, 9, 9], sentences=[SAW]))
    assert table["poss"].values.tolist() == [[0.0]]
    assert table.recount(follow_possessive=True)["poss"].values.tolist() == [[1.0]]


def test_a_possessor_at_the_end_keeps_its_own_guess() -> None:
    ended = Sentence(("whose", "saw"), (2, 0), ("dep", "root"))
    turned = Sentence(("dog", "Ann"), (0, 1), ("root", "poss"))
    found = guesses([2, 9, 9, 1], sentences=[ended, turned])
    assert RelationTable(found, follow_possessive=True)["poss"].values.tolist() == [[1.0]]


def test_subtypes_are_kept_or_merged() -> None:
    passive = Sentence(("He", "went", "seen"), (3, 3, 0), ("nsubj:pass", "nsubj", "root"))
    table = RelationTable(guesses([3, 1, 9], sentences=[passive]))
    assert table["nsubj:pass"].values.tolist() == [[1.0]]
    assert table["nsubj"].values.tolist() == [[0.0]]
    assert table.recount(subtypes=False)["nsubj"].values.tolist() == [[0.5]]


def test_heads_and_offsets_chosen_on_one_treebank_are_reported_on_another() -> None:
    chosen = guesses([2, 9, 9], [9, 9, 9], sentences=[RAN])
    reported = guesses([9, 9, 9, 9, 9, 9], [2, 9, 9, 9, 9, 9], sentences=[SAW])
    table = RelationTable(chosen, reported)
    row = next(row for row in table.rows if row.relation == "nsubj")
    assert (row.head, row.correct, row.support, row.offset) == (0, 0, 1, 1)
    assert not any("flatters" in note for note in table.notes)
    assert any("flatters" in note for note in RelationTable(chosen).notes)
    missing = next(row for row in table.rows if row.relation == "advmod")
    assert missing.support == 0
    assert np.isnan(missing.accuracy)


def test_beating_the_offset_must_be_more_than_chance() -> None:
    right = Sentence(("a", "b", "c", "d"), (3, 3, 0, 3), ("x", "x", "root", "x"))
    once = RelationTable(guesses([3, 3, 9, 3], sentences=[right]))
    # The head is right three times of three and the offset once: p = 2 / 2**2.
    assert (once.rows[1].correct, once.rows[1].offset_accuracy) == (3, pytest.approx(1 / 3))
    assert once.rows[1].p_value == 0.5
    assert not once.rows[1].beats_offset
    often = RelationTable(guesses([3, 3, 9, 3] * 20, sentences=[right] * 20))
    # 40 of 40 words that only one gets right: p = 2 / 2**40.
    assert often.rows[1].p_value == pytest.approx(2.0**-39)
    assert often.rows[1].beats_offset


def test_words_whose_head_was_cut_off_are_not_scored() -> None:
    found = guesses([2, 9, 5, 3, NOT_RUN, NOT_RUN], sentences=[SAW])
    found.picked[1, 4:] = NOT_RUN
    table = RelationTable(found)
    assert set(table) == {"all", "nsubj", "possessive"}
    assert table.rows[0].support == 2


def test_examples_say_where_the_head_looked_instead() -> None:
    table = RelationTable(guesses([2, 9, 9, 9, 3, 9, 3, 9, 9], sentences=[SAW, RAN]))
    hits, misses = (table.examples("nsubj", 0, 0, hit=hit) for hit in (True, False))
    assert [(e.sentence, e.dependent, e.head, e.guess) for e in hits] == [(0, 1, 2, 2)]
    assert [(e.sentence, e.dependent, e.head, e.guess) for e in misses] == [(1, 1, 2, 3)]
    assert misses[0].words == ("Dogs", "ran", "<b>")
    assert [e.relation for e in table.examples("all", 0, 0, distance=-3)] == ["dobj"]
    with pytest.raises(IndexError, match="no head 0-5: layers go to 0, heads to 0"):
        table.examples("nsubj", 0, 5)


def test_an_unknown_relation_is_answered_with_the_known_ones() -> None:
    table = RelationTable(guesses([2, 9, 9], sentences=[RAN]))
    with pytest.raises(KeyError, match="hand has no word with relation 'obj'; it has: all, advmod"):
        table["obj"]
    with pytest.raises(ValueError, match="direction must be one of"):
        table.scores("all", direction="up")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no option 'punct'"):
        table.recount(punct=True)
    with pytest.raises(ValueError, match="other than 0"):
        table.recount(offsets=(0, 1))


def test_a_frame_has_the_promised_columns() -> None:
    frame = RelationTable(guesses([2, 9, 9], sentences=[RAN])).to_frame()
    promised = ["relation", "layer", "head", "direction", "accuracy", "correct", "support"]
    promised += ["low", "high", "offset", "offset_accuracy"]
    assert list(frame.columns)[: len(promised)] == promised
    assert frame["relation"].tolist()[0] == "all"


def test_the_page_shows_names_as_text() -> None:
    odd = Sentence(("a", "b"), (2, 0), ("<script>", "root"))
    page = RelationTable(guesses([2, 9], sentences=[odd]))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_treebank_or_two_named_ones(demo: bl.Lens) -> None:
    with pytest.raises(TypeError, match="Give a treebank, or both"):
        bl.probes.relations(demo)
    with pytest.raises(TypeError, match="Give a treebank, or both"):
        bl.probes.relations(demo, select=[SAW])


def test_select_and_evaluate_run_both(demo: bl.Lens) -> None:
    table = bl.probes.relations(demo, select=[SAW], evaluate=[RAN], progress=False)
    row = next(row for row in table.rows if row.relation == "nsubj")
    alone = bl.probes.relations(demo, [RAN], progress=False)
    scores = alone.scores("nsubj", direction=row.direction)
    assert row.accuracy == scores.values[row.layer, row.head]
