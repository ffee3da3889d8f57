"""How the attention of a model is reached: which module gives which layer of which kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TIERS = {
    1: "transformers' attention interface",
    2: "hooks on the attention modules",
    3: "the model's own list of attentions",
}


@dataclass(frozen=True)
class Place:
    """Where a module's output holds weights: the steps into a nested tuple, such as (1,)."""

    path: str
    steps: tuple[int | str, ...]


@dataclass(frozen=True)
class Listed:
    """Where a model's outputs list weights: the name of an output, and which of its tensors."""

    name: str
    indices: tuple[int, ...]


@dataclass(frozen=True)
class CapturePlan:
    """The ways to a model's kinds of attention, found by running it once on a small text.

    Attributes:
        taps: module path -> kind, for modules that ask transformers for an attention function.
        hooks: place -> kind, for modules whose output holds the weights.
        lists: kind -> where the model's outputs list the weights of its layers.
        layers: kind -> how many layers it has.
        forms: kind -> the form of what the model returns, see `forms`.
        checked: kinds whose weights were compared with the model's own eager attentions.
        removable: whether weights can be taken out of the modules' outputs as they pass.
        left_out: kinds that the model has and that are not shown -> why.
        draws: whether a pass draws random numbers, though in eval mode.
        by_windows: whether the model puts patches in an order of its own before its layers.
    """

    taps: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[Place, str] = field(default_factory=dict)
    lists: Mapping[str, Listed] = field(default_factory=dict)
    layers: Mapping[str, int] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    checked: frozenset[str] = frozenset()
    removable: bool = True
    left_out: Mapping[str, str] = field(default_factory=dict)
    by_windows: bool = False
    draws: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds, the encoder's before the decoder's, and cross after what it joins."""
        order = {
            "self": 0,
            "encoder": 0,
            "decoder": 1,
            "cross": 2 if "decoder" in self.layers else 4,
        }
        return tuple(sorted(self.layers, key=lambda kind: order.get(kind, 3)))

    def tier(self, kind: str) -> int:
        """1, 2 or 3: see TIERS."""
        if kind in self.lists:
            return 3
        return 2 if kind in self.hooks.values() else 1

    @property
    def pools(self) -> bool:
        """Whether layers look at different numbers of tokens; their kinds are numbered then."""
        return any(kind[-1].isdigit() for kind in self.layers)

    @property
    def asks_for_attentions(self) -> bool:
        """Whether the model has to be run with `output_attentions=True`."""
        return bool(self.hooks or self.lists)
