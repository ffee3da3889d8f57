"""Changes to what heads do in a pass: heads ablated, edges knocked out, activations patched.

An edit changes one call of the attention function, so every family that asks transformers for its
attention function is edited in the same way, whatever masks and biases it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

import torch
from torch import Tensor

from bertlens.capture.attention_function import Call
from bertlens.errors import InterventionError

Method = Literal["zero", "mean", "uniform"]

Places = tuple[tuple[int, ...], tuple[int, ...]]
"""Rows (tokens that attend) and columns (tokens attended to)."""


@dataclass(frozen=True, eq=False)
class HeadEdit:
    """One head ablated.

    Attributes:
        kind: of attention.
        layer, head: counted from 0; a query head where heads share keys.
        method: "zero", its output before the output projection is 0; "mean", its output is the
            mean over the text's positions, or `reference`; "uniform", its weights are spread evenly
            over what its mask allows.
        reference: output [value_dim] in place of the text's own mean.
        texts: only in these texts of the batch; None: in all.
    """

    kind: str
    layer: int
    head: int
    method: Method = "zero"
    reference: Tensor | None = None
    texts: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class EdgeEdit:
    """Edges knocked out (Geva et al. 2023): no weight from some tokens to others.

    Attributes:
        kind: of attention.
        from_, to: tokens by index or label.
        layers, heads: only these; None: all.
    """

    kind: str
    from_: tuple[int | str, ...]
    to: tuple[int | str, ...]
    layers: frozenset[int] | None = None
    heads: frozenset[int] | None = None

    def indices(self) -> Places | None:
        """The tokens by index; None where some are named by label."""
        if any(isinstance(one, str) for one in (*self.from_, *self.to)):
            return None
        return tuple(map(int, self.from_)), tuple(map(int, self.to))


@dataclass(frozen=True, eq=False)
class PatchEdit:
    """A head's output or weights replaced by those of another pass.

    Attributes:
        kind: of attention.
        layer, head: counted from 0.
        output: [from, value_dim], in place of the head's output.
        weights: [from, to], in place of the head's weights.
        texts: only in these texts of the batch; None: in all.
    """

    kind: str
    layer: int
    head: int
    output: Tensor | None = None
    weights: Tensor | None = None
    texts: tuple[int, ...] | None = None


Edit = HeadEdit | EdgeEdit | PatchEdit


@dataclass
class EditedCall(Call):
    """A call some of whose heads are edited; edges that are knocked out are in its mask.

    Attributes:
        edits: of single heads, in the order in which they apply.
        counted: bool [batch, from], the positions that are not padding; None: all.
    """

    edits: Sequence[HeadEdit | PatchEdit] = field(default=())
    counted: Tensor | None = None

    edited = True

    def eager(self, value: Tensor | None = None) -> tuple[Tensor, Tensor]:
        output, weights = super().eager(value)
        if not self.edits:
            return output, weights
        # With other values than the model's, only the weights are wanted.
        values = self.value if value is None else value
        n_heads = self.query.shape[1]
        shape = output.shape
        output = output.reshape(*shape[:2], n_heads, -1).clone()
        weights = weights.clone()
        for edit in self.edits:
            texts = slice(None) if edit.texts is None else list(edit.texts)
            new = self._weights(edit, weights)
            if new is not None:
                weights[texts, edit.head] = new[texts].to(weights.dtype)
                # A group of query heads shares one head of values.
                shared = values[texts, edit.head * values.shape[1] // n_heads]
                output[texts, :, edit.head] = weights[texts, edit.head].to(shared.dtype) @ shared
            replaced = self._output(edit, output) if value is None else None
            if replaced is not None:
                output[texts, :, edit.head] = replaced[texts].to(output.dtype)
        return output.reshape(shape), weights

    def _weights(self, edit: HeadEdit | PatchEdit, weights: Tensor) -> Tensor | None:
        """New weights [batch, from, to] of an edit's head, or None."""
        if isinstance(edit, PatchEdit):
            if edit.weights is None:
                return None
            return edit.weights.to(weights.device).expand(weights.shape[0], -1, -1)
        if edit.method != "uniform":
            return None
        allowed = allowed_edges(self)
        allowed = allowed[:, edit.head if allowed.shape[1] > 1 else 0]
        spread = allowed / allowed.sum(-1, keepdim=True).clamp(min=1)
        return spread.expand(weights.shape[0], *weights.shape[-2:])

    def _output(self, edit: HeadEdit | PatchEdit, output: Tensor) -> Tensor | None:
        """New output [batch, from, value_dim] of an edit's head, or None."""
        own = output[:, :, edit.head]
        if isinstance(edit, PatchEdit):
            return None if edit.output is None else edit.output.to(own.device).expand_as(own)
        if edit.method == "zero":
            return torch.zeros_like(own)
        if edit.method == "uniform":
            return None
        if edit.reference is not None:
            return edit.reference.to(own.device).expand_as(own)
        return mean_over_positions(own, self.counted).expand_as(own)


def mean_over_positions(states: Tensor, counted: Tensor | None) -> Tensor:
    """The mean [batch, 1, dim] of states [batch, from, dim] over positions that count."""
    if counted is None:
        return states.mean(1, keepdim=True)
    among = counted.to(states.device)[..., None]
    return (states * among).sum(1, keepdim=True) / among.sum(1, keepdim=True).clamp(min=1)


def allowed_edges(call: Call) -> Tensor:
    """Edges that the mask allows: float32 [batch or 1, heads or 1, from, to] of 0 and 1."""
    n_from, n_to = call.query.shape[-2], call.key.shape[-2]
    if call.mask is None:
        return call.query.new_ones((1, 1, n_from, n_to), dtype=torch.float32)
    mask = call.mask[..., :n_to].expand(-1, -1, n_from, -1)
    if mask.dtype == torch.bool:
        return mask.float()
    return (mask > torch.finfo(mask.dtype).min / 2).float()


def same_kind(kind: str) -> str:
    """One name for an encoder's attention: it is "self" where the encoder runs alone."""
    return "self" if kind == "encoder" else kind


class Editor:
    """Applies the edits of one pass, call by call.

    Args:
        edits: in the order in which they apply.
        places: for each EdgeEdit, its tokens in each text of the batch; None: nothing to cut.
    """

    def __init__(
        self,
        edits: Iterable[Edit],
        places: Mapping[int, Sequence[Places | None]] | None = None,
    ) -> None:
        self._heads: dict[tuple[str, int], list[HeadEdit | PatchEdit]] = {}
        self._edges: list[tuple[EdgeEdit, Sequence[Places | None]]] = []
        self._counted: dict[str, Tensor | None] = {}
        for number, edit in enumerate(edits):
            if isinstance(edit, EdgeEdit):
                found = None if places is None else places.get(number)
                indices = edit.indices()
                if found is None and indices is None:
                    raise InterventionError(
                        "A knockout names tokens by label, but these inputs are not a text that "
                        "the Lens read. Name the tokens by index."
                    )
                self._edges.append((edit, [indices] if found is None else found))
            else:
                self._heads.setdefault((same_kind(edit.kind), edit.layer), []).append(edit)

    def edited(self, kind: str, layer: int, call: Call) -> Call:
        """The call of a layer with its edits; the same call where there are none.

        Raises:
            IndexError: an edit is of a head that the layer does not have.
            InterventionError: a token would be left without anything to attend to.
        """
        kind = same_kind(kind)
        counted = self.positions(kind, call)
        heads = self._heads.get((kind, layer), [])
        for edit in heads:
            if not 0 <= edit.head < call.query.shape[1]:
                raise IndexError(
                    f"Layer {layer} has heads 0 to {call.query.shape[1] - 1}, not {edit.head}."
                )
        mask = call.mask
        for edge, places in self._edges:
            if same_kind(edge.kind) == kind and (edge.layers is None or layer in edge.layers):
                mask = _without_edges(call, mask, edge, places, layer)
        if not heads and mask is call.mask:
            return call
        own = {f.name: getattr(call, f.name) for f in fields(Call)}
        return EditedCall(**{**own, "mask": mask}, edits=tuple(heads), counted=counted)

    def positions(self, kind: str, call: Call) -> Tensor | None:
        """Positions that are not padding: what no row may attend to is padding."""
        n_from, n_to = call.query.shape[-2], call.key.shape[-2]
        if kind == "cross":
            known = self._counted.get("decoder")
            return known if known is not None and known.shape[-1] == n_from else None
        if call.mask is None or n_from > n_to:
            return None
        counted = allowed_edges(call).amax((1, 2))[:, n_to - n_from :] > 0
        self._counted[kind] = counted.expand(call.query.shape[0], -1)
        return self._counted[kind]


def _without_edges(
    call: Call, mask: Tensor | None, edge: EdgeEdit, places: Sequence[Places | None], layer: int
) -> Tensor:
    """The mask with the edges' entries at the smallest number, as masks have them."""
    batch, n_heads, n_from = call.query.shape[:3]
    n_to = call.key.shape[-2]
    lowest = torch.finfo(call.query.dtype).min
    if mask is None:
        mask = call.query.new_zeros((1, 1, n_from, n_to))
    elif mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=call.query.dtype).masked_fill(~mask, lowest)
    before = (mask[..., :n_to] > lowest / 2).any(-1)
    mask = mask[..., :n_to].expand(batch, n_heads if edge.heads is not None else -1, n_from, n_to)
    mask = mask.clone()
    heads = slice(None) if edge.heads is None else sorted(edge.heads)
    if edge.heads is not None and max(edge.heads) >= n_heads:
        raise IndexError(f"Layer {layer} has heads 0 to {n_heads - 1}, not {max(edge.heads)}.")
    past = n_to - n_from if edge.kind != "cross" and n_to > n_from else 0
    # One text's places serve a batch of its copies, as beams are.
    for text, found in enumerate(places if len(places) == batch else list(places) * batch):
        if found is None or text >= batch:
            continue
        rows = [row - past for row in found[0] if 0 <= row - past < n_from]
        columns = [column for column in found[1] if column < n_to]
        block = mask[text, heads]
        block[:, torch.tensor(rows, dtype=torch.long, device="cpu")[:, None], columns] = lowest
        mask[text, heads] = block
    left = (mask > lowest / 2).any(-1)
    if bool((before & ~left).any()):
        text, _, row = (before & ~left).nonzero()[0].tolist()
        raise InterventionError(
            f"The knockout leaves token {row + past} nothing to attend to in layer {layer}. Cut "
            "fewer edges."
        )
    return mask
