"""Inputs of families whose forward pass wants more than its arguments' names say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.python.families.arguments import (
    ITEMS,
    SIDE,
    TOKENS,
    image,
    made,
    mask,
    randint,
    randn,
    setting,
    words,
)

Inputs = dict[str, Tensor]


def _text(config: Any) -> Inputs:
    return {"input_ids": words(config), "attention_mask": mask(config)}


def _series(config: Any) -> Inputs:
    names = "past_values past_time_features past_observed_mask future_values future_time_features"
    return {name: made(name, config) for name in names.split()}


def _queries(config: Any) -> Inputs:
    return {name: made(name, config) for name in ("query_embeds", "encoder_hidden_states")}


def _clap(config: Any) -> Inputs:
    audio = config.audio_config
    return {
        **_text(config),
        "input_features": randn(2, ITEMS, 1, audio.spec_size * 4, audio.num_mel_bins),
    }


def _codebooks(config: Any) -> Inputs:
    """Words for an encoder, several codes a step for a decoder."""
    channels = setting(config, "num_channels", 9)
    return {**_text(config), "decoder_input_ids": randint(2, 200, ITEMS, 7, channels)}


def _kyutai(config: Any) -> Inputs:
    """A word and a code of each codebook a step."""
    codes = randint(2, 200, ITEMS, TOKENS, config.num_codebooks + 1)
    return {"input_ids": codes, "attention_mask": mask(config)}


def _pi0(config: Any) -> Inputs:
    """Words, the picture of one camera, and the actions so far."""
    return {
        **_text(config),
        "pixel_values": image(config)["pixel_values"][:, None],
        "pixel_attention_mask": torch.ones(ITEMS, 1, dtype=torch.long),
        "action_embeds": made("action_embeds", config),
    }


def _musicgen(config: Any) -> Inputs:
    """A row of codes for each codebook and text."""
    books = setting(config, "num_codebooks", 4)
    return {**_text(config), "decoder_input_ids": randint(2, 200, ITEMS * books, 7)}


def _small_image(config: Any) -> Inputs:
    return {"pixel_values": randn(3, ITEMS, 3, 32, 32)}


def _idefics(config: Any) -> Inputs:
    return {
        **_text(config),
        "pixel_values": image(config)["pixel_values"][:, None],
        "image_attention_mask": torch.ones(ITEMS, TOKENS, 1, dtype=torch.long),
    }


def _inkling_vision(config: Any) -> Inputs:
    side = config.patch_size * config.spatial_merge_size
    return {
        "pixel_values": randn(3, SIDE * SIDE, side, side, config.num_channels),
        "image_grid_thw": torch.tensor([[1, SIDE, SIDE]]),
    }


def _muse_vision(config: Any) -> Inputs:
    length = config.patch_temporal * 3 * config.patch_size**2
    return {
        "pixel_values": randn(3, SIDE * SIDE, length),
        "grid_thw": torch.tensor([[1, SIDE, SIDE]]),
    }


def _video_llama_vision(config: Any) -> Inputs:
    length = 3 * config.patch_size**2
    return {
        "pixel_values": randn(3, SIDE * SIDE, length),
        "grid_thw": torch.tensor([[1, SIDE, SIDE]]),
        "merge_sizes": torch.tensor([2]),
    }


def _codec_with_features(config: Any) -> Inputs:
    """A sound and the features that are made of it, 160 wide."""
    return {
        "input_values": randn(2, ITEMS, 1, 3840),
        "input_features": randn(3, ITEMS, 12, 160),
    }


def _mono(config: Any) -> Inputs:
    return {"input_values": randn(2, ITEMS, 1, 3840)}


def _speecht5(config: Any) -> Inputs:
    """What its encoder and decoder take after their prenets."""
    return {
        "input_values": randn(2, ITEMS, TOKENS, config.hidden_size),
        "decoder_input_values": randn(3, ITEMS, 7, config.hidden_size),
    }


def _tvp(config: Any) -> Inputs:
    """One item: its positions do not go with more."""
    side = config.max_img_size
    text = {name: tensor[:1] for name, tensor in _text(config).items()}
    return {**text, "pixel_values": randn(3, 1, config.num_frames, 3, side, side)}


def _udop(config: Any) -> Inputs:
    return {
        **_text(config),
        "bbox": made("bbox", config) / 32,
        "decoder_input_ids": randint(2, 200, ITEMS, 7),
    }


def _voxtral_realtime(config: Any) -> Inputs:
    bins = setting(config, "num_mel_bins", 128)
    return {**_text(config), "input_features": randn(2, ITEMS, bins, 8 * TOKENS)}


def _voxtral_realtime_text(config: Any) -> Inputs:
    """Words, and the time that the whole model tells its text model."""
    return {**_text(config), "t_cond": randn(4, ITEMS, 1, config.hidden_size)}


def _gemma3n_audio(config: Any) -> Inputs:
    return {
        "audio_mel": randn(2, ITEMS, 64, config.input_feat_size),
        "audio_mel_mask": torch.zeros(ITEMS, 64, dtype=torch.bool),
    }


def _fun_asr(config: Any) -> Inputs:
    return {
        "input_features": randn(2, ITEMS, 20, 560),
        "input_features_mask": torch.ones(ITEMS, 20, dtype=torch.long),
    }


def _granite_speech(config: Any) -> Inputs:
    return {"input_features": randn(2, ITEMS, 20, 4 * setting(config, "num_mel_bins", 80))}


def _seggpt(config: Any) -> Inputs:
    return {
        name: randn(3, ITEMS, 3, 32, 32)
        for name in ("pixel_values", "prompt_pixel_values", "prompt_masks")
    }


def _oneformer(config: Any) -> Inputs:
    length = setting(config, "task_seq_len", 77)
    return {
        "pixel_values": randn(3, ITEMS, 3, 64, 64),
        "task_inputs": randint(4, 100, ITEMS, length),
    }


def _xclip(config: Any) -> Inputs:
    frames = config.vision_config.num_frames
    pixels = image(config)["pixel_values"]
    return {**_text(config), "pixel_values": pixels[:, None].repeat(1, frames, 1, 1, 1)}


def _kosmos2(config: Any) -> Inputs:
    places = torch.zeros(ITEMS, TOKENS, dtype=torch.bool)
    places[:, 1 : 1 + config.latent_query_num] = True
    return {**_text(config), **image(config), "image_embeds_position_mask": places}


def _latents(config: Any) -> Inputs:
    return {"latents": randn(2, ITEMS, setting(config, "hidden_size", 32), 8)}


def _muse_assistant(config: Any) -> Inputs:
    width = config.hidden_size
    return {
        "noise_embeds": randn(2, ITEMS, 4, width),
        "context_hidden_states": randn(3, ITEMS, TOKENS, 2 * width),
    }


GIVEN: dict[str, Callable[[Any], Inputs]] = {
    **dict.fromkeys(("autoformer", "informer", "time_series_transformer"), _series),
    "blip_2_qformer": _queries,
    "clap": _clap,
    "dia": _codebooks,
    "pi0": _pi0,
    "kyutai_speech_to_text": _kyutai,
    **dict.fromkeys(("musicgen", "musicgen_melody"), _musicgen),
    "depth_pro": _small_image,
    "lw_detr": lambda c: {"pixel_values": randn(3, ITEMS, 3, 64, 64)},
    **dict.fromkeys(
        ("maskformer", "mask2former"), lambda c: {"pixel_values": randn(3, ITEMS, 3, 64, 64)}
    ),
    "oneformer": _oneformer,
    "idefics": _idefics,
    "inkling2_vision": _inkling_vision,
    **dict.fromkeys(("muse_glimmer_vision", "muse_spark_vision"), _muse_vision),
    "muse_glimmer_assistant": _muse_assistant,
    "video_llama_3_vision": _video_llama_vision,
    **dict.fromkeys(("neucodec", "xcodec2"), _codec_with_features),
    "xcodec": _mono,
    "speecht5": _speecht5,
    "tvp": _tvp,
    "udop": _udop,
    "voxtral_realtime": _voxtral_realtime,
    "voxtral_realtime_text": _voxtral_realtime_text,
    "gemma3n_audio": _gemma3n_audio,
    "fun_asr_nano_encoder": _fun_asr,
    **dict.fromkeys(("granite_speech5_encoder", "granite_speech5_ctc"), _granite_speech),
    "seggpt": _seggpt,
    "xclip": _xclip,
    "kosmos-2": _kosmos2,
    **dict.fromkeys(("mimi_decoder", "pocket_tts_audio_tokenizer_decoder"), _latents),
}
"""Model type -> its inputs."""
