"""A family's row: what bertlens captures of it, compared with the family's own eager attention."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertlens import capture
from bertlens.errors import BertlensError, NoAttentionError
from tests.python import tiny_models
from tests.python.families.eager_reference import EagerReference, eager_pass
from tests.python.model_state import differences, state

WAYS = {1: "interface", 2: "hooks", 3: "outputs"}

EAGER = 'attn_implementation="eager"'

LISTED = frozenset({"as is", "cropped", "softmax"})
"""Forms of what the model lists; matrices of other forms are made of numbers of other axes."""


@dataclass(frozen=True)
class Row:
    """A family's line in the table.

    Attributes:
        family: the model type.
        attention: kinds and how they are reached; or why there is none to show.
        checked: what was compared and found equal.
    """

    family: str
    attention: str
    checked: str = ""

    def __str__(self) -> str:
        return f"| {self.family} | {self.attention} | {self.checked} |"


def row(family: str) -> Row:
    """Try a family: capture its attention and compare it with its own eager attention."""
    try:
        tiny = tiny_models.tiny_model(family)
    except tiny_models.UntriedError as reason:
        return Row(family, f"not tried ({in_words(str(reason))})")
    try:
        return _row_of(family, tiny)
    except NoAttentionError as error:
        if EAGER not in str(error):
            raise
    # A family that chooses the class of its attention when it is made, and says what to do.
    found = _row_of(family, tiny_models.tiny_model(family, implementation="eager"))
    return Row(family, f"loaded with {EAGER}: {found.attention}", found.checked)


def _row_of(family: str, tiny: tiny_models.TinyModel) -> Row:
    before = state(tiny.model)
    try:
        batch = _capture(tiny, tiny.inputs)
    except NoAttentionError as error:
        if EAGER in str(error) and not _is_eager(tiny):
            raise
        why = "no attention" if "has no attention" in str(error) else f"refused: {_why(error)}"
        return Row(family, _of_part(tiny, why), _restored(tiny, before))
    except BertlensError as error:
        if "were expected" not in str(error):
            raise
        return Row(family, "REFUSED: its layers are called several times", "")
    lazy = capture.store(tiny.model, tiny.inputs)
    seen = [_eager(family, tiny.inputs)]
    found = [_compared(batch, seen[0])]
    if tiny.is_batch:
        seen.append(_eager(family, tiny.one_text))
        found.append(_compared(_capture(tiny, tiny.one_text), seen[1]))
    checked = [
        _verdict(found, tiny.is_batch),
        *_left_out(batch.plan, seen[0]),
        "rows sum to at most 1" if _all_shares(lazy) else "ROWS WRONG",
        _restored(tiny, before),
    ]
    return Row(family, _of_part(tiny, _kinds(batch.plan)), "; ".join(checked))


def _is_eager(tiny: tiny_models.TinyModel) -> bool:
    return bool(tiny.model.config._attn_implementation == "eager")


def _eager(family: str, inputs: dict[str, Tensor]) -> EagerReference:
    return eager_pass(tiny_models.tiny_model(family, implementation="eager").model, inputs)


def _left_out(plan: capture.CapturePlan, seen: EagerReference) -> list[str]:
    """What is not compared, in words: matrices made of bands and blocks, lists of no weights."""
    made = [kind for kind in plan.kinds if plan.forms[kind] not in LISTED]
    if made:
        return [f"its {made[0]} made into matrices"] if len(made) < len(plan.kinds) else []
    others = sorted({*seen.others, *(seen.listed.keys() - _lists(plan, seen).keys())})
    return [f"its {' and '.join(others)}: no matrices of weights, left out"] if others else []


def _lists(plan: capture.CapturePlan, seen: EagerReference) -> dict[str, list[Tensor]]:
    """The lists of weights: some vision models list what their attention modules put out."""
    scores = "softmax" in plan.forms.values()
    lists = {}
    for name, layers in seen.listed.items():
        if all(map(rows_are_shares, layers)):
            lists[name] = layers
        elif scores:
            lists[name] = [layer.softmax(-1) for layer in layers]
    return lists


def _capture(tiny: tiny_models.TinyModel, inputs: dict[str, Tensor]) -> capture.Stored:
    torch.manual_seed(0)
    return capture.store(tiny.model, inputs, exact=True)


def _kinds(plan: capture.CapturePlan) -> str:
    return "; ".join(
        f"{kind}: {WAYS[plan.tier(kind)]}"
        + ("" if plan.forms[kind] == "as is" else f", {plan.forms[kind]}")
        for kind in plan.kinds
    )


def _of_part(tiny: tiny_models.TinyModel, words: str) -> str:
    return f"its {tiny.part} model alone: {words}" if tiny.part else words


def _compared(stored: capture.Stored, seen: EagerReference) -> str:
    """ "listed" or "returned" if captured weights equal that reference, "made" for matrices that no
    reference has, "" for nothing to compare with, "NOT EQUAL"."""
    if not LISTED & set(stored.plan.forms.values()):
        return "made"
    lists = _lists(stored.plan, seen)
    if not lists and not seen.returned:
        return ""
    if not equals_eager(stored, lists, seen.returned):
        return "NOT EQUAL"
    return "listed" if lists else "returned"


def equals_eager(
    stored: capture.Stored, lists: dict[str, list[Tensor]], returned: list[Tensor]
) -> bool:
    """Whether all that was captured is the model's own, and all that it lists was captured.

    Within 1e-6. Weights that the outputs list may be made by other code than the eager functions;
    a captured layer is the model's own if either reference has it. Matrices made of bands and
    blocks are in neither.
    """
    forms = stored.plan.forms
    kinds = {kind: layers for kind, layers in stored.kinds.items() if forms[kind] in LISTED}
    mine = [layer.weights() for layers in kinds.values() for layer in layers]
    theirs = [layer for layers in lists.values() for layer in layers]
    if not all(_is_in(m, [*theirs, *returned]) or _is_in(m, joined(m, returned)) for m in mine):
        return False
    return len(kinds) < len(stored.kinds) or all(_is_in(layer, mine) for layer in theirs)


def joined(layer: Tensor, returned: list[Tensor]) -> list[Tensor]:
    """Calls that follow one another, one for each of several pictures or sounds in one row, put
    along the diagonal, where that gives the layer's size."""
    found = []
    for first in range(len(returned)):
        size = 0
        for last, piece in enumerate(returned[first:], first):
            size += piece.shape[-1]
            if piece.shape[-1] != piece.shape[-2] or size > layer.shape[-1]:
                break
            if size == layer.shape[-1] and last > first:
                found.append(_along_diagonal(returned[first : last + 1]))
    return found


def _along_diagonal(pieces: list[Tensor]) -> Tensor:
    batch, heads = pieces[0].shape[:2]
    size = sum(piece.shape[-1] for piece in pieces)
    whole = torch.zeros(batch, heads, size, size)
    at = 0
    for piece in pieces:
        n = piece.shape[-1]
        whole[..., at : at + n, at : at + n] = piece
        at += n
    return whole


def _is_in(layer: Tensor, layers: Sequence[Tensor]) -> bool:
    return any(
        layer.shape == other.shape
        and torch.allclose(layer, other, atol=1e-6, rtol=0, equal_nan=True)
        for other in layers
    )


def _verdict(found: list[str], is_batch: bool) -> str:
    """In words: what `_compared` found for the batch and, of a batch, for the first item alone."""
    if "NOT EQUAL" in found:
        return "NOT EQUAL to eager"
    if "" in found:
        return "captured, with nothing to compare"
    if "made" in found:
        return "made into matrices"
    function = "" if "listed" in found else "'s function"
    return f"equal to eager{function}, {'padded and not' if is_batch else 'one item'}"


def _all_shares(stored: capture.Stored) -> bool:
    return all(rows_are_shares(layer.weights()) for ls in stored.kinds.values() for layer in ls)


def rows_are_shares(weights: Tensor) -> bool:
    """Whether weights are not negative and rows sum to at most one."""
    numbers = weights.nan_to_num()
    return bool(numbers.min() >= 0) and bool(numbers.sum(-1).max() <= 1 + 1e-3)


def _restored(tiny: tiny_models.TinyModel, before: dict[str, Any]) -> str:
    changed = differences(before, state(tiny.model))
    return f"STATE CHANGED: {changed}" if changed else "state restored"


def _why(error: NoAttentionError) -> str:
    text = str(error)
    if "something else" in text:
        return "what it returns are no weights"
    if "does not run on" in text:
        return "its parts do not run alone"
    return "it neither uses the interface nor returns attentions"


_PACKAGES = re.compile(r"requires? the (\S+) library")

_WORDS: tuple[tuple[str, str], ...] = (
    (r"[\d,]+ parameters", "its smallest model here has over 100 million parameters"),
    ("inference_session", "it takes a video session, no tensors"),
    ("_forward_unimplemented", "it has no forward pass of its own"),
    ("Unrecognized configuration|Could not find", "the auto classes do not make it"),
    ("^inputs of no attention", "made, but not run: none of its modules is an attention"),
    ("^config", "its sizes hang together in a way the recipe does not know"),
    (
        r"missing \d+ required|have to specify|must specify|NoneType|[Ee]xactly (1|one) of",
        "it takes inputs the recipe does not know",
    ),
    ("", "its inputs have shapes the recipe does not know"),
)
"""What a complaint matches -> words for the table, the first that matches."""


def in_words(complaint: str) -> str:
    """Why no tiny model of a family was made and run, in words."""
    package = _PACKAGES.search(complaint)
    if package:
        return f"needs the package {package[1]}"
    return next(words for pattern, words in _WORDS if re.search(pattern, complaint))
