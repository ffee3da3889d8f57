"""A text's pass through the model again, for what an interactive capture does not keep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from bertlens.capture.attention_function import Call, fast_output
from bertlens.capture.capture import Stored, store
from bertlens.capture.interrupts import protected
from bertlens.capture.plan import TIERS
from bertlens.capture.prepared import PreparedModel, prepare
from bertlens.capture.projection import Follower, Projected
from bertlens.capture.state import model_lock
from bertlens.errors import OutOfReachError


@dataclass(frozen=True)
class Replay:
    """The same inputs through the same model again."""

    model: nn.Module
    inputs: Mapping[str, Any]

    def check(self, kind: str) -> PreparedModel:
        """Make sure that the family shows its queries, keys and values; returns the prepared model.

        Raises:
            OutOfReachError: it does not.
        """
        prepared = prepare(self.model, self.inputs)
        tier = prepared.plan.tier(kind)
        if tier != 1:
            raise OutOfReachError(
                f"Queries, keys and values of {type(prepared.body).__name__} are not available: "
                f"its attention is read from {TIERS[tier]}, which gives weights only. Models on "
                "transformers' attention interface (BERT, RoBERTa, GPT-2, LLaMA, T5 and most "
                "others) show them."
            )
        return prepared

    def store(self, *, exact: bool = False, eager: bool = False) -> Stored:
        """What weights are made from; arguments as those of `capture.store`."""
        return store(self.model, self.inputs, exact=exact, eager=eager)

    @protected
    def project(
        self,
        kind: str,
        visit: Callable[[int, Projected], None],
        *,
        text: int = 0,
        layers: Collection[int] | None = None,
    ) -> None:
        """Show `visit` what each layer's heads write into its output.

        A layer's transformed values live only during the call.

        Args:
            kind: of attention.
            text: index of the text in the batch.
            layers: only these; all by default.

        Raises:
            OutOfReachError: the family keeps values out of reach, or projects no layer's attention
                output as it is.
        """
        follow = _Follow(kind, layers, Follower())
        with model_lock(self.model):
            prepared = self.check(kind)
            with prepared.borrowed():
                with follow.follower.watching(prepared.body):
                    prepared.run_borrowed(follow)
                for layer in follow.follower.layers:
                    visit(layer, follow.follower.project(layer, text))


@dataclass
class _Follow:
    """Follows the attention output of some layers of one kind."""

    kind: str
    layers: Collection[int] | None
    follower: Follower

    def call(self, kind: str, layer: int, call: Call) -> Tensor:
        output = fast_output(call)
        if kind == self.kind and (self.layers is None or layer in self.layers):
            self.follower.attended(layer, call, output)
        return output

    def weights(self, kind: str, layer: int, weights: Tensor) -> None:
        """Weights of other kinds that the model makes by itself are ignored here."""
