"""What bertlens does with every family in transformers' model mapping, as a table.

python -m tests.python.families          writes docs/families.md
python -m tests.python.families bert t5  prints these rows
"""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor

from bertlens import capture
from bertlens.errors import NoAttentionError
from tests.python import zoo
from tests.python.model_state import differences, state

DOCS = Path(__file__).resolve().parents[2] / "docs" / "families.md"

WAYS = {1: "interface", 2: "hooks", 3: "outputs"}

MOST_SECONDS = 60


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
        animal = zoo.animal(family)
    except zoo.UntriedError as reason:
        return Row(family, f"not tried ({_plain(reason)})")
    before = state(animal.model)
    try:
        padded = capture.store(animal.model, animal.inputs, exact=True)
    except NoAttentionError as error:
        why = "no attention" if "has no attention" in str(error) else f"refused: {_why(error)}"
        return Row(family, why, _restored(animal.model, before))
    reach = padded.reach
    kinds = "; ".join(
        f"{kind}: {WAYS[reach.tier(kind)]}"
        + ("" if reach.forms[kind] == "as is" else f", {reach.forms[kind]}")
        for kind in reach.kinds
    )
    alone = capture.store(animal.model, animal.one_text, exact=True)
    lazy = capture.store(animal.model, animal.inputs)
    found = []
    listed = any(own_attentions(family, animal.inputs).values())
    for stored, inputs, what in (
        (padded, animal.inputs, "padded"),
        (alone, animal.one_text, "not"),
    ):
        if listed and equals_eager(stored, own_attentions(family, inputs)):
            found.append(what)
    checked = {
        ("padded", "not"): "equal to eager, padded and not",
        ("padded",): "equal to eager, padded",
        ("not",): "equal to eager, one text",
    }.get(
        tuple(found),
        "the model lists no weights to compare" if not listed else "made into matrices",
    )
    sums = all(rows_are_shares(layer.weights()) for ls in lazy.kinds.values() for layer in ls)
    checked += "; rows sum to at most 1" if sums else "; ROWS WRONG"
    return Row(family, kinds, f"{checked}; {_restored(animal.model, before)}")


def own_attentions(family: str, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
    """What a fresh model of the family lists in eager attention, by output name."""
    model = zoo.animal(family, implementation="eager").model
    torch.manual_seed(0)
    body = model
    with torch.no_grad():
        try:
            outputs: Any = body(**inputs, output_attentions=True)
        except (TypeError, ValueError):
            return {}
    return _lists(outputs)


def _lists(outputs: Any) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = {}
    for name, value in outputs.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{inner}": layers for inner, layers in _lists(value).items()}
        elif name.endswith("attentions") and isinstance(value, tuple) and value:
            found[name] = [layer.float() for layer in value if isinstance(layer, Tensor)]
    return found


def equals_eager(stored: capture.Stored, listed: dict[str, list[Tensor]]) -> bool:
    """Whether every list of the model's own is found among what was captured, within 1e-6."""
    mine = [layer.weights() for layers in stored.kinds.values() for layer in layers]
    theirs = [layer for layers in listed.values() for layer in layers]
    if stored.reach.forms and "softmax" in stored.reach.forms.values():
        theirs = [layer.softmax(-1) for layer in theirs]
    return bool(theirs) and all(any(_close(m, t) for m in mine) for t in theirs)


def _close(mine: Tensor, theirs: Tensor) -> bool:
    return mine.shape == theirs.shape and torch.allclose(
        mine, theirs, atol=1e-6, rtol=0, equal_nan=True
    )


def rows_are_shares(weights: Tensor) -> bool:
    """Whether weights are not negative and rows sum to at most one."""
    numbers = weights.nan_to_num()
    return bool(numbers.min() >= 0) and bool(numbers.sum(-1).max() <= 1 + 1e-3)


def _restored(model: Any, before: dict[str, Any]) -> str:
    changed = differences(before, state(model))
    return f"STATE CHANGED: {changed}" if changed else "state restored"


def _why(error: NoAttentionError) -> str:
    text = str(error)
    if "something else" in text:
        return "what it returns are no weights"
    return "it neither uses the interface nor returns attentions"


def _plain(reason: Exception) -> str:
    return str(reason).split("\n")[0].replace("|", "/").strip()[:90]


HEAD = """# Families

What bertlens does with each of the {n} families in the model mapping of transformers {version}.
Written by `python -m tests.python.families`, which makes a tiny random model of each family,
captures its attention for a batch of two texts of 12 and 8 tokens, and for the first alone, and
compares it with what a fresh model lists with `attn_implementation="eager"` and
`output_attentions=True`: equal means within 1e-6. "Interface" is a registered attention function
(tier 1), "hooks" are on the modules that return weights (tier 2), "outputs" is the model's own list
(tier 3). Bands, blocks and raw scores are made into matrices of weights, and the widget says so.

A family that is not in this table takes the best way whose weights equal its own eager attention,
found by running it once on the beginning of the first text.

{summary}

| family | attention | checked |
|---|---|---|
"""


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    rows = []
    for family in names or zoo.FAMILIES:
        rows.append(_in_time(family))
        print(rows[-1], flush=True)
    if not names:
        DOCS.parent.mkdir(exist_ok=True)
        head = HEAD.format(n=len(rows), version=transformers.__version__, summary=_summary(rows))
        DOCS.write_text(head + "\n".join(map(str, rows)) + "\n", "utf-8")


def _in_time(family: str) -> Row:
    def late(*_: Any) -> None:
        raise TimeoutError(f"over {MOST_SECONDS} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(MOST_SECONDS)
    try:
        return row(family)
    except Exception as error:
        return Row(family, f"FAILED: {type(error).__name__}: {_plain(error)}")
    finally:
        signal.alarm(0)


def _summary(rows: list[Row]) -> str:
    count = {
        "equal to their own eager attention": sum("equal" in row.checked for row in rows),
        "captured, with nothing of the same shape to compare with": sum(
            "lists no weights" in row.checked or "made into" in row.checked for row in rows
        ),
        "without attention": sum(row.attention == "no attention" for row in rows),
        "refused in words": sum(row.attention.startswith("refused") for row in rows),
        "not tried: the recipe makes no tiny model of them": sum(
            row.attention.startswith("not tried") for row in rows
        ),
    }
    failed = sum(row.attention.startswith("FAILED") for row in rows)
    if failed:
        count["FAILED"] = failed
    return "\n".join(f"- {n} {what}" for what, n in count.items())


if __name__ == "__main__":
    main(sys.argv[1:])
