"""The part of a model that has attention, without wrappers and without its task head."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from bertlens.capture.interrupts import interruptible
from bertlens.errors import NoAttentionError


def unwrapped(model: nn.Module) -> nn.Module:
    """The transformers model inside DataParallel, torch.compile, PEFT or sentence-transformers.

    Adapters of PEFT live in its modules, so they stay active; everything is shared, not copied.
    """
    seen: set[int] = set()
    while id(model) not in seen:
        seen.add(id(model))
        model = _inside(model)
    return model


def _inside(model: nn.Module) -> nn.Module:
    if isinstance(model, PreTrainedModel):
        return model
    if hasattr(model, "edits") and hasattr(model, "model"):  # an EditedModel
        return model.model  # type: ignore[return-value]
    if hasattr(model, "_orig_mod"):  # torch.compile
        return model._orig_mod  # type: ignore[return-value]
    if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return model.module  # type: ignore[no-any-return]
    if hasattr(model, "get_base_model"):  # PEFT
        base: nn.Module = model.get_base_model()  # type: ignore[operator]
        return base
    inner = getattr(model, "auto_model", None)
    if isinstance(inner, nn.Module):  # a sentence-transformers module
        return inner
    if isinstance(model, nn.Sequential) and len(model):  # SentenceTransformer itself
        first = model[0]
        if isinstance(getattr(first, "auto_model", None), nn.Module):
            return first
    return model


def base_of(model: nn.Module) -> nn.Module:
    """The model without wrappers and task head: the same attention, and no logits to pay for."""
    model = unwrapped(model)
    if not isinstance(model, PreTrainedModel):
        return model
    base: nn.Module = model.base_model
    # DINOv3 calls its stack of layers so, which takes no pictures.
    return base if _takes(base, model.main_input_name) else model


def _takes(model: nn.Module, names: Any) -> bool:
    taken = inspect.signature(model.forward).parameters
    # OneFormer names two main inputs.
    return all(name in taken for name in ([names] if isinstance(names, str) else names))


ANSWERS = {
    "SequenceClassification": "text",
    "ImageClassification": "text",
    "ImageClassificationWithTeacher": "text",
    "VideoClassification": "text",
    "AudioClassification": "text",
    "NextSentencePrediction": "next sentence",
    "TokenClassification": "tokens",
    "QuestionAnswering": "span",
}
"""Task heads whose answer can be shown beside a text, and what it is about."""


def answers(model: nn.Module) -> str | None:
    """What the model's task head says something about: "text" (or image, or sound), "tokens",
    a "span" or whether the second text is the "next sentence"; or None."""
    name = type(unwrapped(model)).__name__
    return next((about for task, about in ANSWERS.items() if name.endswith(f"For{task}")), None)


def body_of(model: nn.Module, inputs: Mapping[str, Any]) -> nn.Module:
    """What has to run: the encoder alone of an encoder-decoder without a target; no task head,
    unless its answer is small and worth showing."""
    body = body_without_head(model, inputs)
    runs_all = body is base_of(model)
    return unwrapped(model) if answers(model) and runs_all else body


def body_without_head(model: nn.Module, inputs: Mapping[str, Any]) -> nn.Module:
    """The same without any task head."""
    body = base_of(model)
    if is_encoder_decoder(body) and not any(name.startswith("decoder_") for name in inputs):
        encoder = getattr(body, "encoder", None)
        if encoder is None and hasattr(body, "get_encoder"):
            encoder = body.get_encoder()  # type: ignore[operator]
        # The encoder of a detector (DETR) takes no pictures: its decoder runs without a target.
        if isinstance(encoder, nn.Module) and _takes(encoder, body.main_input_name):
            return encoder
    return body


def refuse_virtual_tokens(model: nn.Module) -> None:
    """Raise where PEFT puts tokens before a text that no tokenizer knows.

    Raises:
        NoAttentionError: the active adapter is a prompt, a prefix or the like.
    """
    config: Any = None
    if hasattr(model, "peft_config"):
        config = getattr(model, "active_peft_config", None)
    if getattr(config, "is_prompt_learning", False):
        kind = str(getattr(config, "peft_type", "prompt learning")).rpartition(".")[2]
        raise NoAttentionError(
            f"The active PEFT adapter ({kind}) puts {config.num_virtual_tokens} virtual tokens "
            "before each text, which only PEFT's own forward adds, so the attention shown would be "
            "the base model's. Make the Lens of model.get_base_model() to see that one."
        )


def is_encoder_decoder(model: nn.Module) -> bool:
    config = getattr(model, "config", None)
    return bool(getattr(config, "is_encoder_decoder", False)) and hasattr(model, "decoder")


def call_body(body: nn.Module, inputs: Mapping[str, Any], **options: Any) -> Any:
    """Call a body with the inputs that it takes, without a cache of keys and values."""
    accepted = inspect.signature(body.forward).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
    taken = {name: value for name, value in inputs.items() if takes_all or name in accepted}
    if "use_cache" in accepted:
        options.setdefault("use_cache", False)
    return interruptible(body, **taken, **options)


def has_two_ways(body: nn.Module) -> bool:
    """Whether a family exchanges its attention modules by the length of the text (BigBird)."""
    return bool(_choosers(body))


def is_short(body: nn.Module, inputs: Mapping[str, Any]) -> bool:
    """Whether such a family would give up its blocks for this text."""
    ids = inputs.get("input_ids")
    for part in _choosers(body):
        config: Any = part.config
        most = (5 + 2 * config.num_random_blocks) * config.block_size
        if isinstance(ids, Tensor) and ids.shape[-1] <= most:
            return True
    return False


def settle(body: nn.Module, inputs: Mapping[str, Any]) -> None:
    """Let it exchange them before hooks are set; `preserve_state` brings the old ones back."""
    if is_short(body, inputs):
        for part in _choosers(body):
            part.set_attention_type("original_full")  # type: ignore[operator]


def sorts_by_windows(body: nn.Module) -> bool:
    """Whether a part sorts patches so that those of a window are neighbours (Qwen2.5-VL)."""
    for part in {type(module) for module in body.modules()}:
        code = getattr(inspect.unwrap(part.forward), "__code__", None)
        if code is not None and "window_index" in (*code.co_varnames, *code.co_cellvars):
            return True
    return False


def _choosers(body: nn.Module) -> list[nn.Module]:
    parts = [body, *body.children()]
    return [part for part in parts if getattr(part, "attention_type", None) == "block_sparse"]
