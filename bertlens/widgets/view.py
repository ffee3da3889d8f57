"""View: one widget on a Selection, showing one or more panes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import anywidget
from traitlets import Bool, Bunch, List, Unicode

from bertlens.attention.attention import Attention
from bertlens.scores.head_scores import HeadScores
from bertlens.widgets import bundle

# maps, query_key and text are imported for the requests that they answer.
from bertlens.widgets.requests import maps, protocol, query_key, text  # noqa: F401
from bertlens.widgets.selection import FROM_KERNEL, SHARED, Selection, SelectionTraits
from bertlens.widgets.snapshot import Picture, picture
from bertlens.widgets.wire_text import sendable

LATE = frozenset({"map", "query-key", "probe"})
"""Panes whose code is apart from the page's bundle: js/src/app/lazy-panes.ts."""

OWN = frozenset({*FROM_KERNEL, "views", "editable", "late"})
"""Traits that the page reads and never sets."""

_log = logging.getLogger(__name__)


class View(SelectionTraits, anywidget.AnyWidget):
    """Panes on a Selection; a model of its own on the page, linked to its siblings in the kernel.

    Made by `att.explore()` and by `view.head_view()` and its like.

    Args:
        selection: what is looked at; shared with other views.
        views: names of the panes to show.
        editable: show the box for typing another text.
    """

    _esm = bundle.source("widget.js")
    _css = bundle.source("widget.css")

    _holding_sync: bool
    _states_to_send: set[str]

    views = List(Unicode()).tag(sync=True)
    editable = Bool(False).tag(sync=True)
    late = Unicode().tag(sync=True)

    def __init__(
        self, selection: Selection, *, views: Sequence[str], editable: bool = False
    ) -> None:
        self.selection = selection
        self._sync = threading.RLock()
        shared = {name: getattr(selection, name) for name in SHARED}
        # A saved notebook must show such a pane without asking a kernel for its code.
        late = bundle.late_panes() if LATE.issuperset(views) else ""
        super().__init__(views=list(views), editable=editable, late=late, **shared)
        self.on_msg(self._answer)
        self.observe(self._lead, names=SHARED)
        selection.observe(self._follow, names=SHARED)
        selection.views.append(self)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name) and name != "selection":
            near = get_close_matches(name, self.trait_names(), n=1)
            advice = f" Did you mean {near[0]}?" if near else ""
            raise AttributeError(f"A view has no {name!r} to set.{advice}")
        super().__setattr__(name, value)

    @property
    def home(self) -> Selection:
        return self.selection

    @property
    def attention(self) -> Attention:
        """What is looked at now; set it to look at another attention in the same views."""
        return self.selection.attention

    @attention.setter
    def attention(self, attention: Attention) -> None:
        with self.selection.lock:
            self.selection.attention = attention

    def add_scores(self, scores: Mapping[str, HeadScores]) -> None:
        """Let these scores colour the layer grid too, by their names in the mapping.

        Raises:
            SelectionError: a score is not a HeadScores, or is of another model's shape.
        """
        self.selection.add_scores(scores)

    def static(self) -> Picture:
        """A still picture of this view as it is now, to display or to keep as an output."""
        return picture(self.selection, self.views)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        made = super()._repr_mimebundle_(**kwargs)
        if made is not None:
            # Shown where widgets are not: untrusted notebooks, nbconvert.
            try:
                made[0]["text/html"] = self.static()._repr_html_()
            except Exception:
                _log.exception("No still picture could be made of the view")
        return made

    def close(self) -> None:
        """Close this view on the page and let go of everything that ties it to its siblings."""
        if self.comm is None:
            return
        self.unobserve(self._lead, names=SHARED)
        self.selection.unobserve(self._follow, names=SHARED)
        self.selection.views.remove(self)
        layout = self.layout
        super().close()
        layout.close()

    def _answer(self, _: View, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and "id" in content:
            self.send(*protocol.reply(self.selection, content))

    # The view leads the Selection and follows it. All traits go at once, so that nobody sees half
    # of a change; equal values notify nobody, which ends the round.

    def _lead(self, _: Bunch) -> None:
        self._copy(self, self.selection)

    def _follow(self, _: Bunch) -> None:
        self._copy(self.selection, self)

    def _copy(self, source: SelectionTraits, target: SelectionTraits) -> None:
        with self.selection.lock, target.hold_trait_notifications():
            for name in SHARED:
                setattr(target, name, getattr(source, name))

    # Sync. Messages of the page may arrive on a thread of their own (ipykernel 7), while a cell
    # sets traits on the main thread.

    def get_state(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        state: dict[str, Any] = sendable(super().get_state(*args, **kwargs))
        return state

    def send(self, content: Any, buffers: Any = None) -> None:
        super().send(sendable(content), buffers)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take traits from the page: all of them, or none.

        What is not valid is put right on the page, and said.
        """
        taken = sendable({k: v for k, v in sync_data.items() if k not in OWN})
        try:
            with self.selection.together():
                super().set_state(taken)
        except Exception as error:
            # traitlets takes back what fails its checks, but not what an exception overtook.
            for name in SHARED:
                self._trait_values[name] = getattr(self.selection, name)
            self.send_state([name for name in taken if name in self.keys])
            generation = self.selection.current[1]
            words = protocol.in_words(error)
            self.send({"id": None, "ok": False, "error": words, "generation": generation})

    def _should_send_property(self, key: str, value: Any) -> bool:
        with self._sync:
            return bool(super()._should_send_property(key, value))

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """Send what changes inside as one message.

        ipywidgets' own clears names that another thread adds while it sends.
        """
        if self._holding_sync:
            yield
            return
        self._holding_sync = True
        try:
            yield
        finally:
            with self._sync:
                self._holding_sync = False
                held, self._states_to_send = self._states_to_send, set()
            if held:
                self.send_state(held)
