"""Tiny models that pack several pictures into one row, and what their eager functions say."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    Glm4vVisionConfig,
    Glm4vVisionModel,
    Qwen2_5_VLVisionConfig,
    Qwen2VLVisionConfig,
    Qwen3VLVisionConfig,
    Qwen3VLVisionModel,
)
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import (
    Qwen2_5_VisionTransformerPretrainedModel,
)
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VisionTransformerPretrainedModel

_SIZES: dict[str, Any] = {"depth": 3, "num_heads": 4, "patch_size": 4, "temporal_patch_size": 1}


def tower(family: str) -> Any:
    """A random vision tower of 3 layers x 4 heads whose patches are 3 x 4 x 4 numbers."""
    torch.manual_seed(0)
    width = {"hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 48}
    made = {
        "qwen2_vl": lambda: Qwen2VisionTransformerPretrainedModel(
            Qwen2VLVisionConfig(embed_dim=32, hidden_size=32, **_SIZES)
        ),
        "qwen2_5_vl": lambda: Qwen2_5_VisionTransformerPretrainedModel(
            # Windows of 2 x 2 patches in layers 0 and 2; layer 1 sees a whole picture.
            Qwen2_5_VLVisionConfig(**width, window_size=8, fullatt_block_indexes=[1], **_SIZES)
        ),
        "qwen3_vl": lambda: Qwen3VLVisionModel(
            Qwen3VLVisionConfig(
                **width, num_position_embeddings=16, deepstack_visual_indexes=[0], **_SIZES
            )
        ),
        "glm4v": lambda: Glm4vVisionModel(Glm4vVisionConfig(**width, image_size=16, **_SIZES)),
    }[family]()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() == 2:
                parameter.mul_(8)
    return made.eval()


TOWERS = ["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "glm4v"]


def two_pictures() -> dict[str, Tensor]:
    """A picture of 4 x 4 patches and one of 2 x 4, in one row of 24."""
    generator = torch.Generator().manual_seed(1)
    patches = torch.randn(24, 3 * 4 * 4, generator=generator)
    return {"hidden_states": patches, "grid_thw": torch.tensor([[1, 4, 4], [1, 2, 4]])}


def own_calls(
    monkeypatch: pytest.MonkeyPatch, model: nn.Module, inputs: Mapping[str, Any]
) -> list[tuple[str, Tensor]]:
    """(module path, weights) of every call of the family's eager function, without bertlens."""
    seen: list[tuple[str, Tensor]] = []
    paths = {id(module): path for path, module in model.named_modules()}
    file = sys.modules[type(model).__module__]
    function = file.eager_attention_forward  # type: ignore[attr-defined]

    def keeping(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        output, weights = function(module, *args, **kwargs)
        seen.append((paths[id(module)], weights))
        return output, weights

    model.set_attn_implementation("eager")  # type: ignore[operator]
    with monkeypatch.context() as patched, torch.no_grad():
        patched.setattr(file, "eager_attention_forward", keeping)
        model(**inputs)
    return seen
