"""A tiny random model of every family that transformers has, as far as a general recipe goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from tests.python.families import forward_inputs
from tests.python.families.tiny_config import (
    UnmadeError,
    config_for,
    config_of_part,
    counted,
    linked,
    shrunk,
)

FAMILIES: tuple[str, ...] = tuple(sorted(MODEL_MAPPING_NAMES))

MOST_PARAMETERS = 100_000_000
MOST_WIDE_PARAMETERS = 25_000_000
"""Where widths are as they are: larger ones take seconds for every shape of inputs tried."""

CLASSES = {
    "evolla": "EvollaModel",
    "musicgen": "MusicgenForConditionalGeneration",
    "musicgen_melody": "MusicgenMelodyForConditionalGeneration",
    "voxtral_realtime_text": "VoxtralRealtimeTextModel",
}
"""Families whose config the auto class does not take, or gives to another class."""

MOST_SECONDS = 30
"""How long, on one core, recipes are tried for one family."""


@dataclass(frozen=True)
class Recipe:
    """How a tiny model of a family is made.

    Attributes:
        config: makes its config.
        inputs: two texts, pictures or sounds with which it runs.
        part: the part of the model it is, "" for the whole.
    """

    config: Callable[[], PreTrainedConfig]
    inputs: dict[str, Tensor]
    part: str = ""


@dataclass(frozen=True)
class TinyModel:
    """A tiny model of a family, and inputs for it: two texts, the second padded."""

    model: Any
    inputs: dict[str, Tensor]
    part: str = ""

    @property
    def is_batch(self) -> bool:
        """Whether there are two items: a picture that is a row of patches comes alone."""
        return all(len(tensor) == 2 for tensor in self.inputs.values())

    @property
    def one_text(self) -> dict[str, Tensor]:
        """The first text alone, which has no padding."""
        if not self.is_batch:
            return self.inputs
        return {name: tensor[:1] for name, tensor in self.inputs.items()}


class UntriedError(Exception):
    """The general recipe does not make a tiny model of this family."""


def tiny_model(family: str, *, implementation: str = "sdpa") -> TinyModel:
    """A tiny random model in eval mode, and inputs.

    Raises:
        UntriedError: the recipe does not fit this family; the message says where it stopped.
    """
    recipe = _recipe_for(family)
    return TinyModel(_model(recipe.config, implementation), recipe.inputs, recipe.part)


@cache
def _recipe_for(family: str) -> Recipe:
    reasons: list[str] = []
    late = time.process_time() + MOST_SECONDS
    for make, part in _configs(family):
        if time.process_time() > late:
            break
        try:
            model = _model(make, "sdpa")  # used for this alone: what runs may change itself
            return Recipe(make, forward_inputs.that_run(model), part)
        except forward_inputs.NoInputsError as error:
            reasons.append(f"inputs{_without_attention(model)}: {error}")
        except UntriedError as error:
            reasons.append(str(error))
        except UnmadeError:
            continue
        except Exception as error:
            reasons.append(f"config: {forward_inputs.first_line(error)}")
    raise UntriedError(reasons[0])


def _without_attention(model: nn.Module) -> str:
    names = {type(module).__name__.lower() for module in model.modules()}
    return "" if any("attention" in name for name in names) else " of no attention"


def _configs(family: str) -> Iterator[tuple[Callable[[], PreTrainedConfig], str]]:
    """Configs from the smallest to the safest, and the part of the family they make."""
    yield partial(config_for, family, shrunk), ""
    yield partial(config_for, family, linked), ""
    yield partial(config_for, family, counted), ""
    for part in ("text_config", "language_config", "llm_config", "decoder"):
        yield partial(config_of_part, family, part), "text"


def _model(make: Callable[[], PreTrainedConfig], implementation: str) -> Any:
    with torch.device("meta"):
        size = sum(p.numel() for p in _of_class(make()).parameters())
    wide = getattr(make, "args", ())[-1:] == (counted,)
    if size > (MOST_WIDE_PARAMETERS if wide else MOST_PARAMETERS):
        raise UntriedError(f"{size:,} parameters")
    torch.manual_seed(0)
    try:
        model = _of_class(make(), attn_implementation=implementation)
    except ValueError:  # a family without this implementation
        torch.manual_seed(0)
        model = _of_class(make())
    _roughen(model)
    model.eval()
    return model


def _of_class(config: PreTrainedConfig, **options: Any) -> Any:
    own = CLASSES.get(config.model_type)
    cls: Any = AutoModel
    if own is not None:
        file = type(config).__module__.replace("configuration_", "modeling_")
        return getattr(import_module(file), own)._from_config(config, **options)
    return cls.from_config(config, **options)


def _roughen(model: nn.Module) -> None:
    """Larger weights than the usual initial ones, with which every head is nearly uniform."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "embed" not in name and parameter.is_floating_point():
                scale = 0.6 / max(parameter.shape[1], 1) ** 0.5 * 3
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
