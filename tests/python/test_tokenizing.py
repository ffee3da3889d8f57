"""A tokenizer shared by threads, with settings of its own, and given very long texts."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import bertlens as bl
from bertlens.errors import TextTooLongError
from bertlens.text.encoding import encode
from tests.python.tiny import SENTENCES, tiny
from tests.python.tokenizers import byte_bpe, wordpiece

LONG = "the cat sat on the mat and " * 30


@pytest.mark.parametrize("calls", [600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_threads_share_a_tokenizer_without_cutting_each_others_texts(calls: int) -> None:
    tokenizer = wordpiece()
    texts = [*SENTENCES, LONG]
    options: list[dict[str, Any]] = [{}, {"limit": 40, "truncate": True}]
    expected = {
        (i, j): encode(tokenizer, text, **option).inputs
        for i, text in enumerate(texts)
        for j, option in enumerate(options)
    }
    wrong: list[tuple[int, int]] = []

    def work(first: int) -> None:
        for n in range(calls // 6):
            place = ((first + n) % len(texts), n % 2)
            made = encode(tokenizer, texts[place[0]], **options[place[1]])
            if made.inputs != expected[place]:
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_lenses_on_one_model_and_tokenizer_scan_beside_each_other() -> None:
    model, tokenizer = tiny("bert"), wordpiece()
    texts = [*SENTENCES, LONG] * 4
    alone = bl.Lens(model, tokenizer).scan(texts, progress=False)["entropy"].values
    found: list[Any] = []

    def work() -> None:
        lens = bl.Lens(model, tokenizer)
        found.append(lens.scan(texts, progress=False)["entropy"].values)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert all((one == alone).all() for one in found)


def test_the_callers_truncation_and_padding_come_back() -> None:
    tokenizer = byte_bpe()
    backend = tokenizer.backend_tokenizer
    backend.enable_truncation(7, stride=2, strategy="only_first", direction="left")
    backend.enable_padding(length=9, pad_id=1, pad_token="<pad>", direction="left")
    try:
        before = backend.truncation, backend.padding
        assert len(encode(tokenizer, LONG)) > 100
        assert len(encode(tokenizer, LONG, limit=40, truncate=True)) == 40
        encode(tokenizer, ["the", "cat"], limit=40)
        with pytest.raises(TextTooLongError):
            encode(tokenizer, LONG, limit=40)
        assert (backend.truncation, backend.padding) == before
    finally:
        backend.no_truncation()
        backend.no_padding()


def test_the_beginning_of_a_very_long_text_is_what_truncation_keeps() -> None:
    tokenizer = wordpiece()
    text = " ".join(SENTENCES) + " " + "dog " * 60_000
    cut = encode(tokenizer, text, limit=64, truncate=True)
    whole = tokenizer(text, truncation=True, max_length=64, verbose=False)["input_ids"]
    assert cut.inputs["input_ids"] == whole
    assert cut.notes[-1] == f"Cut to 64 tokens of {len(text):,} characters."
    pair = encode(tokenizer, text, "cat " * 900, limit=64, truncate=True)
    both = tokenizer(text[:2000], "cat " * 400, truncation=True, max_length=64)["input_ids"]
    assert pair.inputs["input_ids"] == both
    with pytest.raises(TextTooLongError, match=r"240,\d+ characters and more tokens"):
        encode(tokenizer, text, limit=64)


@pytest.mark.slow
def test_a_pair_of_a_million_words_each_fits_in_two_gigabytes() -> None:
    code = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n"
        "import bertlens as bl\n"
        "lens = bl.Lens.demo()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "pair = ('word ' * 1_000_000, 'other ' * 1_000_000)\n"
        "assert len(lens(*pair, truncate=True).tokens) == 512\n"
        "assert lens.scan([pair], progress=False).coverage.truncated == 1\n"
        "assert lens.scan(['x' * 100_000_000], progress=False).coverage.truncated == 1\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2 * 1024**2  # ru_maxrss is in kilobytes
