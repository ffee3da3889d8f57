"""Many texts in padded batches, each an Attention of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bertlens import capture
from bertlens.attention.attention import Attention
from bertlens.lens.forward import attention_of_encodings
from bertlens.text.encoding import Encoding

if TYPE_CHECKING:
    from bertlens.lens.lens import Lens


def many(
    lens: Lens,
    texts: Iterable[Any],
    *,
    batch_size: int,
    truncate: bool,
    exact: bool,
    keep: bool,
) -> list[Attention]:
    """See `Lens.many`."""
    if batch_size < 1:
        raise ValueError(f"The batch size must be at least 1, not {batch_size}.")
    if isinstance(texts, str):
        raise TypeError("texts must be a list of texts, not one string: lens.many([text]).")
    pairs = [_encoded(lens, i, text, truncate) for i, text in enumerate(texts)]
    if len({target is None for _, target in pairs}) > 1:
        raise TypeError("Give all texts a target, or none.")
    if _pools_at_the_last_token(lens):
        batch_size = 1
    made: list[Attention] = []
    for at in range(0, len(pairs), batch_size):
        batch = pairs[at : at + batch_size]
        targets = [target for _, target in batch if target is not None]
        made += attention_of_encodings(
            lens, [source for source, _ in batch], targets or None, exact=exact, keep=keep
        )
    return made


def _pools_at_the_last_token(lens: Lens) -> bool:
    """Whether padding would move the token at which a decoder's classifier reads its answer.

    It looks for the config's padding token, which these batches do not have.
    """
    if capture.answers(lens.model) != "text":
        return False
    pad = getattr(lens.config, "pad_token_id", None)
    return pad is None or pad != getattr(lens.tokenizer, "pad_token_id", None)


def _encoded(lens: Lens, index: int, text: Any, truncate: bool) -> tuple[Encoding, Encoding | None]:
    """A text as tokens, and the target of an encoder-decoder."""
    first, second = text if isinstance(text, tuple) and len(text) == 2 else (text, None)
    writes = lens.reads_target
    pair = None if writes else second
    try:
        if isinstance(first, list):
            source = lens.encode(words=first, words_pair=pair, truncate=truncate)
        else:
            source = lens.encode(first, pair, truncate=truncate)
    except TypeError as error:
        raise TypeError(f"Text {index}: {error}") from None
    if writes:
        target = None if second is None else lens.encode_target(second, truncate=truncate)
    else:
        target = lens.encode_again(source) if lens.translates else None
    return source, target
