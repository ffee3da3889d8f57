"""Strings as they may cross to a page: whole characters, and labels of a bounded length."""

from __future__ import annotations

import re
from typing import Any

LONGEST_LABEL = 200
"""Characters of a label that are drawn; a longer one ends in an ellipsis."""

_SURROGATES = re.compile("[\ud800-\udfff]")


def sendable(value: Any) -> Any:
    """The same JSON with every half of a surrogate pair replaced by U+FFFD.

    Half a pair is no character: no message that holds one could be encoded, and the view would
    never be in step with its page again.
    """
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {sendable(key): sendable(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(one) for one in value]
    return value


def label(text: str) -> str:
    """The text, shortened to what can be drawn."""
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"
