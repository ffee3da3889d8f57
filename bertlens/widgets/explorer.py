"""Explorer: all panes on one attention, and what makes further views of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertlens.attention.attention import Attention
from bertlens.corpus.distances import HeadDistances, HeadMap
from bertlens.widgets.requests.head_map import map_of
from bertlens.widgets.selection import FROM_KERNEL, SHARED, Selection, free
from bertlens.widgets.view import View

if TYPE_CHECKING:
    from bertlens.corpus.scan import Scan
    from bertlens.probes import RelationTable

PANES = ("grid", "head", "token", "query-key")
"""Names of the panes, in the order shown."""

SETTABLE = tuple(name for name in SHARED if name not in FROM_KERNEL)


class Explorer(View):
    """The widget: layer grid, head view, token view and query-key view on one Selection.

    The query-key view is folded away and costs nothing until it is opened.

    Args:
        attention: what to look at.
        editable: whether the page has a box for typing another text; by default where there is a
            model to run.
        truncate: cut typed texts that are longer than the model takes, instead of an error.
        traits: starting values by name, such as layer=2, heads=[0, 8], level="word".

    Raises:
        TypeError: an unknown argument.
        SelectionError: a trait with a value that this model or text does not allow.
    """

    def __init__(
        self,
        attention: Attention,
        *,
        editable: bool | None = None,
        truncate: bool = False,
        **traits: Any,
    ) -> None:
        if unknown := sorted(set(traits) - set(SETTABLE)):
            raise TypeError(
                f"There is no {' or '.join(map(repr, unknown))} to set. "
                f"There are: {', '.join(SETTABLE)}, editable, truncate."
            )
        selection = Selection(attention, truncate=truncate)
        with selection.hold_trait_notifications():
            for name, value in traits.items():
                setattr(selection, name, value)
        lens = attention.lens
        can_type = lens is not None and lens.takes == "input_ids"
        super().__init__(
            selection, views=PANES, editable=can_type if editable is None else editable
        )

    def head_view(self) -> View:
        """The head view alone, for any cell; it stays in step with this widget."""
        return View(self.selection, views=["head"])

    def layer_grid(self) -> View:
        """The layer grid and head card alone, for any cell; in step with this widget."""
        return View(self.selection, views=["grid"])

    def token_view(self) -> View:
        """The token view alone, for any cell; in step with this widget."""
        return View(self.selection, views=["token"])

    def query_key_view(self) -> View:
        """How the weights of the focused token come about, for any cell; in step with this widget.

        For the selected head: every other token's key, its product with the query in each
        dimension, the score before the softmax and the weight.
        """
        return View(self.selection, views=["query-key"])

    def head_map(self, heads: HeadMap | Scan | HeadDistances | None = None) -> View:
        """The heads as points, near where they behave alike, for any cell; in step with it.

        A click on a point chooses the head. The same view shows a score's values by layer.

        Args:
            heads: a map of heads, or what makes one: a scan with distances. By default the map that
                is shown already, else that of this text.

        Raises:
            MissingExtraError: scikit-learn is not installed.
            SelectionError: the map is of another model's heads.
            ValueError: the scan counted no distances.
        """
        if heads is not None:
            self.mapped_heads = heads if isinstance(heads, HeadMap) else heads.map()
        elif self.mapped_heads is None:
            self.mapped_heads = map_of(self.attention)
        return View(self.selection, views=["map"])

    def probe_view(
        self, table: RelationTable | None = None, *, relation: str | None = None
    ) -> View:
        """The sentences behind a table of relations, for any cell; in step with this widget.

        For the selected head: every word of the relation, the head that the treebank gives it and
        the one that this head picks. A click on a sentence opens it in the other views, by words;
        `view.example` is then that word.

        Args:
            table: of `bl.probes.relations(lens, treebank)`; by default the one shown already.
            relation: the relation to begin with, by its name in the table.

        Raises:
            SelectionError: the table is of another model's heads, or has no such relation.
        """
        if table is not None:
            self.probed = table
        if relation is not None:
            self.relation = relation
        return View(self.selection, views=["probe"])

    def close(self) -> None:
        """Close this widget and its siblings, and free the tensors that they look at."""
        if self.comm is None:
            return
        super().close()
        for view in list(self.selection.views):
            view.close()
        free(self.selection.attention)
