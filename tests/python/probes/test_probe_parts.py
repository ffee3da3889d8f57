"""What probes are made of: gold heads, UAS, the control task and baselines, by hand."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

import bertlens as bl
from bertlens.probes import Sentence
from bertlens.probes.classifiers.baselines import (
    DistanceMaps,
    chosen_offset,
    offset_heads,
    randomised,
)
from bertlens.probes.classifiers.gold import UNKNOWN, Gold, control
from bertlens.probes.classifiers.uas import attachment

SAW = Sentence(
    ("She", "saw", "a", "dog", "."), (2, 0, 4, 2, 2), ("nsubj", "root", "det", "obj", "punct")
)


def test_uas_leaves_out_punctuation_and_counts_roots() -> None:
    found = attachment([Gold.of(SAW)], [np.array([2, 0, 4, 1, 1])])
    assert (found.correct, found.support, found.uas) == (3, 4, 0.75)
    assert (found.correct_with_punctuation, found.support_with_punctuation) == (3, 5)


def test_uas_without_roots() -> None:
    found = attachment([Gold.of(SAW)], [np.array([2, 0, 4, 1, 2])], roots=False)
    assert (found.correct, found.support) == (2, 3)
    assert (found.correct_with_punctuation, found.support_with_punctuation) == (3, 4)


def test_a_word_whose_head_was_cut_off_is_not_scored() -> None:
    gold = Gold.of(SAW, 3)
    assert gold.heads.tolist() == [2, 0, UNKNOWN]
    assert attachment([gold], [np.array([2, 0, 1])]).support == 2


def test_offsets() -> None:
    gold = Gold.of(SAW)
    assert offset_heads(gold, 1).tolist() == [2, 3, 4, 5, UNKNOWN]
    assert offset_heads(gold, -2).tolist() == [UNKNOWN, UNKNOWN, 1, 2, 3]
    assert chosen_offset([gold]) == 1  # two words, against one at -2


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), min_size=2, max_size=7))
def test_the_control_task_gives_a_word_type_one_behaviour_and_never_itself(
    words: list[str],
) -> None:
    n = len(words)
    gold = Gold(tuple(words), np.zeros(n, np.int64), np.zeros(n, bool))
    heads = control([gold])[0].heads
    assert all(1 <= head <= n and head != i for i, head in enumerate(heads, 1))
    longer = Gold((*words, "zz", "zz"), np.zeros(n + 2, np.int64), np.zeros(n + 2, bool))
    for i, (short, long) in enumerate(zip(heads, control([longer])[0].heads, strict=False), 1):
        # Inside a sentence, a word that points to its neighbour or the first word still does.
        if 1 < i < n and short not in (n, n - 1):
            assert long == short


def test_the_control_task_follows_its_seed() -> None:
    words = tuple(f"w{i}" for i in range(50))
    gold = Gold(words, np.zeros(50, np.int64), np.zeros(50, bool))
    one, again, other = (control([gold], seed=seed)[0].heads.tolist() for seed in (0, 0, 1))
    assert one == again
    assert one != other
    # Three behaviours, about as often each.
    assert 8 <= one.count(1) <= 26
    assert 8 <= one.count(50) <= 26


def test_a_word_alone_has_no_control_head() -> None:
    gold = Gold(("Go",), np.zeros(1, np.int64), np.zeros(1, bool))
    assert control([gold])[0].heads.tolist() == [UNKNOWN]


def test_distances_are_one_indicator_a_pair() -> None:
    pairs = DistanceMaps([Gold.of(SAW)]).map(0)
    words = pairs[2:, 2:]
    assert (words.sum(-1) == 1).all()
    # The candidate "saw" is one word after "She": the indicator right of the middle.
    assert int(words[1, 0].argmax()) == int(words[0, 0].argmax()) + 1
    assert pairs[0, 2:, -1].tolist() == [1] * 5


def test_a_random_model_differs_and_the_persons_model_does_not(demo: bl.Lens) -> None:
    before = {name: value.clone() for name, value in demo.model.state_dict().items()}
    state = torch.random.get_rng_state()
    blank, again = randomised(demo, seed=3), randomised(demo, seed=3)
    assert torch.equal(torch.random.get_rng_state(), state)
    name = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(blank.model.state_dict()[name], before[name])
    assert torch.equal(blank.model.state_dict()[name], again.model.state_dict()[name])
    assert all(torch.equal(value, before[n]) for n, value in demo.model.state_dict().items())
    assert blank.model.config is not demo.model.config


def test_a_gold_of_the_whole_sentence_keeps_everything() -> None:
    gold = Gold.of(SAW)
    assert gold.words == SAW.words
    assert gold.punctuation.tolist() == [False] * 4 + [True]
    assert len(gold) == 5
