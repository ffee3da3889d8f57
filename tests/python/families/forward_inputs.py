"""Inputs of a forward pass, by the names it takes and the sizes its config asks for."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from tests.python.families.arguments import (
    MAKERS,
    bins,
    image,
    made,
    mask,
    patch_batch,
    patch_squares,
    patches,
    setting,
    spectrogram,
    words,
)
from tests.python.families.sample_arguments import GIVEN

Inputs = dict[str, Tensor]

MOST_TRIES = 40
MOST_SECONDS = 10


class NoInputsError(Exception):
    """No inputs were found with which the model runs; the message is the first complaint."""


def that_run(model: Any) -> Inputs:
    """Inputs with which the model runs: two items, of 12 and 8 tokens where they are texts.

    Starts from what the model names as its main input and what forward() cannot do without, then
    adds what the complaint names, then other shapes and arguments one by one.

    Raises:
        NoInputsError: the model runs with none of them.
    """
    complaints: list[str] = []
    late = time.process_time() + MOST_SECONDS
    for inputs in _candidates(model, complaints):
        try:
            with torch.no_grad():
                forward(model, inputs)
        except Exception as error:
            complaints.append(first_line(error))
            if len(complaints) >= MOST_TRIES or time.process_time() > late:
                break
        else:
            return inputs
    raise NoInputsError(complaints[0])


def forward(model: Any, inputs: Inputs, **options: Any) -> Any:
    """Run a model without a cache of keys and values, which one pass has no use for."""
    if "use_cache" in inspect.signature(model.forward).parameters:
        options["use_cache"] = False
    return model(**inputs, **options)


def first_line(error: Exception) -> str:
    said = next((line.strip() for line in str(error).split("\n") if line.strip()), "")
    return f"{type(error).__name__}: {said}"[:300]


def _candidates(model: Any, complaints: list[str]) -> Iterator[Inputs]:
    config = model.config
    if config.model_type in GIVEN:
        yield GIVEN[config.model_type](config)
    first = by_main_input(model)
    yield first
    yield {**first, **image(config)}
    yield _frames(first, config)
    yield _turned(first)
    taken = inspect.signature(model.forward).parameters
    needed = {
        name
        for name, parameter in taken.items()
        if parameter.default is parameter.empty
        and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }
    base = {name: value for name, value in first.items() if name in taken}
    base |= {n: made(n, config) for n in taken if n in needed and n in MAKERS and n not in base}
    yield base
    for _ in range(4):  # what a complaint names is added, until it names nothing new
        said = complaints[-1]
        named = [n for n in taken if n in said and n in MAKERS and n not in base]
        if not named:
            break
        base = {**base, **{n: made(n, config) for n in named}}
        yield base
    yield from _reshaped(base, config)
    others = [n for n in taken if n in MAKERS and n not in base and n != "inputs_embeds"]
    for name in others:
        yield {**base, name: made(name, config)}
    alone = [n for n in others if n in ("pixel_values", "input_ids", "input_features")]
    for name in alone:
        rest = {n: made(n, config) for n in needed if n in MAKERS}
        yield {name: made(name, config), **rest}
    for kept in (others, [n for n in others if n not in ("input_features", "input_values")]):
        everything = {**base, **{n: made(n, config) for n in kept}}
        yield everything
        yield from _reshaped(everything, config)


def by_main_input(model: Any) -> Inputs:
    """Two texts of 12 and 8 tokens, or pictures or sounds, by what the model takes first."""
    config = model.config
    main = model.main_input_name
    if main == "pixel_values":
        return image(config)
    if main in ("input_features", "input_values"):
        found = {main: made(main, config)}
    else:
        found = {"input_ids": words(config), "attention_mask": mask(config)}
    if getattr(config, "is_encoder_decoder", False):
        found["decoder_input_ids"] = made("decoder_input_ids", config)
    return found


def _reshaped(inputs: Inputs, config: Any) -> Iterator[Inputs]:
    """The same inputs in the other shapes that families take them in."""
    if "pixel_values" in inputs and inputs.keys() & _PATCHED:
        yield {**inputs, "pixel_values": patches(config)}
        yield {**inputs, "pixel_values": patch_batch(config)}
        yield {**inputs, "pixel_values": patch_squares(config)}
    if "input_values" in inputs and bins(config) != 80:
        yield {**inputs, "input_values": spectrogram(config)}
    if "input_features" in inputs:
        steps = {n: v[:, :100] for n, v in inputs.items() if n.endswith("mask")}
        yield {**inputs, **steps, "input_features": inputs["input_features"][..., :100]}
        yield {**inputs, "input_features": spectrogram(config)[:, None]}
    for name, shapes in _SHAPES.items():
        if name in inputs:
            for shaped in shapes:
                try:
                    yield {**inputs, name: shaped(inputs[name])}
                except RuntimeError:
                    continue


_PATCHED = frozenset(
    "grid_thw image_grid_thw spatial_shapes tgt_sizes target_sizes pixel_position_ids "
    "image_position_ids".split()
)
"""Arguments beside which pictures are given as patches."""

_SHAPES: dict[str, tuple[Callable[[Tensor], Tensor], ...]] = {
    "input_values": (
        lambda x: x[:, None],
        lambda x: x[:, :3840],
        lambda x: x[:, None, :3840],
    ),
    "input_features": (
        lambda x: x.transpose(1, 2),
        lambda x: x[:, None].transpose(2, 3),
        lambda x: x.repeat(1, 2, 1).transpose(1, 2),
    ),
    "pixel_values": (
        lambda x: x[:, None].repeat(1, 2, 1, 1, 1),
        lambda x: x[:, None],
        lambda x: x.repeat(1, 1, 4, 4),
    ),
    "pixel_values_videos": (lambda x: x.transpose(1, 2),),
    "attention_mask": (lambda x: x.bool(),),
    "input_ids": (lambda x: x[..., None].repeat(1, 1, 9), lambda x: x[:, None].repeat(1, 8, 1)),
}


def _frames(inputs: Inputs, config: Any) -> Inputs:
    """The picture again and again, as a film."""
    n = setting(config, "num_frames", 8)
    return {
        name: value[:, None].repeat(1, n, 1, 1, 1) if name == "pixel_values" else value
        for name, value in inputs.items()
    }


def _turned(inputs: Inputs) -> Inputs:
    """A sound's features with time first."""
    return {
        name: value.transpose(1, 2) if name == "input_features" else value
        for name, value in inputs.items()
    }
