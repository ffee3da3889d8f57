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


def generate(
    lens: Lens, prompt: str, *, max_new_tokens: int, keep: bool, options: dict[str, Any]
) -> Attention:
    """See `Lens.generate`.

    What a step attends to depends on nothing that comes later, so one pass over the whole text
    gives the weights of every step.
    """
    encoding = lens.encode(prompt)
    if lens.translates:
        start, *new = _written(lens, encoding, max_new_tokens, options)
        # The decoder never reads the last token that it wrote.
        target = continued(lens.tokenizer, _beginning(lens, start), new[:-1], segment=0)
        return attention_of_encodings(lens, [encoding], [target], keep=keep, notes=[_note(new)])[0]
    prompt_only = without_closing_specials(encoding)
    new = _written(lens, prompt_only, max_new_tokens, options)[len(prompt_only) :]
    whole = continued(lens.tokenizer, prompt_only, new, segment=1)
    return attention_of_encodings(lens, [whole], keep=keep, notes=[_note(new)])[0]


def _written(lens: Lens, encoding: Encoding, n: int, options: dict[str, Any]) -> list[int]:
    return capture.written(lens.model, lens.tensors([encoding]), max_new_tokens=n, **options)


def _beginning(lens: Lens, start: int) -> Encoding:
    piece = str(lens.tokenizer.convert_ids_to_tokens(start))
    return Encoding(
        inputs={"input_ids": [start]},
        tokens=(Token(piece, piece, None, None, 0, 0, True),),
        words=(Word(piece, (0,), 0, True, None),),
        text="",
    )


def _note(new: list[int]) -> str:
    return f"The model wrote {len(new)} tokens."
