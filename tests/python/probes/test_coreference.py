"""Single heads as antecedent selectors: by hand, and against counts that separate code made."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import bertlens as bl
from bertlens.errors import AnnotationError
from bertlens.probes import CoreferenceTable, Document, Mention
from bertlens.probes.coreference.antecedents import (
    BASELINES,
    Anaphor,
    anaphors,
    baseline_right,
    candidate_words,
    chance,
)
from bertlens.probes.coreference.segments import segments

WORDS = tuple("Ann saw her dog and Bob . He told Ann that it barked .".split())
PLAIN = Document(
    "plain",
    WORDS,
    ((0, 7), (7, 14)),
    (
        Mention(0, 1, "ann"),
        Mention(2, 3, "ann"),
        Mention(2, 4, "dog"),
        Mention(5, 6, "bob"),
        Mention(7, 8, "bob"),
        Mention(9, 10, "ann"),
        Mention(11, 12, "dog"),
    ),
)


def found(text: str) -> Anaphor:
    scored = anaphors(PLAIN, (0, 14))
    return next(one for one in scored if PLAIN.text(one.mention) == text)


def test_a_mention_with_an_earlier_one_of_its_cluster_is_scored() -> None:
    scored = [(a.document.text(a.mention), a.antecedents, a.kind) for a in anaphors(PLAIN, (0, 14))]
    assert scored == [
        ("her", {0}, "pronoun"),
        ("He", {5}, "pronoun"),
        ("Ann", {0, 2}, "proper"),
        ("it", {3}, "pronoun"),
    ]


def test_antecedents_in_another_segment_do_not_count() -> None:
    assert [PLAIN.text(a.mention) for a in anaphors(PLAIN, (7, 14))] == []


def test_candidates_never_hold_the_anaphors_own_head() -> None:
    he = found("He")
    assert candidate_words(he, "mentions_before") == [0, 2, 3, 5]
    assert candidate_words(he, "mentions_any") == [0, 2, 3, 5, 9, 11]
    assert candidate_words(he, "words_before") == [0, 1, 2, 3, 4, 5, 6]
    assert candidate_words(he, "words_any") == [i for i in range(14) if i != 7]
    assert chance(he, "mentions_before") == 0.25


def test_baselines_by_hand() -> None:
    right = {
        name: {text for text in ("her", "He", "Ann", "it") if baseline_right(found(text), name)}
        for name in BASELINES
    }
    assert right["nearest"] == {"her", "He"}
    assert right["first"] == {"her", "Ann"}
    assert right["head_match"] == {"Ann"}
    assert right["head_match_or_nearest"] == {"her", "He", "Ann"}
    # "it" agrees with no "Ann" or "He" in gender where that is known: the nearest is "Ann".
    assert right["rules"] == {"her", "He", "Ann"}


def test_a_pronoun_passes_over_what_does_not_agree() -> None:
    words = tuple("Dogs saw her . They barked".split())
    mentions = (Mention(0, 1, "d"), Mention(2, 3, "h"), Mention(4, 5, "d"))
    (they,) = anaphors(Document("x", words, ((0, 4), (4, 6)), mentions), (0, 6))
    assert not baseline_right(they, "nearest")
    assert baseline_right(they, "rules")


def test_a_head_chooses_by_the_anaphors_row_among_candidates(demo: bl.Lens) -> None:
    table = bl.probes.coreference(demo, [PLAIN], progress=False)
    words = demo(words=WORDS, exact=True).to_words()
    for layer in range(6):
        maps = words.weights(layer)[:, 1:-1, 1:-1]
        for i, anaphor in enumerate(table.anaphors):
            candidates = candidate_words(anaphor, "mentions_before")
            for head in range(12):
                choice = candidates[int(maps[head, anaphor.head, candidates].argmax())]
                assert table.right[i, layer, head] == (choice in anaphor.antecedents)


def test_documents_that_cannot_be_used_are_refused(demo: bl.Lens) -> None:
    alone = Document("alone", ("Ann", "ran"), ((0, 2),), (Mention(0, 1, "ann"),))
    with pytest.raises(AnnotationError, match="No mention has an earlier one"):
        bl.probes.coreference(demo, [alone], progress=False)
    with pytest.raises(AnnotationError, match="There is no document"):
        bl.probes.coreference(demo, [], progress=False)
    with pytest.raises(TypeError, match="read_coreference"):
        bl.probes.coreference(demo, ["ann.jsonl"], progress=False)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="candidates must be one of"):
        bl.probes.coreference(demo, [PLAIN], candidates="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_tokens must be at least 1 and at most 510"):
        bl.probes.coreference(demo, [PLAIN], max_tokens=511)


def test_kinds_that_do_not_occur_are_answered_with_those_that_do(demo: bl.Lens) -> None:
    table = bl.probes.coreference(demo, [PLAIN], progress=False)
    assert set(table) == {"all", "pronoun", "proper", "other"}
    with pytest.raises(KeyError, match="No 'nominal' mention has an antecedent"):
        table["nominal"]
    assert table["pronoun"].support is not None
    assert table["pronoun"].support[0, 0] == 3


@given(
    st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), min_size=1, max_size=8),
    st.integers(4, 12),
)
def test_segments_cover_all_words_in_order_and_never_overflow(
    sentences: list[list[int]], most: int
) -> None:
    lengths = [length for sentence in sentences for length in sentence]
    bounds = np.cumsum([0, *(len(sentence) for sentence in sentences)]).tolist()
    spans = segments(list(pairwise(bounds)), lengths, most)
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == len(lengths)
    assert all(0 < sum(lengths[start:end]) <= most for start, end in spans)
    for start, _ in spans[1:]:
        # A segment begins inside a sentence just when that sentence alone is too long.
        if start not in bounds:
            i = max(b for b in bounds if b < start)
            j = min(b for b in bounds if b > start)
            assert sum(lengths[i:j]) > most


@pytest.fixture(scope="module")
def gum(shared: Path, demo: bl.Lens) -> CoreferenceTable:
    documents = bl.probes.read_coreference(shared / "data" / "coref" / "gum_free-dev.jsonl.gz")
    return bl.probes.coreference(demo, documents, progress=False)


def test_counts_and_baselines_on_gum(
    gum: CoreferenceTable, reference: Callable[[str], dict[str, Any]]
) -> None:
    expected = reference("coreference_gum_dev")["results"]["all"]
    names = {
        "nearest": "nearest mention",
        "first": "first mention in segment",
        "head_match": "nearest with same head word, else wrong",
        "head_match_or_nearest": "nearest with same head word, else nearest",
        "text_head_nearest": "full string match, else head match, else nearest",
        "chance": "random (expected)",
    }
    for row in gum.rows:
        if row.mentions in expected:
            value = expected[row.mentions]
            best = value["best_head"]["mentions_before"]
            found = (row.support, row.layer, row.head, row.correct)
            assert found == (value["support"], best["layer"], best["head"], best["correct"])
            for name, theirs in names.items():
                baseline = value["baselines"][theirs]
                assert getattr(row, name) == pytest.approx(baseline, abs=1e-6), name
    assert [row.mentions for row in gum.rows] == ["all", "pronoun", "proper", "nominal", "other"]


def test_every_head_on_gum(
    gum: CoreferenceTable, reference: Callable[[str], dict[str, Any]]
) -> None:
    expected = reference("coreference_gum_dev")["accuracy_by_head_mentions_before"]["all"]
    np.testing.assert_allclose(gum["all"].values, expected, atol=1e-6)


@pytest.mark.parametrize("candidates", ["mentions_any", "words_before", "words_any"])
@pytest.mark.parametrize("direction", ["anaphor->antecedent", "antecedent->anaphor"])
def test_other_candidates_on_the_first_documents(
    shared: Path, demo: bl.Lens, candidates: Any, direction: Any
) -> None:
    """Small documents, every choice made again with NumPy from transformers' own weights."""
    document = bl.probes.read_coreference(shared / "data" / "coref" / "gum_free-dev.jsonl.gz")[0]
    end = document.sentences[3][1]
    short = Document(
        "short",
        document.words[:end],
        document.sentences[:4],
        tuple(m for m in document.mentions if m.end <= end),
    )
    table = bl.probes.coreference(
        demo, [short], candidates=candidates, direction=direction, progress=False
    )
    with torch.no_grad():
        maps = demo(words=short.words, exact=True).to_words().weights()[:, :, 1:-1, 1:-1]
    if direction == "antecedent->anaphor":
        maps = maps.swapaxes(-1, -2)
    for i, anaphor in enumerate(table.anaphors):
        allowed = candidate_words(anaphor, candidates)
        choices = np.array(allowed)[maps[:, :, anaphor.head, allowed].argmax(-1)]
        right = np.isin(choices, list(anaphor.antecedents))
        assert (right == table.right[i]).mean() > 0.98  # near ties may fall either way
