"""Models: loaded by name, made anew with random weights, and generating text."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from bertlens.capture.edited_model import EditedModel
from bertlens.capture.edits import HeadEdit
from bertlens.capture.interrupts import interruptible, protected
from bertlens.capture.running import running
from bertlens.capture.state import preserve_state
from bertlens.capture.submodel import unwrapped

HEADS = {
    "SequenceClassification": "AutoModelForSequenceClassification",
    "TokenClassification": "AutoModelForTokenClassification",
    "QuestionAnswering": "AutoModelForQuestionAnswering",
    "CausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
    "ConditionalGeneration": "AutoModelForSeq2SeqLM",
}
"""End of a class name that a config gives as its architecture -> the class that loads it."""

_OF_BOTH = ("revision", "token", "cache_dir", "local_files_only", "trust_remote_code")


def loaded(name: str | os.PathLike[str], **options: Any) -> tuple[Any, Any]:
    """A model and its tokenizer, or the processor of a model that reads no text."""
    from transformers import AutoConfig, AutoProcessor, AutoTokenizer

    shared = {key: options[key] for key in _OF_BOTH if key in options}
    config = AutoConfig.from_pretrained(name, **shared)
    model = _auto_class(config).from_pretrained(name, **options)
    if model.main_input_name == "input_ids":
        return model, AutoTokenizer.from_pretrained(name, **shared)
    processor = AutoProcessor.from_pretrained(name, **shared)  # type: ignore[no-untyped-call]
    return model, processor


def randomised(model: nn.Module, seed: int) -> nn.Module:
    """A new model of the same kind with the random weights it would start its training from.

    The original model, its config and torch's random state stay as they are.
    """
    original: Any = unwrapped(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        new: nn.Module = type(original)(copy.deepcopy(original.config))
    return new.eval()


@protected
def written(model: nn.Module, inputs: Mapping[str, Any], **options: Any) -> list[list[int]]:
    """The ids that the model returns, a list for each sequence, the most probable first.

    Of a causal model the prompt and what follows, of an encoder-decoder what its decoder reads and
    writes. What the model's generation_config says holds unless `options` say else.

    Args:
        options: of transformers' `generate`.

    Raises:
        TypeError: the model has no head to write with.
    """
    whole: Any = unwrapped(model)
    if not (hasattr(whole, "can_generate") and whole.can_generate()):
        raise TypeError(
            f"{type(whole).__name__} cannot write: it has no language-model head for that. Load it "
            "with AutoModelForCausalLM or AutoModelForSeq2SeqLM."
        )
    settings = {**options, "return_dict_in_generate": False}
    with preserve_state(whole), ExitStack() as stack:
        if isinstance(model, EditedModel):
            stack.enter_context(running(model, inputs))
            if any(isinstance(e, HeadEdit) and e.method == "mean" for e in model.edits):
                settings["use_cache"] = False  # the mean is over all positions so far
        ids = interruptible(whole.generate, **inputs, **settings)
    return [[int(i) for i in sequence] for sequence in ids]


def generation_setting(model: nn.Module, name: str, options: Mapping[str, Any]) -> Any:
    """A setting of `generate`: from the options, else from the generation_config that holds."""
    if name in options:
        return options[name]
    own = getattr(unwrapped(model), "generation_config", None)
    return getattr(options.get("generation_config") or own, name, None)


def _auto_class(config: Any) -> Any:
    import transformers

    for architecture in getattr(config, "architectures", None) or ():
        for end, auto in HEADS.items():
            auto_class = getattr(transformers, auto)
            if architecture.endswith(end) and type(config) in auto_class._model_mapping:
                return auto_class
    return transformers.AutoModel
