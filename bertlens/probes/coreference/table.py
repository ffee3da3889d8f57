"""The table of antecedents: the head that finds most, beside baselines, by kind of mention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bertlens.corpus.stream import RunSummary
from bertlens.errors import require
from bertlens.probes.coreference.antecedents import (
    BASELINES,
    Anaphor,
    Candidates,
    baseline_right,
    chance,
)
from bertlens.probes.html_table import Cell, percent, table_html
from bertlens.probes.statistics import wilson
from bertlens.scores.head_scores import HeadScores

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("all", "pronoun", "proper", "nominal", "other")
"""Rows of the table; "other" is all that are no pronouns."""


class CoreferenceRow(NamedTuple):
    """A kind of mention, the head that finds most antecedents, and the baselines.

    Accuracies are shares from 0 to 1, `low` and `high` the 95% Wilson interval of `accuracy`;
    baselines are those of `coreference.antecedents`, `chance` the share of candidates that are
    right.
    """

    mentions: str
    layer: int
    head: int
    direction: str
    accuracy: float
    correct: int
    support: int
    low: float
    high: float
    nearest: float
    first: float
    head_match: float
    head_match_or_nearest: float
    text_head_nearest: float
    rules: float
    chance: float


class CoreferenceTable(Mapping[str, HeadScores]):
    """Kinds of mentions by name: `table["pronoun"]` is every head's accuracy at pronouns.

    Attributes:
        anaphors: the mentions that were scored.
        right: bool [anaphor, layer, head], whether the head's choice is an antecedent.
        candidates, direction: as asked for.
        coverage: of segments: counted, skipped and why.
    """

    def __init__(
        self,
        anaphors: Sequence[Anaphor],
        right: NDArray[np.bool_],
        *,
        candidates: Candidates,
        direction: str,
        coverage: RunSummary | None = None,
        model_name: str = "",
    ) -> None:
        self.anaphors = tuple(anaphors)
        self.right = right
        self.candidates = candidates
        self.direction = direction
        self.coverage = coverage or RunSummary()
        self.model_name = model_name
        kinds = np.array([anaphor.kind for anaphor in self.anaphors], dtype=str)
        self._members = {name: np.flatnonzero(_is(kinds, name)) for name in KINDS}

    @cached_property
    def rows(self) -> tuple[CoreferenceRow, ...]:
        """A row for each kind of mention that occurs."""
        return tuple(self._row(name) for name in self)

    def scores(self, mentions: str) -> HeadScores:
        """Every head's accuracy at a kind of mention.

        Raises:
            KeyError: there is no such mention with an antecedent.
        """
        if mentions not in self:
            known = ", ".join(self)
            raise KeyError(f"No {mentions!r} mention has an antecedent; there are: {known}")
        members = self._members[mentions]
        correct = self.right[members].sum(0)
        low, high = wilson(correct, len(members))
        return HeadScores(
            f"coreference: {mentions}",
            correct / len(members),
            unit="accuracy",
            description="How often the head chooses an antecedent of a mention"
            f" ({self.direction}, candidates: {self.candidates.replace('_', ' ')}).",
            support=np.full(correct.shape, len(members), np.float64),
            low=low,
            high=high,
            baseline=self.baseline(mentions, "rules"),
        )

    def baseline(self, mentions: str, name: str) -> float:
        """The accuracy of a baseline of `antecedents.BASELINES` at a kind of mention."""
        return float(np.mean(self._baselines[name][self._members[mentions]]))

    @cached_property
    def _baselines(self) -> dict[str, NDArray[np.float64]]:
        found = {
            name: np.array([baseline_right(anaphor, name) for anaphor in self.anaphors], float)
            for name in BASELINES
        }
        found["chance"] = np.array([chance(one, self.candidates) for one in self.anaphors])
        return found

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with one row a kind of mention; columns as in CoreferenceRow.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        require("pandas", "analysis")
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(CoreferenceRow._fields))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know about the numbers."""
        notes = [
            f"Candidates: {self.candidates.replace('_', ' ')}; {self.direction}. Each head was "
            "chosen on the very mentions it is reported on."
        ]
        if self.coverage.skipped or self.coverage.partial:
            notes.append(f"Segments: {self.coverage}.")
        return tuple(notes)

    def __getitem__(self, mentions: str) -> HeadScores:
        return self.scores(mentions)

    def __iter__(self) -> Iterator[str]:
        return (name for name in KINDS if len(self._members[name]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, mentions: object) -> bool:
        return mentions in list(self)

    def _row(self, mentions: str) -> CoreferenceRow:
        members = self._members[mentions]
        counts = self.right[members].sum(0)
        layer, head = np.unravel_index(counts.argmax(), counts.shape)
        correct = int(counts[layer, head])
        low, high = wilson(correct, len(members))
        return CoreferenceRow(
            mentions,
            int(layer),
            int(head),
            self.direction,
            correct / len(members),
            correct,
            len(members),
            float(low),
            float(high),
            *(self.baseline(mentions, name) for name in CoreferenceRow._fields[9:]),
        )

    def __repr__(self) -> str:
        lines = [
            f"  {row.mentions:<9}{row.layer:>3}-{row.head:<3}{100 * row.accuracy:5.1f}"
            f"  nearest {100 * row.nearest:.1f}, head match {100 * row.head_match:.1f},"
            f" rules {100 * row.rules:.1f}  n={row.support}"
            for row in self.rows
        ]
        return "\n".join([f"<CoreferenceTable of {self.model_name}", *lines]) + ">"

    def _repr_html_(self) -> str:
        columns = ("mentions", "head", "accuracy", "95%", *CoreferenceRow._fields[9:], "support")
        body = [
            (
                Cell(row.mentions),
                Cell(f"{row.layer}-{row.head}", number=True),
                Cell(percent(row.accuracy), number=True),
                Cell(f"{percent(row.low)}–{percent(row.high)}", number=True),
                *(Cell(percent(share), number=True) for share in row[9:]),
                Cell(f"{row.support:,}", number=True),
            )
            for row in self.rows
        ]
        names = [name.replace("_", " ") for name in columns]
        return table_html(f"{self.model_name}: antecedents", names, body, self.notes)


def _is(kinds: NDArray[np.str_], name: str) -> NDArray[np.bool_]:
    if name == "all":
        return np.ones(len(kinds), bool)
    return np.asarray(kinds != "pronoun" if name == "other" else kinds == name)
