"""Arguments of forward passes, by their names and by the sizes that a config gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedConfig

ITEMS = 2
TOKENS = 12
SIDE = 4
"""Patches along an edge of a picture that is given as a row of patches."""


def randn(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def randint(seed: int, most: int, *shape: int) -> Tensor:
    return torch.randint(5, most, shape, generator=torch.Generator().manual_seed(seed))


def words(config: Any) -> Tensor:
    vocabulary = min(200, max(setting(config, "vocab_size", 200), 6))
    ids = randint(2, vocabulary, ITEMS, TOKENS)
    ids[1, 8:] = getattr(config, "pad_token_id", None) or 0
    return ids


def mask(_: Any) -> Tensor:
    mask = torch.ones(ITEMS, TOKENS, dtype=torch.long)
    mask[1, 8:] = 0
    return mask


def bins(config: Any) -> int:
    for name in ("num_mel_bins", "feature_size", "n_mels", "input_dim"):
        if (found := setting(config, name, None)) is not None:
            return int(found)
    return 80


def _sound_length(config: Any) -> int:
    length = int(setting(config, "max_source_positions", 64))
    return 2 * min(length, 1500)


def _sides(config: Any) -> tuple[int, int]:
    size = setting(config, "image_size", 32)
    if isinstance(size, dict):
        size = (size["height"], size["width"])
    height, width = size if isinstance(size, list | tuple) else (size, size)
    return int(height), int(width)


def image(config: Any) -> dict[str, Tensor]:
    height, width = _sides(config)
    channels = setting(config, "num_channels", 3)
    return {"pixel_values": randn(3, ITEMS, channels, height, width)}


def film(config: Any) -> Tensor:
    height, width = _sides(config)
    frames = setting(config, "num_frames", setting(config, "frames_per_clip", 8))
    return randn(3, ITEMS, frames, setting(config, "num_channels", 3), height, width)


def _patch_length(config: Any) -> int:
    patch = setting(config, "patch_size", 8)
    height, width = patch if isinstance(patch, list | tuple) else (patch, patch)
    channels = setting(config, "in_channels", setting(config, "num_channels", 3))
    length: int = (
        int(channels) * int(setting(config, "temporal_patch_size", 1)) * int(height * width)
    )
    return length


def patches(config: Any) -> Tensor:
    """A picture as a row of patches, the form the Qwen-VL line takes."""
    return randn(3, SIDE * SIDE, _patch_length(config))


def patch_batch(config: Any) -> Tensor:
    """Two pictures of patches, where the picture has a dimension of its own."""
    return randn(3, ITEMS, SIDE * SIDE, _patch_length(config))


def patch_squares(config: Any) -> Tensor:
    patch = setting(config, "patch_size", 8)
    channels = setting(config, "in_channels", setting(config, "num_channels", 3))
    return randn(3, SIDE * SIDE, channels, patch, patch)


def spectrogram(config: Any) -> Tensor:
    length = setting(config, "max_length", setting(config, "spec_size", 64))
    return randn(2, ITEMS, length, bins(config))


def _grid(_: Any) -> Tensor:
    return torch.tensor([[1, SIDE, SIDE]])


def _plane(_: Any) -> Tensor:
    """Column and row of each patch."""
    place = torch.arange(SIDE * SIDE)
    return torch.stack([place % SIDE, place // SIDE], -1).repeat(ITEMS, 1, 1)


def _boxes(_: Any) -> Tensor:
    boxes = torch.randint(0, 30, (ITEMS, TOKENS, 4), generator=torch.Generator().manual_seed(4))
    return boxes.sort(-1).values


def _hidden(config: Any) -> int:
    return int(setting(config, "hidden_size", setting(config, "d_model", 32)))


def _past(config: Any) -> int:
    lags = getattr(config, "lags_sequence", None) or [0]
    return int(setting(config, "context_length", 16)) + int(max(lags))


def _series(config: Any) -> Tensor:
    channels = setting(config, "num_input_channels", None)
    shape = (ITEMS, _past(config)) + ((channels,) if channels else ())
    return randn(5, *shape)


MAKERS: dict[str, Callable[[Any], Tensor]] = {
    "input_ids": words,
    "attention_mask": mask,
    "decoder_input_ids": lambda c: randint(2, 200, ITEMS, 7),
    "qformer_input_ids": words,
    "pixel_values": lambda c: image(c)["pixel_values"],
    "pixel_values_videos": film,
    "image": lambda c: image(c)["pixel_values"],
    "prompt_pixel_values": lambda c: image(c)["pixel_values"],
    "prompt_masks": lambda c: image(c)["pixel_values"],
    "pixel_mask": lambda c: torch.ones(ITEMS, *_sides(c), dtype=torch.long),
    "pixel_attention_mask": lambda c: torch.ones(ITEMS, SIDE * SIDE, dtype=torch.long),
    "input_features": lambda c: randn(2, ITEMS, bins(c), _sound_length(c)),
    "input_features_mask": lambda c: torch.ones(ITEMS, _sound_length(c), dtype=torch.long),
    "feature_attention_mask": lambda c: torch.ones(ITEMS, _sound_length(c), dtype=torch.long),
    "audio_mel_mask": lambda c: torch.zeros(ITEMS, _sound_length(c), dtype=torch.bool),
    "feature_lens": lambda c: torch.full((ITEMS,), _sound_length(c)),
    "input_values": lambda c: randn(2, ITEMS, 4000),
    "padding_mask": lambda c: torch.ones(ITEMS, 4000, dtype=torch.long),
    "bbox": _boxes,
    "action_embeds": lambda c: randn(7, ITEMS, 5, _hidden(c)),
    "inputs_embeds": lambda c: randn(7, ITEMS, TOKENS, _hidden(c)),
    "visual_feats": lambda c: randn(6, ITEMS, 5, c.visual_feat_dim),
    "visual_pos": lambda c: torch.rand(ITEMS, 5, c.visual_pos_dim),
    "grid_thw": _grid,
    "image_grid_thw": _grid,
    "tgt_sizes": lambda c: torch.tensor([[SIDE, SIDE]] * ITEMS),
    "target_sizes": lambda c: torch.tensor([[SIDE, SIDE]] * ITEMS),
    "spatial_shapes": lambda c: torch.tensor([[SIDE, SIDE]] * ITEMS),
    "pixel_position_ids": _plane,
    "image_position_ids": _plane,
    "hidden_states": patches,
    "query_embeds": lambda c: randn(7, ITEMS, 5, _hidden(c)),
    "encoder_hidden_states": lambda c: randn(7, ITEMS, 5, setting(c, "encoder_hidden_size", 32)),
    "inputs": lambda c: randn(7, ITEMS, TOKENS, setting(c, "d_model", 32)),
    "past_values": _series,
    "past_time_features": lambda c: randn(8, ITEMS, _past(c), c.num_time_features),
    "past_observed_mask": lambda c: torch.ones_like(_series(c)),
    "future_values": lambda c: randn(9, ITEMS, c.prediction_length),
    "future_time_features": lambda c: randn(9, ITEMS, c.prediction_length, c.num_time_features),
    "past_values_padding": lambda c: torch.zeros(ITEMS, _past(c)),
    "freq": lambda c: torch.zeros(ITEMS, 1, dtype=torch.long),
    "states": lambda c: randn(5, ITEMS, TOKENS, c.state_dim),
    "actions": lambda c: randn(6, ITEMS, TOKENS, c.act_dim),
    "rewards": lambda c: randn(7, ITEMS, TOKENS, 1),
    "returns_to_go": lambda c: randn(8, ITEMS, TOKENS, 1),
    "timesteps": lambda c: torch.arange(TOKENS).repeat(ITEMS, 1),
    "task_inputs": lambda c: words(c),
    "conditional_input_ids": words,
}
"""Argument of forward() -> what is given for it."""


def setting(config: Any, name: str, default: Any) -> Any:
    """A setting of the config or of the first config inside it that has it."""
    if getattr(config, name, None) is not None:
        return getattr(config, name)
    for value in vars(config).values():
        if isinstance(value, PreTrainedConfig):
            found = setting(value, name, None)
            if found is not None:
                return found
    return default


def made(name: str, config: Any) -> Tensor:
    """What is given for an argument."""
    return MAKERS[name](config)
