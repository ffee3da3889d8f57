"""Selection: what a person looks at, in one Attention, shared by every view."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

from traitlets import Any as AnyValue
from traitlets import (
    Bunch,
    Dict,
    Instance,
    Int,
    List,
    Unicode,
    observe,
    validate,
)

from bertlens.attention.attention import Attention
from bertlens.attention.maps import checked_index
from bertlens.corpus.distances import HeadMap
from bertlens.errors import OutOfReachError, brief
from bertlens.scores.head_scores import HeadScores
from bertlens.widgets.metadata import describe
from bertlens.widgets.probe_traits import ProbeSelection, ProbeTraits
from bertlens.widgets.requests.head_map import check_map
from bertlens.widgets.requests.head_map import payload as map_payload
from bertlens.widgets.requests.scores import Choices, check_score, made_scores
from bertlens.widgets.traits import (
    Choice,
    Heads,
    Index,
    OutOfRangeError,
    SelectionError,
    Text,
    Weight,
)
from bertlens.widgets.value_norms import drawn


class SelectionTraits(ProbeTraits):
    """The traits that a Selection and its views share.

    A trait added here is validated, synced with the page and linked between views. Layers, heads
    and tokens count from 0.
    """

    layer = Index(0).tag(sync=True)
    heads = Heads().tag(sync=True)
    token = Index(None, allow_none=True).tag(sync=True)
    side = Choice(("from", "to"), "from").tag(sync=True)
    segment_filter = Choice(("all", "a->a", "a->b", "b->a", "b->b"), "all").tag(sync=True)
    level = Choice(("token", "word"), "token").tag(sync=True)
    special = Choice(("show", "hide", "renormalise"), "show").tag(sync=True)
    min_weight = Weight(0.02, min=0.0, max=1.0).tag(sync=True)
    kind = Text("self").tag(sync=True)
    norm = Choice((None, "value"), None, allow_none=True).tag(sync=True)
    score = AnyValue(None, allow_none=True).tag(
        sync=True,
        to_json=lambda score, owner: owner.home.score_payload(score),
        from_json=lambda payload, owner: owner.home.score_of(payload),
    )
    text = Text().tag(sync=True)
    text_pair = Text(None, allow_none=True).tag(sync=True)

    # From the kernel to the page only.
    generation = Int(0).tag(sync=True)
    meta = Dict().tag(sync=True)
    added_scores = List(Unicode()).tag(sync=True)
    mapped_heads = AnyValue(None, allow_none=True).tag(
        sync=True, to_json=lambda heads, owner: map_payload(heads)
    )

    @property
    def home(self) -> Selection:
        """The Selection that these traits belong to."""
        raise NotImplementedError

    @validate("layer")
    def _layer_exists(self, proposal: Bunch) -> int:
        return _existing(proposal.value, self.home.attention.n_layers, "layer")

    @validate("heads")
    def _heads_exist(self, proposal: Bunch) -> list[int]:
        n_heads = self.home.attention.n_heads
        return [_existing(head, n_heads, "head") for head in proposal.value]

    @validate("token")
    def _token_exists(self, proposal: Bunch) -> int | None:
        attention = self.home.attention
        n_tokens = len(attention.tokens if self.side == "from" else attention.to_tokens)
        token: int | None = proposal.value
        if token is not None and not 0 <= token < n_tokens:
            raise OutOfRangeError(
                f"There is no token {token}: this text has tokens 0 to {n_tokens - 1}, "
                "or None for no token."
            )
        return token

    @validate("kind")
    def _kind_exists(self, proposal: Bunch) -> str:
        kinds = self.home.attention.kinds
        if proposal.value not in kinds:
            raise SelectionError(
                f"There is no kind of attention {brief(proposal.value)}: this model has "
                f"{' and '.join(map(repr, kinds))}."
            )
        return str(proposal.value)

    @validate("norm")
    def _norm_is_had(self, proposal: Bunch) -> str | None:
        if proposal.value == "value":
            attention = self.home.attention
            if attention.measure not in ("weights", "value norms"):
                raise SelectionError(f"There are no value norms of {attention.measure}.")
            try:
                drawn(attention, "value")
            except OutOfReachError as error:
                raise SelectionError(str(error)) from None
        return proposal.value  # type: ignore[no-any-return]

    @validate("score")
    def _score_fits(self, proposal: Bunch) -> HeadScores | None:
        score = proposal.value
        return None if score is None else check_score(score, self.home.attention)

    @validate("mapped_heads")
    def _map_fits(self, proposal: Bunch) -> HeadMap | None:
        heads = proposal.value
        return None if heads is None else check_map(heads, self.home.attention)

    @validate("text", "text_pair")
    def _text_is_run(self, proposal: Bunch) -> str | None:
        first = proposal.trait.name == "text"
        text = proposal.value if first else self.text
        pair = self.text_pair if first else proposal.value
        try:
            self.home.read(text, pair)
        except BaseException:
            # Inside hold_trait_notifications the value is already set.
            attention = self.home.attention
            self.text, self.text_pair = attention.text, attention.text_pair
            raise
        return proposal.value  # type: ignore[no-any-return]


SHARED = tuple(SelectionTraits.class_traits())
"""Names of the traits that every view shares with its Selection."""

FROM_KERNEL = ("generation", "meta", "added_scores", "mapped_heads", "probed", "example")
"""Those of them that a page reads and never sets."""


class Linked(Protocol):
    """A view, as far as its Selection knows it."""

    def hold_sync(self) -> AbstractContextManager[None]: ...

    def close(self) -> None: ...


class Selection(ProbeSelection, SelectionTraits):
    """What is looked at in one Attention; every view of it is linked to the same Selection.

    Args:
        attention: what is looked at; set it, or `text`, to look at another.
        truncate: cut texts that are longer than the model takes, instead of an error.
    """

    attention = Instance(Attention)

    def __init__(self, attention: Attention, *, truncate: bool = False) -> None:
        self.truncate = truncate
        self.views: list[Linked] = []
        self.lock = threading.RLock()
        self.choices = Choices()
        self._own: Attention | None = None
        super().__init__(attention=attention)

    @property
    def home(self) -> Selection:
        return self

    @property
    def current(self) -> tuple[Attention, int]:
        """The attention that is drawn and its generation, read together."""
        return self._current

    def read(self, text: str, text_pair: str | None = None) -> None:
        """Run the model on another text and look at that, unless it is the one at hand.

        Raises:
            SelectionError: there is no model to run.
            BertlensError, TypeError: what calling the Lens raises.
        """
        if not self.shows(text, text_pair):
            self.show(self.attend(text, text_pair))

    def shows(self, text: str, text_pair: str | None) -> bool:
        """Whether this is the text at hand."""
        return (text, text_pair) == (self.attention.text, self.attention.text_pair)

    def attend(
        self, text: str, text_pair: str | None = None, *, words: Sequence[str] | None = None
    ) -> Attention:
        """The attention of another text, or of words, by the same model; raises as `read`."""
        lens = self.attention.lens
        if lens is None:
            raise SelectionError(
                "This attention was given without a model, so no other text can be run. "
                "Make a Lens to type texts."
            )
        if words is None:
            made = lens(text, text_pair, truncate=self.truncate)
        else:
            made = lens(words=words, truncate=True)
        if self.kind in made.kinds:
            made = made.kind(self.kind)
        derive = self.attention.derive
        return made if derive is None else derive(made)

    def show(self, made: Attention) -> None:
        """Look at an attention that nobody else holds; its tensors are freed with the Selection."""
        with self.lock:
            last, self._own = self._own, made
            self.attention = made
        if last is not None:
            free(last)

    @observe("attention")
    def _attention_changed(self, change: Bunch) -> None:
        attention: Attention = change.new
        pair = attention.text_pair
        old = change.old if isinstance(change.old, Attention) else None
        score = self._score_after(old)
        self.choices.pairs.clear()
        norm = self.norm if attention.measure == "weights" else None
        try:
            shown = drawn(attention, norm)
        except OutOfReachError:
            norm, shown = None, attention
        self._current = (shown, self.generation + 1)
        with self.together(), self.hold_trait_notifications():
            self.generation += 1
            self.meta = describe(shown)
            self.norm = norm
            self.layer = min(self.layer, attention.n_layers - 1)
            self.heads = [head for head in self.heads if head < attention.n_heads]
            self.token = None
            self.kind = attention.kind_name
            if pair is None:
                self.segment_filter = "all"
            self.score = score
            heads: HeadMap | None = self.mapped_heads
            if heads and heads.labels.shape != (attention.n_layers, attention.n_heads):
                self.mapped_heads = None
            self.keep_probe(attention)
            self.text, self.text_pair = attention.text, pair

    @observe("kind")
    def _kind_changed(self, change: Bunch) -> None:
        if change.new != self.attention.kind_name:
            with self.lock:
                self.attention = self.attention.kind(change.new)

    @observe("norm")
    def _norm_changed(self, change: Bunch) -> None:
        shown = drawn(self.attention, change.new)
        if shown.measure == self._current[0].measure:
            return
        with self.lock, self.together():
            self._current = (shown, self.generation + 1)
            self.generation += 1
            self.meta = describe(shown)

    @observe("side")
    def _side_changed(self, change: Bunch) -> None:
        columns = self.attention.tokens if change.new == "from" else self.attention.to_tokens
        if self.token is not None and self.token >= len(columns):
            self.token = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Whatever changes inside reaches each page as one message."""
        with ExitStack() as held:
            for view in list(self.views):
                held.enter_context(view.hold_sync())
            yield

    def add_scores(self, scores: Mapping[str, HeadScores]) -> None:
        """Let these scores colour the layer grid too, by their names in the mapping.

        Raises:
            SelectionError: a score is not a HeadScores, or is of another model's shape.
        """
        for name, score in scores.items():
            check_score(score, self.attention, f"scores[{name!r}]")
        self.choices.added |= scores
        self.added_scores = list(self.choices.added)

    def score_payload(self, score: HeadScores | None) -> dict[str, Any] | None:
        """A score as it crosses to the page."""
        if score is None:
            return None
        name = self.choices.name_of(score, self.attention) or score.name
        return self.choices.payload(name, score)

    def score_of(self, payload: object) -> HeadScores | None:
        """The score that a page means by the payload it sends back.

        Raises:
            SelectionError: it is no payload, or there is no score of its name.
        """
        if payload is None:
            return None
        if not isinstance(payload, Mapping):
            raise SelectionError(f"score must be an object with a name, not {brief(payload)}.")
        return self.choices.named(payload.get("name"), self.attention)

    @observe("score")
    def _score_changed(self, change: Bunch) -> None:
        score: HeadScores | None = change.new
        if score is not None and self.choices.name_of(score, self.attention) is None:
            self.add_scores({score.name: score})

    def _score_after(self, old: Attention | None) -> HeadScores | None:
        """The score to show for another attention.

        A score of the text gives way to the new text's of the same name, any other stays.
        """
        score: HeadScores | None = self.score
        if score is None:
            return None
        if any(score is other for other in self.choices.pairs.values()):
            return None
        if old is not None and any(score is other for other in made_scores(old).values()):
            return self.attention.scores.get(score.name)
        fits = score.values.shape == (self.attention.n_layers, self.attention.n_heads)
        return score if fits else None


def free(attention: Attention) -> None:
    """Free the tensors of an attention in all its kinds."""
    for kind in attention.kinds:
        attention.kind(kind).close()


def _existing(index: int, n: int, what: str) -> int:
    try:
        return checked_index(index, n, what)
    except IndexError as error:
        raise OutOfRangeError(str(error)) from None
