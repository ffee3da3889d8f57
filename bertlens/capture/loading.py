"""Load a model by name, with its head where the head has something to say."""

from __future__ import annotations

import os
from typing import Any

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


def _auto_class(config: Any) -> Any:
    import transformers

    for architecture in getattr(config, "architectures", None) or ():
        for end, auto in HEADS.items():
            found = getattr(transformers, auto)
            if architecture.endswith(end) and type(config) in found._model_mapping:
                return found
    return transformers.AutoModel
