"""The surface patterns by name: what each score is called, measures and means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from bertlens.scores.batched import Among, Confidence, Distance, Entropy, Measure, Offset, Share
from bertlens.scores.head_scores import Notable

SHARE = "share of attention"


@dataclass(frozen=True)
class Pattern:
    """A score of every head: its name, how it is measured, and what it means in a sentence."""

    name: str
    measure: Measure
    description: str
    unit: str = SHARE
    notable: Notable = "high"


_ALL = (
    Pattern("self", Offset(0), "Attention of each token to itself."),
    Pattern("previous", Offset(-1), "Attention of each token to the one before it."),
    Pattern("next", Offset(1), "Attention of each token to the one after it."),
    Pattern("cls", Share("cls"), "Attention to the token that opens the text ([CLS], <s>)."),
    Pattern("sep", Share("sep"), "Attention to the tokens that close a text ([SEP], </s>)."),
    Pattern("punctuation", Share("punctuation"), "Attention to full stops and commas."),
    Pattern("sep_to_sep", Share("sep", "sep"), "Attention of [SEP] tokens to [SEP] tokens."),
    Pattern("rest_to_sep", Share("sep", "rest"), "Attention of all other tokens to [SEP] tokens."),
    Pattern(
        "entropy",
        Entropy("all"),
        "How widely a token's attention is spread, mean over tokens; the baseline is even "
        "attention.",
        "nats",
        "low",
    ),
    Pattern(
        "entropy_cls",
        Entropy("cls"),
        "How widely the attention of the token that opens the text ([CLS], <s>) is spread; the "
        "baseline is even attention.",
        "nats",
        "low",
    ),
    Pattern(
        "distance",
        Distance(),
        "How many tokens away attention goes, on average.",
        "tokens",
    ),
    Pattern(
        "confidence",
        Confidence(),
        "The largest weight of a token, mean over tokens, without the tokens that close a text "
        "([SEP], </s>).",
    ),
    Pattern(
        "sink",
        Share("first"),
        "Attention to the first token, whatever it is; a head above 0.3 counts as a sink.",
    ),
    Pattern(
        "identical",
        Among("same text"),
        "Attention to other tokens with the same text, mean over tokens that have one.",
    ),
    Pattern(
        "identical_other",
        Among("same text, other segment"),
        "Attention to tokens with the same text in the other text of a pair, mean over tokens "
        "that have one.",
    ),
    Pattern(
        "word_mates",
        Among("same word"),
        "Attention to the other pieces of a token's own word, mean over tokens of split words.",
    ),
    Pattern("delimiters", Share("special"), "Attention to special tokens such as [CLS] and [SEP]."),
)

PATTERNS: Mapping[str, Pattern] = {pattern.name: pattern for pattern in _ALL}
"""Every pattern with a fixed name; `pattern` makes those with a number or a token in theirs."""

PAPER = (
    "self",
    "previous",
    "next",
    "cls",
    "sep",
    "punctuation",
    "sep_to_sep",
    "rest_to_sep",
    "entropy",
    "entropy_cls",
)
"""The ten scores of Clark et al. 2019, section 3."""

VIG_PATTERNS = ("next", "previous", "identical", "identical_other", "word_mates", "delimiters")
"""The six patterns of Vig's "Deconstructing BERT", each as a score."""

BEHAVIOUR = "behaviour"
"""The score that is a label: see `bertlens.scores.patterns.behaviours`."""

BEHAVIOUR_INPUTS = ("entropy", "next", "previous", "cls", "sep", "punctuation")
"""The scores that decide a head's behaviour."""


def pattern(name: str) -> Pattern:
    """The pattern of a name: one of PATTERNS, "offset:-3" or "to:the".

    Raises:
        KeyError: no pattern is called so.
    """
    if name in PATTERNS:
        return PATTERNS[name]
    if match := re.fullmatch(r"offset:([+-]?\d+)", name):
        return offset(int(match[1]))
    if name.startswith("to:") and len(name) > 3:
        return to_tokens(name, [name[3:]])
    raise KeyError(
        f"There is no score {name!r}. There are {', '.join(PATTERNS)}, {BEHAVIOUR}, "
        'any "offset:-3" and any "to:the".'
    )


def offset(steps: int) -> Pattern:
    """Attention to the token `steps` ahead (behind, if negative)."""
    where = f"{abs(steps)} {'after' if steps > 0 else 'before'}" if steps else "0 away from"
    return Pattern(
        f"offset:{steps:+d}", Offset(steps), f"Attention of each token to the one {where} it."
    )


def to_tokens(name: str, tokens: Collection[str]) -> Pattern:
    """Attention to tokens whose piece or label is one of `tokens`.

    Raises:
        ValueError: there are no tokens.
    """
    wanted = frozenset(tokens)
    if not wanted:
        raise ValueError(f"The score {name!r} names no token.")
    shown = ", ".join(repr(token) for token in sorted(wanted))
    return Pattern(name, Share(wanted), f"Attention to the tokens {shown}.")


def select(
    scores: Iterable[str] | None = None,
    tokens: Mapping[str, str | Collection[str]] | None = None,
) -> tuple[Pattern, ...]:
    """The patterns to measure, each once.

    Args:
        scores: names as `pattern` takes them, and "behaviour"; all of PATTERNS by default.
        tokens: further scores by name, each with the token or tokens that it is about.

    Raises:
        KeyError: no pattern is called so.
        TypeError: `scores` is one string.
        ValueError: nothing is left to measure, or a name is taken.
    """
    if isinstance(scores, str):
        raise TypeError(f"scores must be a list of names, such as [{scores!r}].")
    names = list(PATTERNS) if scores is None else list(scores)
    if BEHAVIOUR in names:
        at = names.index(BEHAVIOUR)
        names[at : at + 1] = BEHAVIOUR_INPUTS
    patterns = {name: pattern(name) for name in names}
    for name, wanted in (tokens or {}).items():
        if name in PATTERNS or name == BEHAVIOUR:
            raise ValueError(f"{name!r} is a built-in score; choose another name.")
        patterns[name] = to_tokens(name, [wanted] if isinstance(wanted, str) else wanted)
    if not patterns:
        raise ValueError("There is no score to measure.")
    return tuple(patterns.values())
