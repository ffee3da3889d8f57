"""Attention of tiny random models whose heads are opened, of families beyond those of `tiny`."""

from __future__ import annotations

from functools import cache

import torch
from transformers import (
    BitNetConfig,
    BitNetModel,
    Gemma2Config,
    Gemma2Model,
    GptOssConfig,
    GptOssModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedModel,
    T5Config,
    T5EncoderModel,
)

import bertlens as bl
from bertlens import capture
from bertlens.attention.capture_cache import CaptureCache
from bertlens.attention.captured import CapturedWeights
from tests.python.tiny import tiny, tokenizer_for

TEXT = "At the store, I bought fresh strawberries."

EIGHT = ["bert", "roberta", "distilbert", "albert", "modernbert", "gpt2", "llama", "t5"]

_DECODER = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 48,
    "vocab_size": 420,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
}


def _model(family: str) -> PreTrainedModel:
    match family:
        case "t5":
            return T5EncoderModel(
                T5Config(d_model=32, d_kv=8, num_layers=3, num_heads=4, d_ff=48, vocab_size=420)
            )
        case "gemma2":
            return Gemma2Model(Gemma2Config(**_DECODER, attn_logit_softcapping=2.0))
        case "gpt_oss":
            return GptOssModel(
                GptOssConfig(
                    **_DECODER,
                    num_local_experts=4,
                    num_experts_per_tok=2,
                    rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
                )
            )
        case "bitnet":
            sizes = {name: size for name, size in _DECODER.items() if name != "head_dim"}
            return BitNetModel(BitNetConfig(**sizes))
        case "mpnet":
            return MPNetModel(
                MPNetConfig(
                    hidden_size=32,
                    num_hidden_layers=2,
                    num_attention_heads=4,
                    intermediate_size=48,
                    vocab_size=420,
                )
            )
    return tiny(family)


@cache
def lens_for(family: str) -> bl.Lens:
    torch.manual_seed(1)
    model = _model(family).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Else heads are nearly uniform, and biases and sinks nothing.
            if "sinks" in name or name.endswith("bias"):
                parameter.normal_()
            elif family not in EIGHT[:7] and parameter.dim() > 1 and "embed" not in name:
                parameter.mul_(8)
    return bl.Lens(model, tokenizer_for(family))


def attention_of(family: str, text: str = TEXT, *, exact: bool = False) -> bl.Attention:
    """The attention of a text, of the model's first kind."""
    lens = lens_for(family)
    encoding = lens.encode(text)
    inputs = lens.tensors([encoding])
    replay = capture.Replay(lens.model, inputs)
    run = CaptureCache(replay, exact=exact)
    source = CapturedWeights(run, run.stored().plan.kinds[0])
    return bl.Attention(source, encoding.tokens, encoding.words, lens=lens)
