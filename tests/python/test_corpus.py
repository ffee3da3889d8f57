"""Many texts through a model: nothing lost, nothing half counted, memory flat."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import bertlens as bl
from bertlens.corpus import stream
from bertlens.text.batch import Batch
from tests.python.tiny import SENTENCES, tiny, tokenizer_for


@pytest.fixture(scope="module")
def lens() -> bl.Lens:
    return bl.Lens(tiny("bert"), tokenizer_for("bert"))


def collected(lens: bl.Lens, texts: object, **options: object) -> dict[tuple[int, int], np.ndarray]:
    """The map of every layer and text, without padding."""
    maps = {}

    def visit(layer: int, weights: torch.Tensor, batch: Batch) -> None:
        for i, (index, n) in enumerate(zip(batch.indices, batch.lengths, strict=True)):
            maps[layer, index] = weights[i, :, :n, :n].clone().numpy()

    stream.stream(lens, texts, visit, progress=False, **options)
    return maps


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "llama", "modernbert"])
def test_each_text_gets_the_map_it_has_alone(family: str) -> None:
    lens = bl.Lens(tiny(family), tokenizer_for(family))
    maps = collected(lens, SENTENCES, batch_size=3)
    for index, text in enumerate(SENTENCES):
        alone = lens(text, exact=True)
        for layer in range(alone.n_layers):
            np.testing.assert_allclose(maps[layer, index], alone.weights(layer), atol=1e-5)


def test_strings_pairs_words_and_encodings_are_texts(lens: bl.Lens) -> None:
    given = ["I went", ("I went", "the store"), ["I", "went"], lens.encode("the store")]
    maps = collected(lens, given)
    alone = [
        lens("I went", exact=True),
        lens("I went", "the store", exact=True),
        lens(words=["I", "went"], exact=True),
        lens("the store", exact=True),
    ]
    for index, attention in enumerate(alone):
        np.testing.assert_allclose(maps[1, index], attention.weights(1), atol=1e-5)


def test_empty_and_long_texts_are_counted(lens: bl.Lens) -> None:
    texts = ["", "I went.", "  ", "the " * 100, []]
    coverage = stream.stream(lens, texts, lambda *_: None, progress=False)
    assert (coverage.texts, coverage.counted, coverage.cut) == (5, 2, 1)
    assert coverage.skipped == {"empty": 3}
    assert coverage.examples == {"empty": [0, 2, 4], "cut": [3]}
    strict = stream.stream(lens, texts, lambda *_: None, progress=False, truncate=False)
    assert (strict.counted, strict.cut) == (1, 0)
    assert strict.skipped == {"empty": 3, "too long": 1}


def test_an_item_that_is_no_text_is_named(lens: bl.Lens) -> None:
    with pytest.raises(TypeError, match=r"Text 1 of the corpus.*got 7"):
        stream.stream(lens, ["I went", 7], lambda *_: None, progress=False)


def test_an_interrupt_keeps_the_batches_that_were_whole(lens: bl.Lens) -> None:
    committed = []

    def visit(layer: int, weights: torch.Tensor, batch: Batch) -> None:
        if len(committed) == 2 and layer == 1:
            raise KeyboardInterrupt

    coverage = stream.stream(
        lens, SENTENCES, visit, commit=committed.append, batch_size=1, progress=False
    )
    assert coverage.partial
    assert coverage.counted == len(committed) == 2


def test_memory_is_flat_because_only_a_window_is_read_ahead(lens: bl.Lens) -> None:
    read = 0

    def endless() -> object:
        nonlocal read
        for read in range(1, 10_000):  # noqa: B007
            yield "I went"

    batches = stream.batches(lens, endless(), stream.RunSummary(), batch_size=2)
    for _ in range(3):
        next(batches)
    assert read == stream.PREFETCH_BATCHES * 2


def test_texts_of_like_length_share_a_batch(lens: bl.Lens) -> None:
    texts = ["the", "the cat sat on the mat", "the", "the cat sat on the mat"]
    made = [b.indices for b, _ in stream.batches(lens, texts, stream.RunSummary(), batch_size=2)]
    assert made == [(1, 3), (0, 2)]


def test_the_model_is_free_between_batches(lens: bl.Lens) -> None:
    turns = []

    def other_thread_takes_the_model(batch: Batch) -> None:
        def turn() -> None:
            if lens.lock.acquire(timeout=5):
                turns.append(batch.indices)
                lens.lock.release()

        thread = threading.Thread(target=turn)
        thread.start()
        thread.join()

    stream.stream(
        lens,
        ["I", "went"],
        lambda *_: None,
        commit=other_thread_takes_the_model,
        batch_size=1,
        progress=False,
    )
    assert turns == [(0,), (1,)]


def test_coverages_add_up() -> None:
    one, two = (
        stream.RunSummary(texts=3, counted=2),
        stream.RunSummary(texts=2, counted=1, truncated=1),
    )
    one.skip("empty", 1)
    two.skip("empty", 0)
    both = one.merged(two)
    assert (both.texts, both.counted, both.cut, both.skipped["empty"]) == (5, 3, 1, 2)
    assert str(both) == "3 of 5 texts counted, 1 cut to the model's limit, 2 skipped (empty)"
