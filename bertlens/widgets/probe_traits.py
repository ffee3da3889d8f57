"""Traits of the probe view: a table of relations, the relation and the example that are shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from traitlets import Any as AnyValue
from traitlets import Bunch, HasTraits, Instance, Unicode, observe, validate

from bertlens.attention.attention import Attention
from bertlens.widgets.requests import probe

if TYPE_CHECKING:
    from bertlens.probes import Example, RelationTable


class ProbeTraits(HasTraits):
    """What a person chooses of a treebank; see `SelectionTraits`.

    `probed` is a table of `bl.probes.relations`, `relation` one of its names, which colours the
    grid. `example` is the word whose sentence the views are turned to, as the selected head guesses
    it; set it to one of `table.examples(...)` to turn them.
    """

    relation = Unicode(None, allow_none=True).tag(sync=True)

    # From the kernel to the page only.
    probed = AnyValue(None, allow_none=True).tag(
        sync=True, to_json=lambda table, owner: probe.payload(table)
    )
    example = AnyValue(None, allow_none=True).tag(
        sync=True, to_json=lambda example, owner: probe.sent(example)
    )

    if TYPE_CHECKING:
        home: Any

    @validate("probed")
    def _table_fits(self, proposal: Bunch) -> RelationTable | None:
        table = proposal.value
        return None if table is None else probe.check_probe(table, self.home.attention)

    @validate("relation")
    def _relation_occurs(self, proposal: Bunch) -> str | None:
        return probe.check_relation(proposal.value, self.probed)

    @validate("example")
    def _example_exists(self, proposal: Bunch) -> Example | None:
        return probe.check_example(proposal.value, self.probed)


class ProbeSelection(ProbeTraits):
    """What follows from a choice: the grid's colours, the sentence, its pinned word."""

    _opened: Attention | None = None
    """The attention of the example's sentence, while that is looked at."""

    if TYPE_CHECKING:
        # Of the Selection that this is a part of.
        attention: Instance[Attention]
        heads: Any
        layer: Any
        level: Any
        side: Any
        token: Any
        score: Any
        lock: Any
        together: Callable[[], AbstractContextManager[None]]
        attend: Callable[..., Attention]
        show: Callable[[Attention], None]

    def keep_probe(self, attention: Attention) -> None:
        """Let go of what another attention does not fit."""
        if self.probed is not None and not probe.fits(self.probed, attention):
            self.probed = None
        if attention is not self._opened:
            self.example = self._opened = None

    @observe("probed")
    def _table_changed(self, _: Bunch) -> None:
        table: RelationTable | None = self.probed
        with self.together():
            self.example = None
            self.relation = None if table is None else probe.first_relation(table, self.relation)
            if table is not None:
                self.score = table[str(self.relation)]

    @observe("relation")
    def _relation_changed(self, change: Bunch) -> None:
        table: RelationTable | None = self.probed
        if table is None or change.new is None:
            return
        with self.together():
            self.score = table[change.new]
            if self.example is not None and change.new not in ("all", self.example.relation):
                self.example = None
        self._head_changed(change)

    @observe("layer", "heads")
    def _head_changed(self, _: Bunch) -> None:
        example: Example | None = self.example
        if example is not None and self.heads:
            self.example = probe.find_example(self, example.sentence, example.dependent)

    @observe("example")
    def _example_changed(self, change: Bunch) -> None:
        example: Example | None = change.new
        if example is None:
            return
        old: Example | None = change.old
        try:
            with self.lock, self.together():
                if self._opened is None or old is None or old.sentence != example.sentence:
                    made = self.attend("", words=list(example.words))
                    self._opened = made
                    self.show(made)
                if self.relation not in ("all", example.relation):
                    self.relation = example.relation
                self.level = "word"
                self.side = "from" if example.direction == "dependent->head" else "to"
                self.token = probe.pinned(self.attention, example)
        except BaseException:
            self.example = None
            raise
