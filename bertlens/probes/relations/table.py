"""The table of relations: the head that knows each best, beside the best fixed offset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bertlens.errors import require
from bertlens.probes.relations.examples import Example, examples
from bertlens.probes.relations.guesses import DIRECTIONS, Direction, Guesses
from bertlens.probes.relations.offsets import OFFSETS, best_offset, checked_offsets
from bertlens.probes.relations.scored import ALL, ScoredWords
from bertlens.probes.statistics import mcnemar, wilson
from bertlens.scores.head_scores import HeadScores

if TYPE_CHECKING:
    import pandas as pd

    from bertlens.attention.attention import Attention
    from bertlens.widgets.explorer import Explorer

SIGNIFICANCE = 0.05
"""Beating the baseline means a chance below this of so large a difference by luck."""


class RelationRow(NamedTuple):
    """One relation, the head that was chosen for it, and the baseline.

    Accuracies are shares from 0 to 1; `low` and `high` are the 95% Wilson interval of `accuracy`.
    `p_value` is McNemar's exact test of head against offset on the same words. `beats_offset` holds
    it against 0.05; where head and direction were chosen on those very words, against 0.05 divided
    by how many there were to choose from.
    """

    relation: str
    layer: int
    head: int
    direction: Direction
    accuracy: float
    correct: int
    support: int
    low: float
    high: float
    offset: int
    offset_accuracy: float
    p_value: float
    beats_offset: bool


class ShowsAttention(Protocol):
    """A lens, as far as `explore` calls it."""

    def __call__(self, *, words: Sequence[str], truncate: bool) -> Attention: ...


class RelationTable(Mapping[str, HeadScores]):
    """Relations by name: `table["obj"]` is every head's accuracy in its better direction.

    Attributes:
        chosen_on: the guesses by which heads, directions and offsets are chosen.
        reported_on: those that the numbers are counted on.
        held_out: whether these two differ.
        options: how guesses are counted; see `recount`.
        words: the words that are reported on, judged.
    """

    def __init__(
        self,
        chosen_on: Guesses,
        reported_on: Guesses | None = None,
        *,
        punctuation: bool = False,
        subtypes: bool = True,
        roots: bool = False,
        follow_possessive: bool = False,
        offsets: Sequence[int] = OFFSETS,
    ) -> None:
        self.chosen_on = chosen_on
        self.reported_on = chosen_on if reported_on is None else reported_on
        self.held_out = reported_on is not None
        self.options: dict[str, Any] = {
            "punctuation": punctuation,
            "subtypes": subtypes,
            "roots": roots,
            "follow_possessive": follow_possessive,
            "offsets": checked_offsets(offsets),
        }
        judged = [
            ScoredWords(guesses, subtypes=subtypes, follow_possessive=follow_possessive)
            for guesses in ([chosen_on] if reported_on is None else [chosen_on, reported_on])
        ]
        self._chosen, self.words = judged[0], judged[-1]
        self._made: dict[tuple[str, Direction | None], HeadScores] = {}

    def recount(self, **options: Any) -> RelationTable:
        """The same guesses counted otherwise, without running the model.

        Args:
            options: punctuation, subtypes, roots, follow_possessive, offsets, as in `relations`.

        Raises:
            TypeError: another option.
        """
        unknown = set(options) - set(self.options)
        if unknown:
            raise TypeError(f"There is no option {sorted(unknown)[0]!r}: {sorted(self.options)}.")
        reported = self.reported_on if self.held_out else None
        return RelationTable(self.chosen_on, reported, **{**self.options, **options})

    @cached_property
    def rows(self) -> tuple[RelationRow, ...]:
        """A row for all relations together, then one a relation, the most frequent first."""
        return tuple(self._row(name) for name in self)

    def scores(self, relation: str, *, direction: Direction | None = None) -> HeadScores:
        """Every head's accuracy at a relation.

        Args:
            direction: "dependent->head" or "head->dependent"; without it, each head's better one.

        Raises:
            KeyError: no word of the treebank has this relation.
            ValueError: another direction.
        """
        self._known(relation)
        if direction is not None and direction not in DIRECTIONS:
            raise ValueError(f"direction must be one of {DIRECTIONS}, not {direction!r}.")
        key = (relation, direction)
        if key not in self._made:
            self._made[key] = self._scores(relation, direction)
        return self._made[key]

    def _scores(self, relation: str, direction: Direction | None) -> HeadScores:
        correct, support = self._counts(self.words, relation)
        if direction is None:
            # Argmax takes the first of equals: dependent->head.
            better = self._counts(self._chosen, relation)[0].argmax(0)
            chosen = np.take_along_axis(correct, better[None], 0)[0]
            which = "in its better direction"
        else:
            chosen = correct[DIRECTIONS.index(direction)]
            which = direction
        low, high = wilson(chosen, support)
        offset = self._offset(relation)
        baseline = self._offset_accuracy(relation, offset)
        what = "any word" if relation == ALL else f"a word with relation {relation!r}"
        return HeadScores(
            relation,
            chosen / support if support else np.full(chosen.shape, np.nan),
            unit="accuracy",
            description=f"How often the head finds the syntactic head of {what}, {which}; "
            f"the baseline is the fixed offset {offset:+d}.",
            support=np.full(chosen.shape, support, np.float64),
            low=low,
            high=high,
            baseline=baseline,
        )

    def better_direction(self, relation: str, layer: int, head: int) -> Direction:
        """The direction in which a head does better at a relation; the first of equals."""
        self._known(relation)
        counts = self._counts(self._chosen, relation)[0]
        return DIRECTIONS[int(counts[:, layer, head].argmax())]

    def examples(
        self,
        relation: str,
        layer: int,
        head: int,
        *,
        direction: Direction | None = None,
        hit: bool | None = None,
        distance: int | None = None,
    ) -> list[Example]:
        """The words of a relation in order, with a head's guess for each; see `examples.examples`.

        Args:
            direction: the head's better one if none is given.
            hit: only those that the head gets right (True) or wrong (False).
            distance: only those whose head is so many words away, before (-) or after (+).

        Raises:
            KeyError: no word of the treebank has this relation.
            IndexError: no such layer or head.
        """
        self._known(relation)
        guesses = self.reported_on
        if not (0 <= layer < guesses.n_layers and 0 <= head < guesses.n_heads):
            raise IndexError(
                f"There is no head {layer}-{head}: layers go to {guesses.n_layers - 1}, heads to "
                f"{guesses.n_heads - 1}."
            )
        return examples(
            self.words,
            self.words.members(relation, punctuation=self.options["punctuation"]),
            layer,
            head,
            direction or self.better_direction(relation, layer, head),
            hit=hit,
            distance=distance,
        )

    def explore(self, lens: ShowsAttention, relation: str | None = None, **traits: Any) -> Explorer:
        """The widget on this table: layer grid, probe view and head view, linked.

        It opens on the relation's best head and first sentence.

        Args:
            lens: the model that was probed.
            relation: the relation to begin with; the first common one if none is given.
            traits: starting values, as of `lens.explore`.

        Raises:
            SelectionError: another model, or no such relation.
        """
        treebank = self.reported_on.treebank
        view = lens(words=list(treebank[0].words), truncate=True).explore(**traits)
        view.views = ["grid", "probe", "head"]
        view.probed = self
        if relation is not None:
            view.relation = relation
        best = self[str(view.relation)].best()
        view.layer, view.heads = best.layer, [best.head]
        found = self.examples(str(view.relation), best.layer, best.head)
        if found:
            view.example = found[0]
        return view

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with one row a relation, "all" first; columns as in RelationRow.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        require("pandas", "analysis")
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(RelationRow._fields))

    def to_latex(self) -> str:
        """The table in LaTeX with booktabs, for a paper."""
        from bertlens.probes.relations.writers import as_latex

        return as_latex(self, self.rows)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as .csv, .html, .md or .tex, by the path's suffix; returns the path.

        Raises:
            ValueError: another suffix.
            OSError: the place cannot be written.
        """
        from bertlens.probes.relations.writers import save

        return save(self, Path(path))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the numbers, in sentences."""
        from bertlens.probes.relations.rendering import relation_notes

        return relation_notes(self)

    def __getitem__(self, relation: str) -> HeadScores:
        return self.scores(relation)

    def __iter__(self) -> Iterator[str]:
        return iter([ALL, *self._chosen.supports])

    def __len__(self) -> int:
        return 1 + len(self._chosen.supports)

    def __contains__(self, relation: object) -> bool:
        return relation == ALL or relation in self._chosen.supports

    def _known(self, relation: str) -> None:
        if relation not in self:
            known = ", ".join(self)
            name = self.chosen_on.treebank.name
            raise KeyError(f"{name} has no word with relation {relation!r}; it has: {known}")

    def _members(self, words: ScoredWords, relation: str) -> NDArray[np.int64]:
        return words.members(relation, punctuation=self.options["punctuation"])

    def _counts(self, words: ScoredWords, relation: str) -> tuple[NDArray[np.int64], int]:
        """Right guesses [direction, layer, head], and of how many words."""
        members = self._members(words, relation)
        roots = words.n_roots if relation == ALL and self.options["roots"] else 0
        return words.right[:, members].sum(1), len(members) + roots

    def _offset(self, relation: str) -> int:
        distances = self._chosen.distances[self._members(self._chosen, relation)]
        return best_offset(distances, self.options["offsets"])

    def _offset_accuracy(self, relation: str, offset: int) -> float:
        support = self._counts(self.words, relation)[1]
        members = self._members(self.words, relation)
        return (
            float((self.words.distances[members] == offset).sum() / support) if support else np.nan
        )

    def _row(self, relation: str) -> RelationRow:
        chosen, _ = self._counts(self._chosen, relation)
        # Argmax takes the first of equals: dependent->head, then the lowest layer, then head.
        d, layer, head = np.unravel_index(chosen.argmax(), chosen.shape)
        correct, support = self._counts(self.words, relation)
        n = int(correct[d, layer, head])
        low, high = wilson(n, support)
        offset = self._offset(relation)
        members = self._members(self.words, relation)
        by_head = self.words.right[d, members, layer, head]
        by_offset = self.words.distances[members] == offset
        p = mcnemar(int((by_head & ~by_offset).sum()), int((by_offset & ~by_head).sum()))
        tried = 1 if self.held_out else chosen.size
        return RelationRow(
            relation,
            int(layer),
            int(head),
            DIRECTIONS[int(d)],
            n / support if support else np.nan,
            n,
            support,
            float(low),
            float(high),
            offset,
            self._offset_accuracy(relation, offset),
            p,
            bool(p < SIGNIFICANCE / tried and by_head.sum() > by_offset.sum()),
        )

    def __repr__(self) -> str:
        from bertlens.probes.relations.rendering import relation_text

        return relation_text(self)

    def _repr_html_(self) -> str:
        from bertlens.probes.relations.rendering import relation_html

        return relation_html(self)
