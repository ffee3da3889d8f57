"""New models: by name, with the head where that has something to say, or with random weights."""

from __future__ import annotations

import copy
import os
from typing import Any

import torch
from torch import nn

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

    The model given, its config and torch's random state stay as they are.
    """
    original: Any = unwrapped(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made: nn.Module = type(original)(copy.deepcopy(original.config))
    return made.eval()


def _auto_class(config: Any) -> Any:
    import transformers

    for architecture in getattr(config, "architectures", None) or ():
        for end, auto in HEADS.items():
            found = getattr(transformers, auto)
            if architecture.endswith(end) and type(config) in found._model_mapping:
                return found
    return transformers.AutoModel
