"""Scores of every head over many texts, and on one."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import processors

import bertlens as bl
from bertlens.attention.attention import Attention
from bertlens.attention.sources import DenseWeights
from bertlens.scores import catalogue
from bertlens.scores.statistics import ScoreCollector, student
from bertlens.text.batch import Batch, token_mask
from bertlens.text.encoding import Encoding
from bertlens.text.token_types import token_types_of
from bertlens.text.tokens import Token, Word
from tests.python.tiny import SENTENCES, tiny, tokenizer_for

REFERENCE = {
    "self": "self",
    "previous": "prev",
    "next": "next",
    "cls": "cls",
    "sep": "sep",
    "punctuation": "punct",
    "sep_to_sep": "sep_sep",
    "rest_to_sep": "rest_sep",
    "entropy": "entropy",
    "entropy_cls": "entropy_cls",
}


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


def scan(lens: bl.Lens, texts: Any, **options: Any) -> Any:
    return lens.scan(texts, progress=False, **options)


def assert_close(one: Any, other: Any, atol: float) -> None:
    assert list(one) == list(other)
    for name in one:
        np.testing.assert_allclose(
            one[name].values, other[name].values, atol=atol, rtol=0, err_msg=name
        )


# Against the reference values.


@pytest.mark.parametrize("number", range(4))
def test_scores_of_the_reference_maps(
    demo: bl.Lens, minilm: Any, minilm_texts: list[list[str]], number: int
) -> None:
    encoding = demo.encode(*minilm_texts[number])
    maps = minilm[f"attention_{number}"]
    attention = Attention(DenseWeights(maps), encoding.tokens, encoding.words, lens=demo)
    for name, there in REFERENCE.items():
        expected = minilm[f"{there}_{number}"]
        np.testing.assert_allclose(attention.scores[name].values, expected, atol=1e-6, err_msg=name)


def test_means_and_behaviours_of_the_reference_maps(
    demo: bl.Lens, minilm: Any, minilm_texts: list[list[str]], reference_values: Path
) -> None:
    tally = None
    for number, text in enumerate(minilm_texts):
        counter = ScoreCollector(demo.tokenizer, catalogue.select())
        kinds = token_types_of(demo.encode(*text).tokens, demo.tokenizer)
        counter.count(kinds, None, minilm[f"attention_{number}"])
        tally = counter.stats if tally is None else tally.merged(counter.stats)
    assert tally is not None
    scores = tally.scores()
    for name, there in REFERENCE.items():
        np.testing.assert_allclose(scores[name].values, minilm[f"{there}_mean"], atol=1e-6)
        assert (scores[name].support == 4).all()
    labels = json.loads((reference_values / "minilm.json").read_text())["labels"]
    named = np.where(np.array(labels) == "prev", "previous", np.array(labels))
    assert scores["behaviour"].labels.tolist() == named.tolist()


def test_a_scan_of_the_reference_texts(
    demo: bl.Lens, minilm: Any, minilm_texts: list[list[str]]
) -> None:
    # The forward pass itself moves weights by some 2e-6 from machine to machine.
    scores = scan(demo, [tuple(text) if len(text) == 2 else text[0] for text in minilm_texts])
    for name, there in REFERENCE.items():
        np.testing.assert_allclose(scores[name].values, minilm[f"{there}_mean"], atol=5e-6)


# What the patterns of the tour find, on the tour's own pair.


def test_the_six_patterns_are_found_by_score(demo: bl.Lens) -> None:
    attention = demo("I went to the store.", "At the store, I bought fresh strawberries.")
    scores = attention.scores
    assert set(catalogue.VIG_PATTERNS) <= set(scores)
    assert scores["previous"].best()[:2] == (0, 2)
    assert scores["next"].best()[:2] == (1, 8)
    weights = attention.weights()
    straw, berries = 15, 16
    np.testing.assert_allclose(
        scores["word_mates"].values,
        (weights[:, :, straw, berries] + weights[:, :, berries, straw]) / 2,
        atol=1e-6,
    )
    the, stores = [4, 9], [5, 10]
    doubles = [1, 12], the, stores, [6, 17]
    across = sum(weights[:, :, a, b] + weights[:, :, b, a] for a, b in doubles) / 8
    np.testing.assert_allclose(scores["identical_other"].values, across, atol=1e-6)
    np.testing.assert_allclose(
        scores["delimiters"].values, weights[..., [0, 7, 18]].sum(-1).mean(-1), atol=1e-6
    )


# One text and many.


def test_a_scan_of_one_text_scores_it_as_alone(lens: bl.Lens) -> None:
    assert_close(scan(lens, SENTENCES[:1]), lens(SENTENCES[0], exact=True).scores, atol=1e-6)


def test_values_are_means_over_texts_with_an_interval(lens: bl.Lens) -> None:
    scores = scan(lens, SENTENCES)
    alone = [lens(text, exact=True).scores["entropy"] for text in SENTENCES]
    values = np.stack([score.values for score in alone])
    entropy = scores["entropy"]
    np.testing.assert_allclose(entropy.values, values.mean(0), atol=1e-6)
    half = 3.182446 * values.std(0, ddof=1) / 2  # Student's t with 3 degrees of freedom, sqrt(4)
    np.testing.assert_allclose(entropy.low, values.mean(0) - half, atol=1e-5)
    np.testing.assert_allclose(entropy.high, values.mean(0) + half, atol=1e-5)
    assert (entropy.support == 4).all()
    assert entropy.baseline == pytest.approx(np.mean([score.baseline for score in alone]))
    lengths = [len(lens.encode(text)) for text in SENTENCES]
    assert entropy.baseline == pytest.approx(np.mean(np.log(lengths)), abs=1e-6)


def test_one_text_has_no_interval(lens: bl.Lens) -> None:
    score = scan(lens, SENTENCES[:1])["self"]
    assert score.low is None
    assert score.high is None


def test_students_t() -> None:
    # Tables give four digits.
    for freedom, value in {1: 12.7062, 4: 2.7764, 10: 2.2281, 30: 2.0423, 1000: 1.9623}.items():
        assert student(freedom) == pytest.approx(value, abs=1e-3)


def test_a_score_that_does_not_apply_is_nan() -> None:
    tokenizer = tokenizer_for("gpt2")
    backend = copy.deepcopy(tokenizer.backend_tokenizer)
    backend.post_processor = processors.ByteLevel()  # adds no token, as GPT-2's own
    bare = tokenizer.__class__(tokenizer_object=backend, pad_token="<pad>")
    gpt2 = bl.Lens(tiny("gpt2"), bare)
    scores = scan(gpt2, ["I went to the store", "the cat"])
    for name in ("cls", "sep", "sep_to_sep", "rest_to_sep", "entropy_cls", "identical_other"):
        assert np.isnan(scores[name].values).all(), name
        assert (scores[name].support == 0).all()
        assert scores[name].baseline is None
    assert not np.isnan(scores["entropy"].values).any()


def test_a_score_counts_only_texts_that_it_applies_to(lens: bl.Lens) -> None:
    scores = scan(lens, SENTENCES, tokens={"fox": "fox"})
    assert (scores["fox"].support == 1).all()
    np.testing.assert_allclose(
        scores["fox"].values, lens(SENTENCES[3], exact=True).scores["to:fox"].values, atol=1e-6
    )


def test_causal_models_are_compared_with_even_attention_to_what_they_see() -> None:
    gpt2 = bl.Lens(tiny("gpt2"), tokenizer_for("gpt2"))
    attention = gpt2("I went to the store")
    n = len(attention.tokens)
    expected = np.mean([np.log(k) for k in range(1, n + 1)])
    assert attention.scores["entropy"].baseline == pytest.approx(expected, abs=2e-3)  # smoothed


# Names of scores.


def test_any_offset_and_any_token_can_be_asked_for(lens: bl.Lens) -> None:
    attention = lens(SENTENCES[2], exact=True)
    weights = attention.weights().astype(float)
    n = len(attention.tokens)
    behind = np.stack([weights[..., i, i - 3] for i in range(3, n)]).sum(0) / n
    np.testing.assert_allclose(attention.scores["offset:-3"].values, behind, atol=1e-6)
    np.testing.assert_allclose(attention.scores.offset(-3).values, behind, atol=1e-6)
    places = [i for i, token in enumerate(attention.tokens) if token.text in ("the", ",")]
    share = weights[..., places].sum(-1).mean(-1)
    np.testing.assert_allclose(attention.scores.to_tokens("the", ",").values, share, atol=1e-6)
    scores = scan(lens, [SENTENCES[2]], scores=["offset:-3", "to:the"], tokens={"x": {"the", ","}})
    assert list(scores) == ["offset:-3", "to:the", "x"]
    np.testing.assert_allclose(scores["x"].values, share, atol=1e-6)


def test_unknown_names_say_what_there_is(lens: bl.Lens) -> None:
    with pytest.raises(KeyError, match=r"no score .*entropie.*entropy_cls"):
        scan(lens, SENTENCES, scores=["entropie"])
    with pytest.raises(KeyError, match=r"no score .*offset:x"):
        lens(SENTENCES[0]).scores["offset:x"]
    with pytest.raises(TypeError, match=r"such as \['entropy'\]"):
        scan(lens, SENTENCES, scores="entropy")
    with pytest.raises(ValueError, match="'self' is a built-in score"):
        scan(lens, SENTENCES, tokens={"self": "the"})
    with pytest.raises(ValueError, match="engine must be"):
        scan(lens, SENTENCES, engine="dask")


def test_the_behaviour_brings_the_scores_that_decide_it(lens: bl.Lens) -> None:
    scores = scan(lens, SENTENCES, scores=["behaviour"])
    assert list(scores) == [*catalogue.BEHAVIOUR_INPUTS, "behaviour"]
    frame = scores.to_frame()
    assert list(frame.columns) == ["layer", "head", *scores]
    assert set(frame["behaviour"]) <= {"", "broad", "next", "previous", "cls", "sep", "punctuation"}


# Sources of texts.


def test_a_file_holds_one_text_a_line(lens: bl.Lens, tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(SENTENCES) + "\n", encoding="utf-8")
    packed = tmp_path / "texts.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    expected = scan(lens, SENTENCES)
    for given_path in (path, str(path), str(packed)):
        found = scan(lens, given_path)
        assert found.coverage.texts == 4
        assert_close(found, expected, atol=1e-9)


def test_a_string_that_is_no_file_is_a_mistake(lens: bl.Lens) -> None:
    for text in ("I went to the store.", "long " * 5000):
        with pytest.raises(ValueError, match=r"is no file\. Give a list of texts"):
            scan(lens, text)
    with pytest.raises(TypeError, match="iterable or a path, not int"):
        scan(lens, 3)


def test_a_generator_is_read_once(lens: bl.Lens) -> None:
    assert_close(scan(lens, (text for text in SENTENCES)), scan(lens, SENTENCES), atol=1e-9)


def test_no_text_gives_no_score(lens: bl.Lens) -> None:
    scores = scan(lens, [])
    assert len(scores) == 0
    assert scores.coverage.texts == 0
    assert list(scores.to_frame().columns) == ["layer", "head"]


# Batches, order, merging, interrupts.


@given(
    st.lists(st.sampled_from([*SENTENCES, "the", "a cat, a dog."]), min_size=1, max_size=9),
    st.integers(1, 5),
)
@settings(max_examples=10, deadline=None)
def test_padding_and_batch_size_change_no_score(
    lens: bl.Lens, texts: list[str], batch_size: int
) -> None:
    together = scan(lens, texts, batch_size=batch_size)
    assert_close(together, scan(lens, texts, batch_size=1), atol=1e-5)


@given(st.permutations(range(6)), st.integers(1, 5), st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_order_and_merging_change_no_score(
    lens: bl.Lens, order: list[int], cut: int, seed: int
) -> None:
    batches = []
    generator = torch.Generator().manual_seed(seed)
    for i in range(6):
        encodings = (lens.encode(SENTENCES[i % 4]), lens.encode("the cat, " * (i + 1)))
        mask = token_mask(encodings)
        n = mask.shape[1]
        weights = torch.rand(2, 2, 3, n, n, generator=generator).masked_fill(
            ~mask[None, :, None, None], 0
        )
        batches.append((Batch((), (), encodings, mask), weights / weights.sum(-1, keepdim=True)))

    def counted(places: list[int]) -> Any:
        counter = ScoreCollector(lens.tokenizer, catalogue.select())
        for place in places:
            batch, weights = batches[place]
            for layer in range(2):
                counter.visit(layer, weights[layer], batch)
            counter.commit(batch)
        return counter.stats

    whole = counted(list(range(6))).scores()
    halves = counted(order[:cut]).merged(counted(order[cut:])).scores()
    assert_close(halves, whole, atol=1e-9)
    for name in whole:
        if whole[name].low is not None:
            np.testing.assert_allclose(halves[name].low, whole[name].low, atol=1e-7)


def test_scans_merge(lens: bl.Lens) -> None:
    whole = scan(lens, SENTENCES, batch_size=1, distances=True)
    first = scan(lens, SENTENCES[:1], batch_size=1, distances=True)
    both = first.merged(scan(lens, SENTENCES[1:], batch_size=1, distances=True))
    assert_close(both, whole, atol=1e-9)
    np.testing.assert_allclose(both.distances.values, whole.distances.values, rtol=1e-9)
    assert both.coverage.counted == both.distances.texts == 4
    with pytest.raises(ValueError, match="same patterns"):
        both.merged(scan(lens, SENTENCES, scores=["self"]))


def test_an_interrupt_returns_what_was_counted(lens: bl.Lens) -> None:
    def texts() -> Any:
        yield from SENTENCES[:2] * 32  # the first window
        raise KeyboardInterrupt

    scores = scan(lens, texts(), batch_size=2)
    assert scores.partial
    assert scores.coverage.counted == 64
    assert "partial: interrupted" in repr(scores)

    class Impatient(torch.nn.Module):
        calls = 0

        def forward(self, *args: Any) -> None:
            self.calls += 1
            if self.calls == 3:
                raise KeyboardInterrupt

    impatient = Impatient()
    hook = lens.model.encoder.layer[1].register_forward_pre_hook(lambda *_: impatient())
    try:
        scores = scan(lens, SENTENCES, batch_size=1)
    finally:
        hook.remove()
    assert scores.partial
    assert scores.coverage.counted == 2
    longest_first = sorted(SENTENCES, key=lambda text: -len(lens.encode(text)))
    assert_close(scores, scan(lens, longest_first[:2], batch_size=1), atol=1e-9)


def test_half_precision_is_reported(lens: bl.Lens) -> None:
    model = tiny("bert").to(torch.bfloat16)
    scores = scan(bl.Lens(model, tokenizer_for("bert")), SENTENCES)
    assert scores.dtype == "bfloat16"
    assert scores["self"].values.dtype == np.float64
    np.testing.assert_allclose(
        scores["self"].values, scan(lens, SENTENCES)["self"].values, atol=0.05
    )


# The real run.


def pieces_of(lens: bl.Lens, path: Path) -> list[list[list[int]]]:
    """Runs of 125 word pieces of each document, as the reference cut them."""
    documents = gzip.decompress(path.read_bytes()).decode().split("\n\n")
    runs = []
    for document in documents:
        text = " ".join(line for line in document.split("\n") if line)
        ids = lens.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        runs.append([ids[i : i + 125] for i in range(0, len(ids) - 124, 125)])
    return runs


def segment(lens: bl.Lens, run: list[int]) -> Encoding:
    """[CLS] 62 pieces [SEP] 63 pieces [SEP]."""
    cls, sep = lens.tokenizer.cls_token_id, lens.tokenizer.sep_token_id
    ids = [cls, *run[:62], sep, *run[62:], sep]
    types = [0] * 64 + [1] * 64
    tokens = tuple(
        Token(piece, piece, None, None, i, types[i], ids[i] in (cls, sep))
        for i, piece in enumerate(lens.tokenizer.convert_ids_to_tokens(ids))
    )
    words = tuple(Word(t.text, (i,), t.segment, t.special, None) for i, t in enumerate(tokens))
    inputs = {"input_ids": ids, "token_type_ids": types, "attention_mask": [1] * 128}
    return Encoding(inputs, tokens, words, "")


def test_a_thousand_segments_of_novels(demo: bl.Lens, shared: Path, reference_values: Path) -> None:
    documents = pieces_of(demo, shared / "data" / "raw" / "gutenberg.txt.gz")
    turns = [
        runs[turn]
        for turn in range(max(map(len, documents)))
        for runs in documents
        if turn < len(runs)
    ]
    scores = scan(demo, [segment(demo, run) for run in turns[:1000]], scores=catalogue.PAPER)
    reference = json.loads((reference_values / "surface_gutenberg.json").read_text())
    expected = reference["modes"]["pair"]["per_head"]
    there = {
        "self": "self",
        "previous": "prev_paper",
        "next": "next_paper",
        "cls": "cls",
        "sep": "sep",
        "punctuation": "punct_dot_comma",
        "sep_to_sep": "sep_from_sep",
        "rest_to_sep": "sep_from_other",
        "entropy": "entropy_smoothed",
    }
    for name, key in there.items():
        # Printed to six decimals.
        np.testing.assert_allclose(scores[name].values, expected[key], atol=2e-6, err_msg=name)
    shares = reference["modes"]["pair"]["share_of_positions"]
    assert scores["sep"].baseline == pytest.approx(shares["sep"], abs=1e-6)
    assert scores["punctuation"].baseline == pytest.approx(shares["punct_dot_comma"], abs=1e-6)
