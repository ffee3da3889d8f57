"""What crosses between page and kernel, stated once: every request, its reply, and their types.

The page's types in js/src/kernel/protocol.ts are generated from this module by
`python js/generate.py`; a test fails where they differ. A new kind of request is an entry of
`MESSAGES` and a function marked with `protocol.handles(kind)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

Level = Literal["token", "word"]
Side = Literal["from", "to"]
Special = Literal["show", "hide", "renormalise"]
Hit = Literal["hit", "miss", "both"]
Matrix = list[list[float | None]]
"""[layer][head]; null where undefined."""


class ScorePayload(TypedDict):
    """One number for each layer and head; null where it is undefined."""

    name: str
    title: NotRequired[str]
    unit: str
    description: str
    notable: Literal["high", "low"]
    values: Matrix
    low: Matrix | None
    high: Matrix | None
    baseline: float | None
    support: Matrix | None
    pair: NotRequired[bool]
    categories: list[str]


class Example(TypedDict):
    """A word of a treebank, its syntactic head and the one a head picks; words count from 1."""

    sentence: int
    words: list[str]
    dependent: int
    head: int
    guess: int
    relation: str


class Nothing(TypedDict):
    """No fields."""


class BlockRequest(TypedDict):
    """Maps of some heads of a layer."""

    layer: int
    heads: list[int]
    level: Level


class GridRequest(TypedDict):
    """Thumbnails of all heads of some layers."""

    layers: list[int]
    level: Level


class RowRequest(TypedDict):
    """Exact weights of a row ("from") or column ("to"); without an index, the mean over rows."""

    layer: int
    heads: list[int]
    index: int | None
    side: Side
    level: Level
    special: Special


class ScoresReply(TypedDict):
    """Everything that can colour the layer grid."""

    scores: list[ScorePayload]


class InsideRequest(TypedDict):
    """A token's query (its key, for side "to") against all keys (queries)."""

    layer: int
    head: int
    index: int
    side: Side


class InsideReply(TypedDict):
    """The vector asked about, the scale of dot products, the further columns, the row's sink."""

    own: list[float]
    scale: float
    parts: list[str]
    sink: float | None


# Of the functional form, because "from" is a keyword.
BetweenRequest = TypedDict(
    "BetweenRequest", {"from": int, "to": int, "level": Level, "keep": NotRequired[Literal[True]]}
)
BetweenRequest.__doc__ = "Each head's weight from one item to another; `keep` makes it a choice."


class BetweenReply(TypedDict):
    """The weights, as a score."""

    score: ScorePayload


class NearestRequest(TypedDict):
    """The heads most like one, on the map that is shown."""

    layer: int
    head: int


class NearestReply(TypedDict):
    """The nearest first: layer, head and distance."""

    nearest: list[tuple[int, int, float]]


class PanesReply(TypedDict):
    """The code of the panes that the first paint does not need."""

    code: str


class ExamplesRequest(TypedDict):
    """Words of a relation from `start` on; `distance` null for all."""

    relation: str
    layer: int
    head: int
    hit: Hit
    distance: int | None
    start: int


class ExamplesReply(TypedDict):
    """`total` passes the filters; `right` of `support` and `distances` count without them."""

    examples: list[Example]
    total: int
    right: int
    support: int
    distances: list[tuple[int, int]]
    direction: str


class OpenRequest(TypedDict):
    """Turn the views to a sentence of the treebank."""

    sentence: int
    dependent: int


class TextRequest(TypedDict):
    """Run the model on another text; an empty or absent pair is none."""

    text: str
    text_pair: str | None


@dataclass(frozen=True)
class Message:
    """A kind of request and its reply.

    Attributes:
        request, reply: TypedDicts of the fields beside those that every message has.
        dtype: of the array in the reply's buffer, or None.
        axes: of that array.
        any_text: the request is not about the text now shown, so that it never goes stale.
        follows: the traits that the answer depends on besides the text.
    """

    request: Any
    reply: Any = Nothing
    dtype: Literal["uint8", "float32"] | None = None
    axes: tuple[str, ...] = ()
    any_text: bool = False
    follows: tuple[str, ...] = ()


MESSAGES: dict[str, Message] = {
    "block": Message(BlockRequest, dtype="uint8", axes=("head", "from", "to")),
    "grid": Message(GridRequest, dtype="uint8", axes=("layer", "head", "row", "column")),
    "row": Message(RowRequest, dtype="float32", axes=("head", "item")),
    "scores": Message(Nothing, ScoresReply),
    "inside": Message(InsideRequest, InsideReply, dtype="float32", axes=("item", "column")),
    "between": Message(BetweenRequest, BetweenReply),
    "nearest": Message(NearestRequest, NearestReply, any_text=True, follows=("mapped_heads",)),
    "panes": Message(Nothing, PanesReply, any_text=True),
    "examples": Message(ExamplesRequest, ExamplesReply, any_text=True, follows=("probed",)),
    "open": Message(OpenRequest, any_text=True),
    "text": Message(TextRequest, any_text=True),
}
