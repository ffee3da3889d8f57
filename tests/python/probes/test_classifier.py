"""Probes over all heads: equations by hand, behaviour, and UAS that separate code reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.errors import AnnotationError
from bertlens.probes import (
    AttentionAndWordsProbe,
    AttentionProbe,
    Sentence,
    Treebank,
    WordMaps,
    compare,
    word_maps,
)
from bertlens.probes.classifiers.attention_probe import NotFittedError

FEW = [
    Sentence(
        ("She", "saw", "a", "dog", "."), (2, 0, 4, 2, 2), ("nsubj", "root", "det", "obj", "punct")
    ),
    Sentence(("Dogs", "bark"), (2, 0), ("nsubj", "root")),
    Sentence(("Unbelievable", "strawberries", "grow"), (2, 3, 0), ("amod", "nsubj", "root")),
    Sentence(("Go",), (0,), ("root",)),
]

LONG = Sentence(("go",) * 600, (0, *range(1, 600)), ("root",) + ("dep",) * 599)


@pytest.fixture(scope="module")
def few(demo: bl.Lens) -> WordMaps:
    return word_maps(demo, FEW, progress=False)


def test_maps_are_word_level_attention_with_delimiters_first(demo: bl.Lens, few: WordMaps) -> None:
    pairs = few.map(2).numpy().reshape(5, 5, 6, 12)
    expected = demo(words=FEW[2].words, exact=True).to_words().weights().transpose(2, 3, 0, 1)
    order = [0, 4, 1, 2, 3]  # [CLS], [SEP], then the words
    np.testing.assert_allclose(pairs, expected[order][:, order], atol=5e-4)  # float16


def test_maps_past_the_memory_go_to_disk_and_are_the_same(demo: bl.Lens, few: WordMaps) -> None:
    on_disk = word_maps(demo, FEW, memory=1000, progress=False)
    assert on_disk.on_disk
    assert not few.on_disk
    assert all(torch.equal(on_disk.map(i), few.map(i)) for i in range(4))


def test_scores_are_the_weighted_sum_of_both_directions(few: WordMaps) -> None:
    probe = AttentionProbe().fit(few, progress=False)
    weights = probe._known().weights
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in weights.values():
            value.copy_(torch.randn(value.shape, generator=generator))
        scores = probe.pair_scores(few.map(0), FEW[0].words).numpy()
    a = few.map(0).numpy()
    w, u = (weights[name].detach().numpy() for name in ("w", "u"))
    s, e = (float(weights[name].detach()) for name in ("start", "end"))
    for i in range(5):
        for j in range(5):
            expected = -np.inf if i == j else a[2 + i, 2 + j] @ w + a[2 + j, 2 + i] @ u
            assert scores[1 + i, j] == pytest.approx(expected, abs=1e-4)
    for j in range(2, 7):
        root_to_j, j_to_root = s * a[0, j] + e * a[1, j], s * a[j, 0] + e * a[j, 1]
        assert scores[0, j - 2] == pytest.approx(root_to_j @ w + j_to_root @ u, abs=1e-4)


def test_with_words_each_weight_is_linear_in_both_vectors(few: WordMaps) -> None:
    vectors = {"she": [1.0, 0.0], "saw": [0.5, -1.0], "dog": [2.0, 1.0]}
    probe = AttentionAndWordsProbe(vectors).fit(few, progress=False)
    weights = probe._known().weights
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for value in weights.values():
            value.copy_(torch.randn(value.shape, generator=generator))
        scores = probe.pair_scores(few.map(0), FEW[0].words).numpy()
    p = {name: value.detach().numpy() for name, value in weights.items()}
    a = few.map(0).numpy()

    def score(i: int, j: int, vi: Any, vj: Any) -> float:
        to = np.array(vi) @ p["W_candidate"] + np.array(vj) @ p["W_word"] + p["w"]
        back = np.array(vi) @ p["U_candidate"] + np.array(vj) @ p["U_word"] + p["u"]
        return float(to @ a[i, j] + back @ a[j, i])

    # "saw" as the head of "She"; "dog" as that of "a", which has no vector; the root of "saw".
    assert scores[2, 0] == pytest.approx(score(3, 2, vectors["saw"], vectors["she"]), abs=1e-3)
    assert scores[4, 2] == pytest.approx(score(5, 4, vectors["dog"], [0, 0]), abs=1e-3)
    root = p["start"] * score(0, 3, [0, 0], vectors["saw"])
    root += p["end"] * score(1, 3, [0, 0], vectors["saw"])
    assert scores[0, 1] == pytest.approx(root, abs=1e-3)


def test_predictions_are_numbers_from_one_in_the_treebanks_order(
    demo: bl.Lens, few: WordMaps
) -> None:
    probe = AttentionProbe(epochs=200, learning_rate=0.05).fit(few, progress=False)
    found = probe.predict(demo, FEW)
    assert [None if heads is None else len(heads) for heads in found] == [5, 2, 3, 1]
    # Four sentences can be learned by heart.
    assert [heads.tolist() for heads in found if heads is not None] == [list(s.heads) for s in FEW]
    assert probe.score(demo, FEW) == 1.0
    assert probe.score(few, punctuation=True) == 1.0


def test_a_sentence_that_was_skipped_has_no_prediction(demo: bl.Lens, few: WordMaps) -> None:
    found = AttentionProbe().fit(few, progress=False).predict(demo, [LONG, FEW[1]])
    assert found[0] is None
    assert found[1] is not None


def test_a_tree_has_one_root(few: WordMaps) -> None:
    probe = AttentionProbe(decoding="tree").fit(few, progress=False)
    found = [heads for heads in probe.predict(few) if heads is not None]
    assert [int((heads == 0).sum()) for heads in found] == [1, 1, 1, 1]


def test_the_same_seed_gives_the_same_probe(few: WordMaps) -> None:
    one, again, other = (
        AttentionProbe(shuffle=True, seed=seed, epochs=2).fit(few, progress=False)
        for seed in (1, 1, 4)
    )
    np.testing.assert_array_equal(one.head_weights().values, again.head_weights().values)
    assert (one.head_weights().values != other.head_weights().values).any()


def test_training_stops_when_development_gets_no_better_and_keeps_the_best(few: WordMaps) -> None:
    probe = AttentionProbe(epochs=500, patience=3, learning_rate=0.05)
    probe.fit(few, dev=few, progress=False)
    uas = [epoch.dev_uas for epoch in probe.history]
    assert len(uas) < 500
    best = max(u for u in uas if u is not None)
    assert uas.index(best) == len(uas) - 1 - 3
    assert probe.score(few) == best


@pytest.mark.parametrize("words", [False, True])
def test_a_saved_probe_predicts_the_same(few: WordMaps, tmp_path: Path, words: bool) -> None:
    kind: type[AttentionProbe] = AttentionAndWordsProbe if words else AttentionProbe
    arguments: dict[str, Any] = {"vectors": {"dog": [1, 2]}} if words else {}
    probe = kind(**arguments, epochs=3, root=False).fit(few, progress=False)
    path = tmp_path / "probe.pt"
    probe.save(path)
    loaded = kind.load(path)
    np.testing.assert_array_equal(loaded.head_weights().values, probe.head_weights().values)
    assert loaded.history == probe.history
    assert (loaded.root, loaded.epochs) == (False, 3)
    pairs = zip(loaded.predict(few), probe.predict(few), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs if a is not None and b is not None)


def test_a_file_that_is_no_probe_is_refused(few: WordMaps, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    path.write_text("nothing")
    with pytest.raises(ValueError, match="is no probe that bertlens saved"):
        AttentionProbe.load(path)
    AttentionAndWordsProbe({"a": [1]}).fit(few, progress=False).save(path)
    with pytest.raises(ValueError, match="a probe of kind 'attention and words'"):
        AttentionProbe.load(path)
    with pytest.raises(FileNotFoundError):
        AttentionProbe.load(tmp_path / "missing.pt")


def test_mistakes_are_answered_in_words(demo: bl.Lens, few: WordMaps) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        AttentionProbe().predict(few)
    with pytest.raises(ValueError, match='decoding must be "greedy" or "tree"'):
        AttentionProbe(decoding="mst")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Give a lens and a treebank, or maps"):
        AttentionProbe().fit(demo)
    with pytest.raises(AnnotationError, match="no sentence could be run"):
        word_maps(demo, [LONG], progress=False)


def test_another_models_maps_are_refused(few: WordMaps) -> None:
    probe = AttentionProbe().fit(few, progress=False)
    with pytest.raises(ValueError, match="fitted on 6 layers x 12 heads; this model has 5 heads"):
        probe.pair_scores(torch.zeros(4, 4, 5), ("a", "b"))


def test_heads_are_scored_by_the_length_of_their_weights(few: WordMaps) -> None:
    probe = AttentionProbe().fit(few, progress=False)
    weights = probe._known().weights
    with torch.no_grad():
        weights["w"].zero_()
        weights["u"].zero_()
        weights["w"][12 + 5] = 3.0
        weights["u"][12 + 5] = 4.0
    assert probe.head_weights().best() == (1, 5, 5.0)


def test_a_comparison_holds_probes_baselines_and_selectivity(demo: bl.Lens) -> None:
    table = compare(demo, FEW, FEW, vectors={"dog": [1, 2]}, progress=False)
    assert list(table) == [
        "right-branching",
        "best offset (+1)",
        "distances + words",
        "random weights: attention",
        "random weights: attention + words",
        "attention",
        "attention + words",
    ]
    # Of nine words that are no punctuation, "She", "a", "Dogs", and two in the third sentence.
    assert (table["right-branching"].correct, table["right-branching"].support) == (5, 10)
    row = table["attention"]
    assert row.selectivity == pytest.approx(row.uas - (row.control or 0))
    assert table["right-branching"].selectivity is None
    assert table.to_frame()["probe"].tolist() == list(table)
    assert "<td" in table._repr_html_()
    with pytest.raises(KeyError, match="no probe 'rules'"):
        table["rules"]


@pytest.fixture(scope="session")
def ewt_maps(shared: Path, demo: bl.Lens, ewt_dev: Treebank) -> tuple[WordMaps, WordMaps]:
    """The first 3,000 sentences of EWT train, and EWT dev."""
    train = bl.probes.read_conllu(shared / "data" / "ud" / "en_ewt-ud-train.conllu.gz")[:3000]
    return word_maps(demo, train, progress=False), word_maps(demo, ewt_dev, progress=False)


@pytest.mark.parametrize(
    ("run", "root", "words", "epochs"),
    [
        ("attention-only, no_root, Adam", False, False, 3),
        ("attention-only, root, Adam", True, False, 1),
        ("attention+GloVe50, root, Adam", True, True, 1),
    ],
)
def test_uas_on_ewt_dev(
    ewt_maps: tuple[WordMaps, WordMaps],
    shared: Path,
    reference: Callable[[str], dict[str, Any]],
    run: str,
    root: bool,
    words: bool,
    epochs: int,
) -> None:
    train, dev = ewt_maps
    expected = reference("probe_ewt_dev")["runs"][run][epochs - 1]
    if words:
        vectors = bl.probes.read_vectors(shared / "data" / "vectors" / "glove.6B.50d.subset.txt.gz")
        probe: AttentionProbe = AttentionAndWordsProbe(vectors, root=root, epochs=epochs)
    else:
        probe = AttentionProbe(root=root, epochs=epochs)
    probe.fit(train, progress=False)
    found = probe.evaluate(dev)
    assert found.support == expected["support_no_punct"]
    assert found.support_with_punctuation == expected["support_with_punct"]
    assert 100 * found.uas == pytest.approx(100 * expected["uas_no_punct"], abs=0.5)
    assert 100 * found.uas_with_punctuation == pytest.approx(
        100 * expected["uas_with_punct"], abs=0.5
    )
    assert probe.history[-1].loss == pytest.approx(expected["train_loss_per_word"], abs=0.01)
    optimum = reference("probe_ewt_dev")["runs"]["attention-only, no_root, L-BFGS optimum"]
    if not root:
        assert probe.history[-1].loss > optimum["train_nll_per_word"]
