"""A tiny random model of every family that transformers has, as far as a general recipe goes."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import CONFIG_MAPPING, AutoModel, PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

FAMILIES: tuple[str, ...] = tuple(sorted(MODEL_MAPPING_NAMES))

MOST_PARAMETERS = 100_000_000

_SMALL: dict[str, int] = {
    **dict.fromkeys(
        (
            "hidden_size d_model n_embd dim embed_dim emb_dim embedding_size model_dim width "
            "encoder_hidden_size decoder_hidden_size projection_dim proj_dim output_dim "
            "attention_dim vision_embed_dim entity_emb_size dec_embed_dim conv_dim "
            "input_embedding_size hidden_dim_size output_hidden_size out_hidden_size "
            "text_embed_dim d_latents encoder_dim decoder_dim lstm_dim cross_attention_dim"
        ).split(),
        32,
    ),
    **dict.fromkeys(
        (
            "intermediate_size ffn_dim d_ff encoder_ffn_dim decoder_ffn_dim n_inner hidden_dim "
            "ffn_hidden_size d_inner dim_feedforward mlp_dim dense_intermediate_size "
            "shared_expert_intermediate_size feed_forward_proj_size"
        ).split(),
        48,
    ),
    **dict.fromkeys(["moe_intermediate_size", "expert_intermediate_size"], 16),
    **dict.fromkeys(
        (
            "num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers depth "
            "num_decoder_layers num_encoder_layers num_blocks"
        ).split(),
        2,
    ),
    **dict.fromkeys(
        (
            "num_attention_heads n_head n_heads num_heads encoder_attention_heads "
            "decoder_attention_heads attention_heads num_attn_heads encoder_num_attention_heads "
            "decoder_num_attention_heads num_self_attention_heads num_cross_attention_heads"
        ).split(),
        4,
    ),
    **dict.fromkeys(["num_key_value_heads", "n_head_kv", "encoder_num_key_value_heads"], 2),
    **dict.fromkeys(["head_dim", "d_kv", "d_head", "attention_head_size", "global_head_dim"], 8),
    **dict.fromkeys(["vocab_size", "entity_vocab_size", "vocab_size_per_layer_input"], 300),
    **dict.fromkeys(
        (
            "max_position_embeddings n_positions max_source_positions max_target_positions n_ctx "
            "max_seq_len max_sequence_length max_seq_length"
        ).split(),
        64,
    ),
    **dict.fromkeys(["num_experts", "num_local_experts", "n_routed_experts"], 4),
    **dict.fromkeys(["num_experts_per_tok", "moe_topk", "num_experts_per_token"], 2),
    **dict.fromkeys(["q_lora_rank", "kv_lora_rank", "o_lora_rank"], 16),
    **dict.fromkeys(["qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "qk_head_dim"], 8),
    **dict.fromkeys(["attention_window", "local_radius"], 8),
    "image_size": 32,
    "patch_size": 8,
    "type_vocab_size": 2,
    "mamba_n_heads": 4,
    "mamba_d_head": 16,
}

_THREE_AXES = ("qwen2_vl", "qwen2_5_vl", "glm4v", "glm46v", "glm_", "glmga", "paddleocr")

_LEFT_OUT = ("per_layer_config", "out_features", "out_indices", "stage_names", "pad_token")
"""Settings that only fit the size they came with; without them the family's defaults hold."""

_OWN: dict[str, dict[str, Any]] = {
    "longt5": {"local_radius": 4, "global_block_size": 4},
    "bigbird_pegasus": {"block_size": 4, "num_random_blocks": 1, "max_position_embeddings": 128},
    "big_bird": {"block_size": 4, "num_random_blocks": 1, "max_position_embeddings": 128},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 64},
    "qwen2": {"use_sliding_window": False},
    "reformer": {
        "axial_pos_shape": [4, 8],
        "axial_pos_embds_dim": [16, 16],
        "attn_layers": ["local", "local"],
        "local_attn_chunk_length": 8,
        "feed_forward_size": 48,
    },
    "funnel": {"block_sizes": [1, 1], "block_repeats": [1, 1]},
    "gptj": {"rotary_dim": 4},
    "codegen": {"rotary_dim": 4},
    "esm": {"vocab_size": 300, "pad_token_id": 1, "mask_token_id": 4},
    "esmc": {"vocab_size": 300, "pad_token_id": 1, "mask_token_id": 4},
    "hunyuan_v1_dense": {"head_dim": 8},
    "hunyuan_v1_moe": {"head_dim": 8},
    "hunyuan_vl_text": {"head_dim": 8},
    "ministral": {"head_dim": 8},
    "nemotron": {"num_key_value_heads": 4},
    "xmod": {"default_language": "en_XX"},
    "deepseek_v2": {"num_experts_per_tok": 2, "n_group": 1, "topk_group": 1},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "bamba": {"attn_layer_indices": [1]},
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    **{
        family: {
            "patch_size": 4,
            "window_size": 4,
            "depths": [1, 1],
            "num_heads": [2, 4],
            "embed_dim": 16,
        }
        for family in ("swin", "swinv2", "donut-swin", "maskformer-swin")
    },
    "led": {"attention_window": 8, "max_encoder_position_embeddings": 64},
    "canine": {"downsampling_rate": 2, "local_transformer_stride": 8},
    "nystromformer": {"segment_means_seq_len": 12, "num_landmarks": 4},
}


@dataclass(frozen=True)
class Animal:
    """A tiny model of a family, and inputs for it: two texts, the second padded."""

    model: Any
    inputs: dict[str, Tensor]

    @property
    def one_text(self) -> dict[str, Tensor]:
        """The first text alone, which has no padding."""
        return {name: tensor[:1] for name, tensor in self.inputs.items()}


class UntriedError(Exception):
    """The general recipe does not make a tiny model of this family."""


def config_for(family: str) -> PreTrainedConfig:
    """The family's default config, made small by the names of its settings."""
    defaults = CONFIG_MAPPING[family]().to_dict()
    small = _shrunk(defaults)
    small.update(_OWN.get(family, {}))
    small["architectures"] = []
    for name in ("transformers_version", "model_type"):
        small.pop(name, None)
    config = CONFIG_MAPPING[family](**small)
    if family.startswith(_THREE_AXES):
        _with_three_axes(config)
    return config


def _with_three_axes(config: PreTrainedConfig) -> None:
    """Rotary positions in time, height and width, which share the half of a head."""
    for part in (config, *vars(config).values()):
        rope = getattr(part, "rope_parameters", None) if part is not None else None
        if isinstance(rope, dict):
            rope["mrope_section"] = [2, 1, 1]


def _shrunk(settings: dict[str, Any]) -> dict[str, Any]:
    layers = next(
        (settings[n] for n in ("num_hidden_layers", "num_layers", "n_layer") if settings.get(n)), 0
    )
    small: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict) and "model_type" in value:
            small[name] = _shrunk(value)
        elif name == "num_key_value_heads" and value == settings.get("num_attention_heads"):
            small[name] = _SMALL["num_attention_heads"]  # a family without grouped queries
        elif name in _SMALL and isinstance(value, int) and not isinstance(value, bool):
            small[name] = min(value, _SMALL[name]) or value
        elif name in ("image_size", "patch_size") and isinstance(value, list | tuple):
            small[name] = [min(v, _SMALL[name]) for v in value]
        elif name == "rope_parameters" and isinstance(value, dict) and "mrope_section" in value:
            small[name] = {**value, "mrope_section": [2, 1, 1], "partial_rotary_factor": 1.0}
        elif name in _LEFT_OUT:
            continue
        elif name.endswith("_token_id") and isinstance(value, int) and value >= 300:
            small[name] = 3
        elif name.endswith("_token_id") and isinstance(value, list):
            small[name] = [min(v, 3) for v in value]
        elif isinstance(value, list) and len(value) == layers > 2:
            small[name] = value[:1] + value[-1:]
        else:
            small[name] = value
    return small


def animal(family: str, *, implementation: str = "sdpa") -> Animal:
    """A tiny random model in eval mode, and inputs.

    Raises:
        UntriedError: the recipe does not fit this family; the message says where it stopped.
    """
    try:
        config = config_for(family)
        with torch.device("meta"):
            size = sum(p.numel() for p in AutoModel.from_config(config).parameters())
        if size > MOST_PARAMETERS:
            raise UntriedError(f"{size:,} parameters")
        torch.manual_seed(0)
        try:
            model = AutoModel.from_config(config_for(family), attn_implementation=implementation)
        except ValueError:  # a family without this implementation
            torch.manual_seed(0)
            model = AutoModel.from_config(config_for(family))
    except UntriedError:
        raise
    except Exception as error:
        raise UntriedError(f"config: {_first_line(error)}") from error
    _roughen(model)
    model.eval()
    return Animal(model, _inputs_that_run(model))


def _inputs_that_run(model: Any) -> dict[str, Tensor]:
    """What a forward pass takes, with an image beside the text where one is needed."""
    first = inputs_for(model)
    failures = []
    for inputs in (first, {**first, **_image(model.config)}, _frames(first, model), _turned(first)):
        try:
            with torch.no_grad():
                copy.deepcopy(model)(**inputs)  # BigBird changes itself
        except Exception as error:
            failures.append(_first_line(error))
        else:
            return inputs
    raise UntriedError(f"inputs: {failures[0]}")


def _first_line(error: Exception) -> str:
    said = next((line.strip() for line in str(error).split("\n") if line.strip()), "")
    return f"{type(error).__name__}: {said}"[:120]


def _frames(inputs: dict[str, Tensor], model: Any) -> dict[str, Tensor]:
    """The picture again and again, as a film."""
    n = _first(model.config, "num_frames", 8)
    return {
        name: value[:, None].repeat(1, n, 1, 1, 1) if name == "pixel_values" else value
        for name, value in inputs.items()
    }


def _turned(inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """A sound's features with time first."""
    return {
        name: value.transpose(1, 2) if name == "input_features" else value
        for name, value in inputs.items()
    }


def _roughen(model: nn.Module) -> None:
    """Larger weights than the usual initial ones, with which every head is nearly uniform."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "embed" not in name and parameter.is_floating_point():
                scale = 0.6 / max(parameter.shape[1], 1) ** 0.5 * 3
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)


def inputs_for(model: Any) -> dict[str, Tensor]:
    """Two texts of 12 and 8 tokens, or pictures or sounds, by what the model takes first."""
    config = model.config
    generator = torch.Generator().manual_seed(2)
    main = model.main_input_name
    if main == "pixel_values":
        return _image(config)
    if main == "input_features":
        bins = _first(config, "num_mel_bins", 80)
        length = 2 * _first(config, "max_source_positions", 64)
        found = {"input_features": torch.randn(2, bins, length, generator=generator)}
    elif main == "input_values":
        found = {"input_values": torch.randn(2, 4000, generator=generator)}
    else:
        ids = torch.randint(5, 200, (2, 12), generator=generator)
        mask = torch.ones_like(ids)
        ids[1, 8:], mask[1, 8:] = getattr(config, "pad_token_id", None) or 0, 0
        found = {"input_ids": ids, "attention_mask": mask}
    if getattr(config, "is_encoder_decoder", False):
        found["decoder_input_ids"] = torch.randint(5, 200, (2, 7), generator=generator)
    return found


def _image(config: Any) -> dict[str, Tensor]:
    size = _first(config, "image_size", 32)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    channels = _first(config, "num_channels", 3)
    generator = torch.Generator().manual_seed(3)
    return {"pixel_values": torch.randn(2, channels, height, width, generator=generator)}


def _first(config: Any, name: str, default: Any) -> Any:
    """A setting of the config or of the first config inside it that has it."""
    if getattr(config, name, None) is not None:
        return getattr(config, name)
    for value in vars(config).values():
        if isinstance(value, PreTrainedConfig):
            found = _first(value, name, None)
            if found is not None:
                return found
    return default
