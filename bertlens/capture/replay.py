"""A text's pass through the model again, for what an interactive capture does not keep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from bertlens.capture.attention_function import Call, fast_output
from bertlens.capture.calibration import reach_of
from bertlens.capture.capture import Stored, store
from bertlens.capture.forward import run
from bertlens.capture.plan import TIERS
from bertlens.capture.projection import Follower, Projected
from bertlens.capture.state import preserve_state, random_state_kept
from bertlens.capture.submodel import body_of, unwrapped
from bertlens.errors import OutOfReachError


@dataclass(frozen=True)
class Replay:
    """The same inputs through the same model again."""

    model: nn.Module
    inputs: Mapping[str, Any]

    def check(self, kind: str) -> None:
        """Make sure that the family shows its queries, keys and values.

        Raises:
            OutOfReachError: it does not.
        """
        body = body_of(self.model, self.inputs)
        tier = reach_of(self.model, body, self.inputs).tier(kind)
        if tier != 1:
            raise OutOfReachError(
                f"{type(body).__name__} keeps queries, keys and values out of reach: its attention "
                f"is read from {TIERS[tier]}, which gives weights only. Models on transformers' "
                "attention interface (BERT, RoBERTa, GPT-2, LLaMA, T5 and most others) show them."
            )

    def store(self) -> Stored:
        """Queries, keys and what else weights are made from, of a pass of eager attention."""
        return store(self.model, self.inputs, eager=True)

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
        self.check(kind)
        body = body_of(self.model, self.inputs)
        reach = reach_of(self.model, body, self.inputs)
        follow = _Follow(kind, layers, Follower())
        with preserve_state(unwrapped(self.model)), random_state_kept():
            with follow.follower.watching(body):
                run(body, self.inputs, reach, follow)
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
        """Weights of other kinds that the model makes by itself are not wanted here."""
