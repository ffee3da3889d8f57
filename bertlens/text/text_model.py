"""What a model is given: texts as tokens and tensors, images, sounds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bertlens import capture
from bertlens.errors import VocabularyError
from bertlens.text.batch import padded
from bertlens.text.edges import knocked_out
from bertlens.text.encoding import Encoding, encode, started


class TextModel:
    """A model and its tokenizer, as far as it takes to give the model a text; base of Lens."""

    def __init__(self, model: Any, tokenizer: Any = None, *, name: str | None = None) -> None:
        if not isinstance(model, nn.Module) and isinstance(
            getattr(model, "model", None), nn.Module
        ):
            pipeline, model = model, model.model
            tokenizer = tokenizer or _processor_of(pipeline, capture.takes(model))
        if not isinstance(model, nn.Module):
            raise TypeError(
                f"The model must be a loaded transformers model, not {type(model).__name__}. "
                "To load one by name use Lens.from_pretrained(name)."
            )
        if tokenizer is None:
            tokenizer = getattr(model, "tokenizer", None)
        self.takes = capture.takes(model)
        if self.takes == "input_ids":
            tokenizer = _tokenizer_of(tokenizer)
        self.model = model
        self.tokenizer = tokenizer
        loaded_from = getattr(self.config, "name_or_path", "")
        self.name: str = name or shown_name(loaded_from or type(model).__name__)
        self.lock = capture.model_lock(model)

    def encode(
        self,
        text: str | None = None,
        text_pair: str | None = None,
        *,
        words: Sequence[str] | None = None,
        words_pair: Sequence[str] | None = None,
        truncate: bool = False,
    ) -> Encoding:
        """Tokenize without running the model; arguments and errors as in a call."""
        given, limit = self._one_text(text, words), self.max_tokens
        if text is not None:
            self._one_text(text_pair or "", None)
            if words_pair is not None:
                raise TypeError("words_pair goes with words, text_pair with text.")
            return encode(self.tokenizer, given, text_pair, limit=limit, truncate=truncate)
        if text_pair is not None:
            raise TypeError("text_pair goes with text, words_pair with words.")
        if words_pair is not None:
            self._one_text(None, words_pair)
        return encode(self.tokenizer, given, words_pair, limit=limit, truncate=truncate)

    @staticmethod
    def _one_text(text: object, words: object) -> str | Sequence[str]:
        """A text or a list of words, whichever was given."""
        if (text is None) == (words is None):
            raise TypeError("Give either a text or words=[...].")
        if words is None:
            if not isinstance(text, str):
                raise TypeError(
                    f"The text must be a string, not {type(text).__name__}. "
                    "Pre-split words go to words=[...]."
                )
            return text
        if isinstance(words, str) or not isinstance(words, Sequence):
            raise TypeError("words must be a list of strings, not one string.")
        return words

    def encode_target(self, target: str | Sequence[str], *, truncate: bool = False) -> Encoding:
        """What an encoder-decoder reads while it writes `target`: its start, then the target."""
        if not isinstance(target, str | Sequence):
            raise TypeError(f"The target must be a string, not {type(target).__name__}.")
        encoding = encode(
            self.tokenizer, target, limit=self.max_tokens, truncate=truncate, target=True
        )
        return self.encode_again(encoding)

    def encode_again(self, encoding: Encoding) -> Encoding:
        """What a decoder reads while it writes an encoded text: its start, and the text."""
        start = capture.decoder_start(self.model, encoding.inputs["input_ids"])
        return started(encoding, start, str(self.tokenizer.convert_ids_to_tokens(start)))

    def _processed(self, given: Any, target: str | None = None) -> dict[str, Any]:
        """An image or a sound as the model takes it, and what is written about it."""
        if self.tokenizer is None:
            raise TypeError(
                f"{type(self.model).__name__} takes {self.takes}, not text. Give the Lens an image "
                "processor or feature extractor, or call it with inputs={...}."
            )
        extract = self.tokenizer
        for name in ("feature_extractor", "image_processor"):
            extract = getattr(self.tokenizer, name, None) or extract
        rate = getattr(extract, "sampling_rate", None)
        options = {} if rate is None else {"sampling_rate": rate}
        inputs = dict(extract(given, return_tensors="pt", **options))
        if target is not None:
            inputs["decoder_input_ids"] = self._written(target)
        return inputs

    def _written(self, target: str) -> list[int]:
        """Ids of what a decoder reads while it writes about an image or a sound."""
        own = self.tokenizer
        tokenizer = own if hasattr(own, "convert_ids_to_tokens") else getattr(own, "tokenizer", own)
        if not self.translates or not hasattr(tokenizer, "convert_ids_to_tokens"):
            lack = "tokenizer" if self.translates else "decoder"
            what = (
                "Give the Lens its processor, which has both."
                if self.translates
                else "Leave out the text."
            )
            raise TypeError(
                f"{type(self.model).__name__} has no {lack} for a text beside its "
                f"{self.takes}. {what}"
            )
        if not isinstance(target, str):
            raise TypeError(f"The target must be a string, not {type(target).__name__}.")
        encoding = encode(tokenizer, target, limit=capture.most_written(self.model), target=True)
        start = capture.decoder_start(self.model, encoding.inputs["input_ids"])
        piece = str(tokenizer.convert_ids_to_tokens(start))
        return started(encoding, start, piece).inputs["input_ids"]

    def tensors(
        self, encodings: Sequence[Encoding], targets: Sequence[Encoding] | None = None
    ) -> dict[str, Tensor]:
        """A batch for the model, [batch, tokens] on its device, padded on the right."""
        self._check_vocabulary([*encodings, *(targets or ())])
        pad = getattr(self.tokenizer, "pad_token_id", None)
        made = padded(encodings, pad=pad, targets=targets)
        inputs = {name: tensor.to(self.device) for name, tensor in made.items()}
        if isinstance(self.model, capture.EditedModel):
            self.model.locate(inputs, knocked_out(self.model.edits, encodings, targets))
        return inputs

    @property
    def config(self) -> Any:
        """The config of the transformers model inside."""
        return capture.config_of(self.model)

    @property
    def device(self) -> torch.device:
        return capture.device_of(self.model)

    @property
    def dtype(self) -> str:
        """In which the model computes, such as "float32" or "bfloat16"."""
        return capture.dtype_of(self.model)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of this model's attention should know."""
        dtype = self.dtype
        if not capture.is_quantised(dtype):
            return ()
        return (
            f"The model is quantised ({dtype}): its weights are rounded, so its attention differs "
            "from that of the model it was made from.",
        )

    @property
    def translates(self) -> bool:
        """Whether the model is an encoder-decoder: it reads one text and writes another."""
        return capture.translates(self.model)

    @property
    def reads_target(self) -> bool:
        """Whether the second text is a target; an encoder-decoder that classifies reads a pair."""
        return self.translates and capture.answers(self.model) is None

    @property
    def max_tokens(self) -> int | None:
        """The most tokens the model takes, special tokens included; None if there is no limit."""
        limit = capture.most_tokens(self.model)
        if limit is not None:
            return limit
        limit = getattr(self.tokenizer, "model_max_length", None)
        # transformers writes "no limit" as a number of thirty digits.
        return int(limit) if limit is not None and limit < 1e9 else None

    def _check_vocabulary(self, encodings: Sequence[Encoding]) -> None:
        """Raise where a text uses an id that the model does not embed.

        Many models embed one or two entries less than their tokenizer has, which no text uses.
        """
        size = capture.vocabulary_size(self.model) if self.takes == "input_ids" else None
        if size is None:
            return
        for encoding in encodings:
            beyond = [i for i in encoding.inputs["input_ids"] if i >= size]
            if beyond:
                piece = self.tokenizer.convert_ids_to_tokens(beyond[0])
                raise VocabularyError(
                    f"The token {piece!r} has the id {beyond[0]} but the model embeds only {size}: "
                    "they do not belong together. Load both from the same name, or resize the "
                    "model with model.resize_token_embeddings(len(tokenizer))."
                )


def shown_name(name: str | os.PathLike[str]) -> str:
    """A model's name for titles and pictures: of a folder its last part, else the whole."""
    return Path(name).resolve().name if Path(name).is_dir() else str(name)


@dataclass(frozen=True)
class _Processor:
    """What a pipeline has apart: the extractor of an image's or a sound's features, and the
    tokenizer of what is written about it."""

    image_processor: Any
    tokenizer: Any


def _processor_of(pipeline: Any, takes: str) -> Any:
    """What turns a pipeline's input into its model's."""
    tokenizer = getattr(pipeline, "tokenizer", None)
    if takes == "input_ids":
        return tokenizer
    names = ("processor", "image_processor", "feature_extractor")
    found = (getattr(pipeline, name, None) for name in names)
    own = next((each for each in found if each is not None), None)
    if own is None or tokenizer is None or hasattr(own, "tokenizer"):
        return own or tokenizer
    return _Processor(own, tokenizer)


def _tokenizer_of(given: Any) -> Any:
    """The tokenizer itself, or the one inside a processor of several kinds of input."""
    if not hasattr(given, "convert_ids_to_tokens") and hasattr(given, "tokenizer"):
        given = given.tokenizer
    if not callable(given) or not hasattr(given, "convert_ids_to_tokens"):
        raise TypeError(
            f"The tokenizer must be a transformers tokenizer, not {type(given).__name__}."
        )
    return given
