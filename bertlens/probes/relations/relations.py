"""Single heads as classifiers of dependency relations (paper section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bertlens.probes.relations.guesses import checked_guesses, guess
from bertlens.probes.relations.offsets import OFFSETS
from bertlens.probes.relations.table import RelationTable
from bertlens.probes.treebanks.encoded import BATCH_SIZE, Long, SentenceOptions
from bertlens.probes.treebanks.treebank import Errors, Sentences
from bertlens.text.text_model import TextModel


def relations(
    lens: TextModel,
    treebank: Sentences | None = None,
    *,
    select: Sentences | None = None,
    evaluate: Sentences | None = None,
    self_attention: bool = False,
    punctuation: bool = False,
    subtypes: bool = True,
    roots: bool = False,
    follow_possessive: bool = False,
    offsets: Sequence[int] = OFFSETS,
    long: Long = "skip",
    errors: Errors = "raise",
    batch_size: int | None = BATCH_SIZE,
    progress: bool = True,
    engine: Literal["local", "ray"] = "local",
    workers: int = 2,
) -> RelationTable:
    """How well each head, taken alone, finds the syntactic head of a word, relation by relation.

    A head predicts the word that the dependent attends to most ("dependent->head"), or the word
    that attends to the dependent most ("head->dependent"). Special tokens are left out, and the
    first of equals is picked. Roots have no head among the words and are not scored.

    Args:
        treebank: sentences on which heads and offsets are both chosen and reported.
        select, evaluate: instead, choose on one treebank and report on another, so that no number
            is chosen on its own test data.
        self_attention: let a word be its own guess; else its weight to itself is put to 0.
        punctuation: count punctuation in the row "all". It always has a row of its own.
        subtypes: keep "nsubj:pass" apart from "nsubj"; else merge them.
        roots: count roots, always wrong, in the row "all", as the paper's code does.
        follow_possessive: judge a possessor that a possessive 's follows by where that 's points,
            as the paper's code does for `poss`.
        offsets: of the baseline: head minus dependent, in words.
        long: leave out sentences that the model cannot take ("skip"), "cut" their last words, or
            raise an "error". Words cut off are not scored, nor are words whose heads are cut off.
        errors: "skip" leaves out sentences with a word that gives no token.
        batch_size: the most sentences at once; None is as in `Lens.scan`.
        progress, engine, workers: as in `Lens.scan`.

    Raises:
        TypeError: no treebank, or only one of `select` and `evaluate`.
        AnnotationError: an empty treebank, a word without tokens, or no sentence that can be run.
    """
    if (treebank is None) == (select is None) or (select is None) != (evaluate is None):
        raise TypeError("Give a treebank, or both select= and evaluate=.")
    options = SentenceOptions(long, errors, batch_size, progress, engine, workers)
    chosen_on, reported_on = (
        checked_guesses(guess(lens, sentences, options, self_attention=self_attention))
        if sentences is not None
        else None
        for sentences in (treebank if select is None else select, evaluate)
    )
    assert chosen_on is not None
    return RelationTable(
        chosen_on,
        reported_on,
        punctuation=punctuation,
        subtypes=subtypes,
        roots=roots,
        follow_possessive=follow_possessive,
        offsets=offsets,
    )
