"""Properties of a model, read without running it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from bertlens.capture.submodel import base_of, is_encoder_decoder, unwrapped


def config_of(model: nn.Module) -> Any:
    """The config of the transformers model inside; an empty object where there is none."""
    return getattr(unwrapped(model), "config", object())


def device_of(model: nn.Module) -> torch.device:
    """Where the inputs have to be: with the embeddings, if the model is spread over devices.

    Of weights that accelerate has offloaded, which are on no device between calls, it is where the
    module runs.
    """
    for module in (_embeddings(model), model):
        if isinstance(module, nn.Module):
            for part in module.modules():
                device = _execution_device(part)
                if device is not None:
                    return device
            for parameter in module.parameters():
                return parameter.device
    return torch.device("cpu")


def _execution_device(module: nn.Module) -> torch.device | None:
    """Where accelerate's hook moves a module's weights and inputs."""
    hook = getattr(module, "_hf_hook", None)
    for each in getattr(hook, "hooks", (hook,)):
        device = getattr(each, "execution_device", None)
        if device is not None and torch.device(device).type != "meta":
            return torch.device(device)
    return None


def dtype_of(model: nn.Module) -> str:
    """The precision in which the model computes, such as "float32", "bfloat16" or "int8"."""
    config = config_of(model)
    quantised = getattr(config, "quantization_config", None)
    if quantised is not None:
        settings = quantised if isinstance(quantised, dict) else quantised.to_dict()
        found = _quantised_by(settings)
        if found is not None:
            return found
    for module in model.modules():
        name = type(module).__name__.lower()
        if "quantized" in type(module).__module__ or "8bit" in name:
            return "int8"
        if "4bit" in name:
            return "int4"
    for parameter in unwrapped(model).parameters():
        # Weights of one byte: layers beside them, such as norms, stay in a wider type.
        if parameter.dtype.itemsize == 1 and parameter.dim() > 1:
            name = str(parameter.dtype).removeprefix("torch.")
            return "float8" if name.startswith("float8") else "int8"
    for parameter in unwrapped(model).parameters():
        if parameter.is_floating_point():
            return str(parameter.dtype).removeprefix("torch.")
    return "float32"


def is_quantised(dtype: str) -> bool:
    """Whether it is a precision of 8 bits or fewer, as `dtype_of` names it."""
    return dtype.startswith(("int", "float8", "mxfp4"))


def _quantised_by(settings: Mapping[str, Any]) -> str | None:
    """The precision that a quantization_config stands for; None if it does not say."""
    for bits in (2, 3, 4, 8):
        if settings.get(f"load_in_{bits}bit"):
            return f"int{bits}"
    for name in ("bits", "nbits", "w_bit"):
        if isinstance(settings.get(name), int):
            return f"int{settings[name]}"
    method = str(settings.get("quant_method", "")).rpartition(".")[2].lower()
    if "mxfp4" in method:
        return "mxfp4"
    kind = f"{method} {settings.get('quant_type', '')} {settings.get('weights', '')}".lower()
    if "fp8" in kind or "float8" in kind:
        return "float8"
    width = re.search(r"u?int(\d)", kind)
    return f"int{width[1]}" if width else None


def vocabulary_size(model: nn.Module) -> int | None:
    """How many ids the model has embeddings for, or None where it embeds no ids."""
    size = getattr(_embeddings(model), "num_embeddings", None)
    return size if isinstance(size, int) else None


def most_tokens(model: nn.Module) -> int | None:
    """How many positions the model has, or None if it says nothing of a limit."""
    config = config_of(model)
    for name in ("max_position_embeddings", "n_positions", "max_source_positions"):
        limit = getattr(config, name, None)
        if isinstance(limit, int) and limit > 0:
            return limit - _position_offset(model)
    return None


def most_written(model: nn.Module) -> int | None:
    """How many positions a decoder of images or sounds has, or None if it says nothing."""
    config = config_of(model)
    for part in (config, getattr(config, "decoder", None)):
        for name in ("max_target_positions", "max_position_embeddings", "n_positions"):
            limit = getattr(part, name, None)
            if isinstance(limit, int) and limit > 0:
                return limit
    return None


def most_heads(model: nn.Module) -> int:
    """How many heads a layer has, or 1 if the model does not say."""
    return max(1, int(getattr(config_of(model), "num_attention_heads", None) or 1))


def takes(model: nn.Module) -> str:
    """The name of the model's main input, such as "input_ids" or "pixel_values"."""
    inner = unwrapped(model)
    main_input = str(getattr(inner, "main_input_name", "input_ids"))
    parameters = [
        name
        for name, parameter in inspect.signature(inner.forward).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    # Parts of vision-language models name the input of the whole, which they do not take.
    return main_input if main_input in parameters or not parameters else parameters[0]


def translates(model: nn.Module) -> bool:
    """Whether the model reads one text and writes another."""
    return is_encoder_decoder(base_of(model))


def decoder_start(model: nn.Module, target: list[int]) -> int:
    """The id that the decoder reads first, before it writes `target`."""
    prepare = getattr(unwrapped(model), "prepare_decoder_input_ids_from_labels", None)
    if prepare is not None:
        # mBART starts with the language, which its tokenizer writes last.
        ids: Tensor = prepare(labels=torch.tensor([target], device="cpu"))
        return int(ids[0, 0])
    config = config_of(model)
    for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"):
        start = getattr(config, name, None)
        if isinstance(start, int):
            return start
    return 0


def _embeddings(model: nn.Module) -> Any:
    get = getattr(unwrapped(model), "get_input_embeddings", None)
    try:
        return None if get is None else get()
    except (AttributeError, NotImplementedError):
        return None  # transformers raises for models that embed no ids


def _position_offset(model: nn.Module) -> int:
    """RoBERTa kinds number positions from padding_idx + 1, so the first ones are never used."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            return 0 if module.padding_idx is None else module.padding_idx + 1
    return 0
