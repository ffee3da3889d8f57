"""What a head guesses, worked by hand."""

from __future__ import annotations

import pytest
import torch

import bertlens as bl
from bertlens.errors import AnnotationError, TextTooLongError
from bertlens.probes import Sentence
from bertlens.probes.relations.guesses import DIRECTIONS, NOT_RUN, guess, pick
from bertlens.probes.treebanks.encoded import SentenceOptions

THREE = torch.tensor(
    [
        [0.6, 0.3, 0.1],  # the first word attends to itself most, then to the second
        [0.2, 0.2, 0.6],
        [0.4, 0.4, 0.2],  # a tie
    ]
)[None, None]
EVERYWHERE = torch.ones(1, 3, dtype=torch.bool)


def test_the_dependents_row_and_its_column_are_read_without_itself() -> None:
    row, column = pick(THREE, EVERYWHERE)
    assert row[0, 0].tolist() == [1, 2, 0]
    assert column[0, 0].tolist() == [2, 2, 1]


def test_a_word_may_pick_itself_when_it_is_let() -> None:
    row, column = pick(THREE, EVERYWHERE, self_attention=True)
    assert row[0, 0].tolist() == [0, 2, 0]
    assert column[0, 0].tolist() == [0, 2, 1]


def test_of_equals_the_first_is_picked() -> None:
    row, column = pick(torch.full((1, 1, 4, 4), 0.25), torch.ones(1, 4, dtype=torch.bool))
    assert row[0, 0].tolist() == column[0, 0].tolist() == [1, 0, 0, 0]


def test_padding_is_never_picked() -> None:
    weights = torch.zeros(1, 1, 4, 4)
    weights[..., 3] = 1
    row, column = pick(weights, torch.tensor([[True, True, True, False]]))
    assert max(row[0, 0, :3].tolist()) < 3
    assert max(column[0, 0, :3].tolist()) < 3


def test_guesses_are_the_first_maxima_of_word_level_maps(demo: bl.Lens) -> None:
    sentences = [
        Sentence(("Unbelievable", "strawberries", "grow"), (2, 3, 0), ("amod", "nsubj", "root")),
        Sentence(("Go", "!"), (0, 1), ("root", "punct")),
    ]
    found = guess(demo, sentences, SentenceOptions(progress=False))
    for sentence, start in zip(sentences, (0, 3), strict=True):
        words = demo(words=sentence.words, exact=True).to_words()
        for layer in (0, 5):
            maps = words.weights(layer)[:, 1:-1, 1:-1].copy()
            for head in range(12):
                n = len(sentence)
                maps[head, range(n), range(n)] = 0
                for i in range(n):
                    picked = found.picked[:, start + i, layer, head]
                    assert picked[0] == 1 + maps[head, i].argmax(), DIRECTIONS[0]
                    assert picked[1] == 1 + maps[head, :, i].argmax(), DIRECTIONS[1]


LONG = Sentence(
    ("go",) * 600, (0, *range(1, 600)), ("root",) + ("dep",) * 599, "long.conllu, line 1"
)
SHORT = Sentence(("Go", "!"), (0, 1), ("root", "punct"))


def test_a_long_sentence_is_skipped_and_counted(demo: bl.Lens) -> None:
    found = guess(demo, [LONG, SHORT], SentenceOptions(progress=False))
    assert (found.picked[:, :600] == NOT_RUN).all()
    assert (found.picked[:, 600:] != NOT_RUN).all()
    assert str(found.coverage) == "1 of 2 texts counted, 1 skipped (too long)"


def test_a_long_sentence_is_cut_at_a_word_when_asked(demo: bl.Lens) -> None:
    found = guess(demo, [LONG, SHORT], SentenceOptions(long="cut", progress=False))
    ran = (found.picked[0, :600, 0, 0] != NOT_RUN).sum()
    assert ran == 510  # 512 tokens are two delimiters and 510 words of one token
    assert found.coverage.cut == 1


def test_a_long_sentence_is_an_error_when_asked(demo: bl.Lens) -> None:
    with pytest.raises(TextTooLongError, match=r"long\.conllu, line 1 has 602 tokens .* 512"):
        guess(demo, [LONG], SentenceOptions(long="error", progress=False))


def test_a_word_without_tokens_is_named_or_its_sentence_skipped(demo: bl.Lens) -> None:
    # BERT's tokenizer drops control characters.
    empty = Sentence(("Go", "\x00"), (0, 1), ("root", "punct"), "x.conllu, line 4")
    with pytest.raises(AnnotationError, match=r"x\.conllu, line 4: word 2 .* gives no token"):
        guess(demo, [empty, SHORT], SentenceOptions(progress=False))
    found = guess(demo, [empty, SHORT], SentenceOptions(errors="skip", progress=False))
    assert str(found.coverage) == "1 of 2 texts counted, 1 skipped (a word without tokens)"


def test_options_are_checked(demo: bl.Lens) -> None:
    with pytest.raises(ValueError, match='long must be "skip", "cut" or "error", not \'no\''):
        SentenceOptions(long="no")  # type: ignore[arg-type]


def test_a_table_needs_a_sentence_that_was_run(demo: bl.Lens) -> None:
    with pytest.raises(AnnotationError, match=r"no sentence could be run \(0 of 1 texts"):
        bl.probes.relations(demo, [LONG], progress=False)
