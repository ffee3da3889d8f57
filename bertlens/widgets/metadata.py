"""What the page knows about a text before it asks: the model, and tokens as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bertlens.text.tokens import Token, Word
from bertlens.widgets.wire_text import label

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention


def describe(attention: Attention) -> dict[str, Any]:
    """The trait `meta`: model, sizes, notes, and the tokens of both sides.

    `to` is None where rows and columns are the same tokens; `texts` names the boxes for texts where
    they are a source and a target.
    """
    crossed = attention.to_tokens is not attention.tokens
    lens = attention.lens
    reads_target = lens is not None and lens.reads_target
    return {
        "model": _named(attention),
        "dtype": attention.dtype,
        "n_layers": attention.n_layers,
        "n_heads": attention.n_heads,
        "kinds": list(attention.kinds),
        "notes": list(attention.notes),
        **({"texts": ["Source", "Target, optional"]} if reads_target else {}),
        "prediction": _predicted(attention),
        "from": token_columns(attention.tokens, attention.words),
        "to": token_columns(attention.to_tokens, attention.column_words) if crossed else None,
    }


def _named(attention: Attention) -> str:
    """The model's name, and what the numbers are where they are not its weights."""
    if attention.measure == "weights":
        return attention.model_name
    return f"{attention.model_name}, {attention.measure}".removeprefix(", ")


def _predicted(attention: Attention) -> dict[str, Any] | None:
    """What a fine-tuned model says of the text: its label, how probable, and the other labels."""
    prediction = attention.prediction
    if prediction is None:
        return None
    return {
        "label": label(prediction.label),
        "probability": prediction.probability,
        "ranked": [[label(other.label), other.probability] for other in prediction.ranked[:20]],
    }


def token_columns(tokens: Sequence[Token], words: Sequence[Word]) -> dict[str, Any]:
    """One list a property, one entry a token; `words` the same, one entry a word."""
    return {
        "label": [label(token.label) for token in tokens],
        "text": [label(token.text) for token in tokens],
        "word": [token.word for token in tokens],
        "segment": [token.segment for token in tokens],
        "special": [int(token.special) for token in tokens],
        "continuation": [
            int(i > 0 and tokens[i - 1].word == token.word) for i, token in enumerate(tokens)
        ],
        "words": {
            "label": [label(word.text) for word in words],
            "segment": [word.segment for word in words],
            "special": [int(word.special) for word in words],
        },
    }
