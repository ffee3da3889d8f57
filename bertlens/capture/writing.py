"""Let a model write a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from bertlens.capture.state import preserve_state
from bertlens.capture.submodel import unwrapped


def written(model: nn.Module, inputs: Mapping[str, Any], **options: Any) -> list[int]:
    """The ids of the whole text: a causal model's prompt and what follows, or a decoder's own.

    Args:
        options: of transformers' `generate`; the most probable token is taken unless they say else.

    Raises:
        TypeError: the model has no head to write with.
    """
    whole: Any = unwrapped(model)
    if not (hasattr(whole, "can_generate") and whole.can_generate()):
        raise TypeError(
            f"{type(whole).__name__} cannot write: it has no language-model head for that. Load it "
            "with AutoModelForCausalLM or AutoModelForSeq2SeqLM."
        )
    settings = {"do_sample": False, **options, "return_dict_in_generate": False}
    with preserve_state(whole):
        ids = whole.generate(**inputs, **settings)
    return [int(i) for i in ids[0]]
