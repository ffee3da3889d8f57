"""Probes beside their baselines and their control task: one call, attention extracted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bertlens.errors import require
from bertlens.probes.classifiers.attention_probe import AttentionProbe
from bertlens.probes.classifiers.baselines import (
    RIGHT_BRANCHING,
    DistanceMaps,
    chosen_offset,
    offset_heads,
    randomised,
)
from bertlens.probes.classifiers.gold import Gold, control
from bertlens.probes.classifiers.uas import Attachment, attachment
from bertlens.probes.classifiers.word_maps import MAX_BYTES, PairMaps, WordMaps, word_maps
from bertlens.probes.classifiers.word_vectors import Vectors, WordVectors
from bertlens.probes.classifiers.words_probe import AttentionAndWordsProbe
from bertlens.probes.html_table import Cell, percent, table_html
from bertlens.probes.treebanks.treebank import Treebank
from bertlens.text.text_model import TextModel

if TYPE_CHECKING:
    import pandas as pd

    from bertlens.probes.treebanks.treebank import Sentences


class ProbeRow(NamedTuple):
    """A probe or baseline: its UAS on the test sentences, and how much of it is not memorised.

    Shares are from 0 to 1; `low` and `high` are the 95% Wilson interval of `uas`. `control` is the
    UAS of the same probe trained on the control task, `selectivity` is `uas` minus that; None for
    baselines that learn nothing of words.
    """

    probe: str
    uas: float
    correct: int
    support: int
    low: float
    high: float
    uas_with_punctuation: float
    control: float | None
    selectivity: float | None


class ProbeTable(Mapping[str, ProbeRow]):
    """Rows by the name of the probe, baselines first.

    Attributes:
        probes: the fitted probes, by name.
        train, test: the maps they learned from and were tested on.
        notes: what a reader must know.
    """

    def __init__(
        self,
        rows: Sequence[ProbeRow],
        probes: Mapping[str, AttentionProbe],
        train: WordMaps,
        test: WordMaps,
        notes: Sequence[str],
    ) -> None:
        self.rows = tuple(rows)
        self.probes = dict(probes)
        self.train, self.test = train, test
        self.notes = tuple(notes)

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with one row a probe; columns as in ProbeRow.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        require("pandas", "analysis")
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(ProbeRow._fields))

    def __getitem__(self, probe: str) -> ProbeRow:
        for row in self.rows:
            if row.probe == probe:
                return row
        raise KeyError(f"There is no probe {probe!r}; there are: {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return (row.probe for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, probe: object) -> bool:
        return probe in list(self)

    def __repr__(self) -> str:
        lines = [
            f"  {row.probe:<34}{100 * row.uas:5.1f}"
            + ("" if row.selectivity is None else f"  selectivity {100 * row.selectivity:5.1f}")
            for row in self.rows
        ]
        return "\n".join([f"<ProbeTable on {self.test.treebank.name}, UAS", *lines]) + ">"

    def _repr_html_(self) -> str:
        columns = ("probe", "UAS", "95%", "with punctuation", "control task", "selectivity")
        body = [
            (
                Cell(row.probe),
                Cell(percent(row.uas), number=True),
                Cell(f"{percent(row.low)}–{percent(row.high)}", number=True),
                Cell(percent(row.uas_with_punctuation), number=True),
                Cell("" if row.control is None else percent(row.control), number=True),
                Cell("" if row.selectivity is None else percent(row.selectivity), number=True),
            )
            for row in self.rows
        ]
        return table_html(f"UAS on {self.test.treebank.name}", columns, body, self.notes)


def compare(
    lens: TextModel,
    train: Sentences | WordMaps,
    test: Sentences | WordMaps,
    *,
    vectors: Vectors | None = None,
    dev: Sentences | WordMaps | None = None,
    random_model: bool = True,
    control_task: bool = True,
    memory: int = MAX_BYTES,
    progress: bool = True,
    seed: int = 0,
    **arguments: Any,
) -> ProbeTable:
    """Train the probes of section 5 and put them beside their baselines (Table 3).

    Baselines: right-branching, the best offset on `train`, distances and words, and the same probe
    on a model with random weights. Probes that learn are trained on the control task of Hewitt and
    Liang (2019), too.

    Args:
        train, test: sentences, or the maps of `word_maps`.
        vectors: word vectors; without them the probes with words are left out.
        dev: sentences on which to stop early; the control task does not stop.
        random_model: train on a model with random weights, too: this runs `train` and `test` again.
        control_task: train everything twice, the second time on the control task.
        memory: as in `word_maps`.
        seed: of the random weights, the control task and the order of sentences.
        arguments: of the probes, such as `epochs` or `root`.

    Raises:
        TypeError: an argument that probes do not have.
        AnnotationError: no sentence can be run.
    """
    probe_of: dict[str, Callable[[], AttentionProbe]] = {
        "attention": lambda: AttentionProbe(seed=seed, **arguments)
    }
    found = None if vectors is None else WordVectors.of(vectors)
    if found is not None:
        probe_of["attention + words"] = lambda: AttentionAndWordsProbe(
            found, seed=seed, **arguments
        )
    roots = probe_of["attention"]().root

    def extract(of: TextModel, sentences: Sentences | WordMaps) -> WordMaps:
        if isinstance(sentences, WordMaps):
            return sentences
        return word_maps(of, sentences, memory=memory, progress=progress)

    maps, test_maps = extract(lens, train), extract(lens, test)
    dev_maps = None if dev is None else extract(lens, dev)
    rows = _offset_rows(maps.golds, test_maps.golds, roots)
    probes: dict[str, AttentionProbe] = {}

    def learn(
        name: str,
        make: Callable[[], AttentionProbe],
        on: PairMaps,
        tested_on: PairMaps,
        stop_on: PairMaps | None,
    ) -> None:
        probes[name] = make().fit_golds(on, on.golds, dev=stop_on, progress=progress)
        controlled = None
        if control_task:
            twin = make().fit_golds(on, control(on.golds, seed=seed), progress=progress)
            controlled = twin.evaluate_golds(tested_on, control(tested_on.golds, seed=seed)).uas
        rows.append(_row(name, probes[name].evaluate(tested_on), controlled))

    if found is not None:
        learn(
            "distances + words",
            probe_of["attention + words"],
            DistanceMaps(maps.golds),
            DistanceMaps(test_maps.golds),
            None if dev_maps is None else DistanceMaps(dev_maps.golds),
        )
    if random_model:
        blank = randomised(lens, seed=seed)
        blank_maps = [
            None if one is None else extract(blank, _as_run(one))
            for one in (maps, test_maps, dev_maps)
        ]
        assert blank_maps[0] is not None
        assert blank_maps[1] is not None
        for name, make in probe_of.items():
            learn(f"random weights: {name}", make, blank_maps[0], blank_maps[1], blank_maps[2])
    for name, make in probe_of.items():
        learn(name, make, maps, test_maps, dev_maps)
    return ProbeTable(rows, probes, maps, test_maps, _notes(maps, test_maps, roots, control_task))


def _as_run(maps: WordMaps) -> Treebank:
    return Treebank((maps.treebank[place] for place in maps.places), maps.treebank.name)


def _offset_rows(train: Sequence[Gold], test: Sequence[Gold], roots: bool) -> list[ProbeRow]:
    best = chosen_offset(train)
    named = {"right-branching": RIGHT_BRANCHING, f"best offset ({best:+d})": best}
    return [
        _row(
            name,
            attachment(test, [offset_heads(gold, offset) for gold in test], roots=roots),
            None,
        )
        for name, offset in named.items()
    ]


def _row(name: str, found: Attachment, controlled: float | None) -> ProbeRow:
    return ProbeRow(
        name,
        found.uas,
        found.correct,
        found.support,
        found.low,
        found.high,
        found.uas_with_punctuation,
        controlled,
        None if controlled is None else found.uas - controlled,
    )


def _notes(train: WordMaps, test: WordMaps, roots: bool, control_task: bool) -> list[str]:
    notes = [
        f"Trained on {len(train):,} sentences of {train.treebank.name}, tested on "
        f"{len(test):,} of {test.treebank.name}. UAS leaves out punctuation and "
        f"{'counts' if roots else 'leaves out'} roots."
    ]
    if control_task:
        notes.append(
            "Selectivity: UAS minus that of the same probe trained to find heads that were drawn "
            "at random for each word type."
        )
    for maps in (train, test):
        if maps.coverage.truncated or maps.coverage.skipped or maps.coverage.partial:
            notes.append(f"{maps.treebank.name}: {maps.coverage}.")
    return notes
