"""A model's own inputs as an Attention: ids, images and sounds, each position under its label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from bertlens import capture
from bertlens.attention.attention import Attention
from bertlens.attention.capture_cache import CaptureCache
from bertlens.attention.prediction import predict
from bertlens.lens.forward import joined
from bertlens.text.encoding import Encoding
from bertlens.text.positions import (
    Placeholders,
    Side,
    labelled,
    numbered,
    of_ids,
    of_image,
    of_sound,
)

if TYPE_CHECKING:
    from bertlens.lens.lens import Lens

OF_TEXT = frozenset({"input_ids", "attention_mask", "token_type_ids", "position_ids"})
"""Inputs of which a text alone can consist."""

MEL_SECONDS = 0.01
"""A frame of filter banks, where the feature extractor says nothing of its hop."""

MOST_BEFORE = 5
"""An image's patches have at most so many positions before them, such as [CLS] and registers."""


def attention_of_inputs(
    lens: Lens, inputs: Mapping[str, Any], *, exact: bool = False, keep: bool = False
) -> Attention:
    """The attention of a model's own inputs: see `Lens.__call__`.

    Raises:
        ValueError: the inputs are a batch of several texts, images or sounds.
    """
    own = {name: _tensor(value, lens.device) for name, value in inputs.items()}
    _check_alone(own, lens.takes)
    capturing = CaptureCache(capture.Replay(lens.model, own), exact=exact, keep=keep)
    stored = capturing.stored()
    read = _Reader(lens, own, moved=stored.plan.by_windows or stored.plan.pools)
    sides = {kind: read.sides(kind, layers[0].shape) for kind, layers in stored.kinds.items()}
    source, target = read.text("input_ids"), read.text("decoder_input_ids")
    encoding = source or Encoding(inputs={}, tokens=(), words=(), text="")
    texts = (encoding.text, encoding.text_pair if target is None else target.text)
    common: dict[str, Any] = {
        "model_name": lens.name,
        "dtype": lens.dtype,
        "text": texts[0],
        "text_pair": texts[1],
        "notes": (*stored.notes, *lens.notes),
        # Only of a text alone can another be typed in its place.
        "lens": lens if source is not None and OF_TEXT.issuperset(own) else None,
        "prediction": predict(
            capture.answers(lens.model), stored.logits, lens.config, encoding.tokens, texts
        ),
    }
    return joined(lens, capturing, 0, True, sides, common)


class _Reader:
    """What is known of the positions that a model's inputs make.

    Args:
        moved: whether the model puts patches in an order or number of its own.
    """

    def __init__(self, lens: Lens, inputs: Mapping[str, Any], *, moved: bool) -> None:
        self._lens = lens
        self._inputs = inputs
        self._moved = moved
        self._texts: dict[str, Encoding | None] = {}

    def sides(self, kind: str, shape: tuple[int, int]) -> tuple[Side, Side]:
        """Tokens and words of the rows and columns of a kind of attention."""
        rows = self._side(kind if kind != "cross" else "decoder", shape[0])
        if kind != "cross" and shape[0] == shape[1]:
            return rows, rows
        return rows, self._side("encoder", shape[1])

    def text(self, name: str) -> Encoding | None:
        """Ids of that name as text; None where there are none, or no tokenizer."""
        if name not in self._texts:
            self._texts[name] = self._encoding(name)
        return self._texts[name]

    def _side(self, part: str, n: int) -> Side:
        for side in self._candidates(part, n):
            if len(side[0]) == n:
                return side
        return numbered(n)

    def _candidates(self, part: str, n: int) -> Iterator[Side]:
        """What n positions of a part of the model may be, the surest first."""
        sources: dict[str, tuple[Callable[[int], Side | None], ...]] = {
            "decoder": (self._decoder_text, self._source_text),
            "text": (self._source_text,),
            "vision": (self._image,),
        }
        others = (self._source_text, self._image, self._sound, self._text_and_image)
        for source in sources.get(part, others):
            side = source(n)
            if side is not None:
                yield side

    def _decoder_text(self, n: int) -> Side | None:
        found = self.text("decoder_input_ids")
        return None if found is None else (found.tokens, found.words)

    def _source_text(self, n: int) -> Side | None:
        found = self.text("input_ids")
        return None if found is None else (found.tokens, found.words)

    def _text_and_image(self, n: int) -> Side | None:
        """A text with an image's positions after it."""
        found = self.text("input_ids")
        if found is None or "pixel_values" not in self._inputs or len(found) >= n:
            return None
        tokens, words = labelled([f"image {i}" for i in range(n - len(found))])
        later = (replace(token, word=token.word + len(found.words)) for token in tokens)
        own = (replace(word, tokens=(len(found) + i,)) for i, word in enumerate(words))
        return (*found.tokens, *later), (*found.words, *own)

    def _image(self, n: int) -> Side | None:
        grid = self._patches()
        before = None if grid is None else n - grid[0] * grid[1]
        if self._moved or grid is None or before is None or not 0 <= before <= MOST_BEFORE:
            return None
        registers = getattr(self._vision_config(), "num_register_tokens", 0) or 0
        names = ["[CLS]", *(f"register {i}" for i in range(registers))]
        names += [f"special {i}" for i in range(len(names), before)]
        return of_image(*grid, names[:before])

    def _sound(self, n: int) -> Side | None:
        seconds = self._seconds(n)
        return None if seconds is None or self._moved else of_sound(n, seconds)

    def _encoding(self, name: str) -> Encoding | None:
        tokenizer, ids = self._tokenizer(), self._inputs.get(name)
        if tokenizer is None or not isinstance(ids, Tensor) or ids.dim() != 2:
            return None
        numbers = ids[0].tolist()
        if not numbers or not all(0 <= number < len(tokenizer) for number in numbers):
            return None
        types = self._inputs.get("token_type_ids") if name == "input_ids" else None
        segments = types[0].tolist() if isinstance(types, Tensor) and types.dim() == 2 else None
        return of_ids(tokenizer, numbers, segments, self._placeholders())

    def _placeholders(self) -> dict[int, Placeholders]:
        """Ids in a text that stand for an image's or a sound's positions."""
        config = self._lens.config
        found = {}
        for what, names in {
            "image": ("image_token_id", "image_token_index"),
            "video": ("video_token_id", "video_token_index"),
            "sound": ("audio_token_id", "audio_token_index"),
        }.items():
            for name in names:
                number = getattr(config, name, None)
                if isinstance(number, int):
                    grids = self._merged_grids() if what == "image" else ()
                    found[number] = Placeholders(what, grids)
        return found

    def _merged_grids(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of each image, of models that take images of any size."""
        sizes = self._inputs.get("image_grid_thw")
        merged = getattr(self._vision_config(), "spatial_merge_size", 1)
        if not isinstance(sizes, Tensor):
            return ()
        return tuple((int(h) // merged, int(w) // merged) for _, h, w in sizes.tolist())

    def _tokenizer(self) -> Any:
        """The tokenizer, also that of a processor."""
        own = self._lens.tokenizer
        return own if hasattr(own, "convert_ids_to_tokens") else getattr(own, "tokenizer", None)

    def _vision_config(self) -> Any:
        config = self._lens.config
        for name in ("vision_config", "encoder"):
            config = getattr(config, name, None) or config
        return config

    def _patches(self) -> tuple[int, int] | None:
        """Rows and columns of an image's patches."""
        pixels = self._inputs.get("pixel_values")
        size = getattr(self._vision_config(), "patch_size", None)
        sizes = (size, size) if isinstance(size, int) else size
        if not isinstance(pixels, Tensor) or pixels.dim() != 4:
            return None
        if not isinstance(sizes, list | tuple) or len(sizes) != 2 or min(sizes) < 1:
            return None
        height, width = pixels.shape[-2:]
        return height // int(sizes[0]), width // int(sizes[1])

    def _seconds(self, n: int) -> float | None:
        """Seconds from one of n positions of a sound to the next."""
        own = self._lens.tokenizer
        extractor = getattr(own, "feature_extractor", own)
        rate = float(getattr(extractor, "sampling_rate", None) or 0)
        samples, features = self._inputs.get("input_values"), self._inputs.get("input_features")
        if not rate:
            return None
        if isinstance(samples, Tensor) and samples.dim() == 2:
            step = getattr(self._lens.config, "inputs_to_logits_ratio", None)
            if isinstance(step, int) and abs(samples.shape[1] / step - n) < 2:
                return step / rate
            return None
        if isinstance(features, Tensor) and features.dim() == 3:
            bands = getattr(extractor, "feature_size", None) or getattr(
                extractor, "num_mel_bins", None
            )
            frames = features.shape[1 if features.shape[2] == bands else 2]
            step = round(frames / n)
            hop = getattr(extractor, "hop_length", None)
            seconds = MEL_SECONDS * getattr(extractor, "stride", 1)
            frame = float(hop / rate if hop else seconds)
            return step * frame if step >= 1 and abs(frames / step - n) < 2 else None
        return None


def _tensor(value: Any, device: torch.device) -> Any:
    """A tensor on the model's device, of the same pass however often it is made."""
    if isinstance(value, list) and value and all(isinstance(item, int) for item in value):
        value = torch.tensor([value], device="cpu")
    # The caller may write into tensors of theirs.
    return value.to(device, copy=True) if isinstance(value, Tensor) else value


def _check_alone(inputs: Mapping[str, Any], main: str) -> None:
    # Dimensions of one text, sound or image of a batch of them; parts of models take others.
    sizes = {"input_ids": 2, "decoder_input_ids": 2, "input_values": 2, "input_features": 3}
    for name, dims in {**sizes, "pixel_values": 4}.items():
        value = inputs.get(name) if name in (main, "decoder_input_ids") else None
        if isinstance(value, Tensor) and value.dim() == dims and len(value) != 1:
            raise ValueError(
                f"inputs= holds a batch of {len(value)}: {name} is {tuple(value.shape)}. Give one, "
                "such as {name: tensor[:1] for name, tensor in inputs.items()}."
            )
