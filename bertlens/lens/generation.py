"""A text that the model writes itself, and the attention of every step as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertlens import capture
from bertlens.attention.attention import Attention
from bertlens.lens.forward import attention_of_encodings
from bertlens.text.encoding import Encoding
from bertlens.text.generated import continued, without_closing_specials
from bertlens.text.tokens import Token, Word

if TYPE_CHECKING:
    from bertlens.lens.lens import Lens


DEFAULT_NEW_TOKENS = 20
"""Tokens that a model writes where neither the caller nor its generation_config says how many."""


def generate(
    lens: Lens, prompt: str, *, max_new_tokens: int | None, keep: bool, options: dict[str, Any]
) -> Attention:
    """See `Lens.generate`.

    What a step attends to depends on nothing that comes later, so one pass over the whole text
    gives the weights of every step.
    """
    encoding = lens.encode(prompt)
    options = {**options, **_length(lens, max_new_tokens, options)}
    if lens.translates:
        (start, *new), notes = _written(lens, encoding, 1, options)
        # The decoder never reads the last token that it wrote.
        target = continued(lens.tokenizer, _beginning(lens, start), new[:-1], segment=0)
        return attention_of_encodings(lens, [encoding], [target], keep=keep, notes=notes)[0]
    own = without_closing_specials(lens.tokenizer, encoding)
    ids, notes = _written(lens, own, len(own), options)
    whole = continued(lens.tokenizer, own, ids[len(own) :], segment=1)
    return attention_of_encodings(lens, [whole], keep=keep, notes=notes)[0]


def _length(
    lens: Lens, max_new_tokens: int | None, options: dict[str, Any]
) -> dict[str, int | None]:
    """How much to write: what the caller says, else the generation_config, else a default."""
    if max_new_tokens is not None:
        if options.get("max_length") is not None:
            raise TypeError("Give either max_new_tokens or max_length, not both.")
        return {"max_new_tokens": max_new_tokens}
    if options.get("max_length") is not None:
        # A max_new_tokens of the model's generation_config would win over it.
        return {"max_new_tokens": None}
    limits = ("max_new_tokens", "max_length", "max_time")
    if any(capture.generation_setting(lens.model, name, options) for name in limits):
        return {}
    return {"max_new_tokens": DEFAULT_NEW_TOKENS}


def _written(
    lens: Lens, encoding: Encoding, start: int, options: dict[str, Any]
) -> tuple[list[int], list[str]]:
    """The ids of the first sequence, of which `start` were there before, and notes on it."""

    def setting(name: str) -> Any:
        return capture.generation_setting(lens.model, name, options)

    first, *others = capture.written(lens.model, lens.tensors([encoding]), **options)
    if others:
        # Sequences of one batch are padded to the longest.
        ends = setting("eos_token_id")
        ends = set(ends if isinstance(ends, list | tuple) else [ends])
        end = next((i for i in range(start, len(first)) if first[i] in ends), len(first) - 1)
        first = first[: end + 1]
    count = len(first) - start
    notes = [f"The model wrote {count} token{'s' * (count != 1)}."]
    if others:
        notes.append(
            f"{len(others) + 1} sequences were generated; this is the first, and the others are "
            "dropped."
        )
    if setting("do_sample"):
        notes.append("Tokens were drawn at random: do_sample=False takes the most probable.")
    return first, notes


def _beginning(lens: Lens, start: int) -> Encoding:
    piece = str(lens.tokenizer.convert_ids_to_tokens(start))
    return Encoding(
        inputs={"input_ids": [start]},
        tokens=(Token(piece, piece, None, None, 0, 0, True),),
        words=(Word(piece, (0,), 0, True, None),),
        text="",
    )
