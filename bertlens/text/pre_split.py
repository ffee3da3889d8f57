"""Texts that are split into words beforehand, as treebanks have them.

They are read as the running text would be, the words joined by spaces, so that a model sees what it
was trained on; tokens are told apart by the characters that they are of. Where a token reaches over
the end of a word, or the tokenizer gives no offsets, each word is tokenized by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from bertlens.text.alignment import joined, word_starts
from bertlens.text.tokenizing import gives_offsets, tokenizing

Span = tuple[int, int]


def words_of_spans(
    words: Sequence[str], spans: Sequence[Span]
) -> tuple[list[int], list[Span], bool]:
    """Each token's word, its characters in that word, and whether one reaches over a word's end.

    Args:
        spans: characters of the joined words; spaces around a token do not count.
    """
    text, starts = joined(list(words)), word_starts(list(words))
    found: list[int] = []
    inside: list[Span] = []
    crosses = False
    for start, end in spans:
        bare = text[start:end]
        first = start + len(bare) - len(bare.lstrip()) if bare.strip() else min(end, len(text) - 1)
        last = start + len(bare.rstrip()) if bare.strip() else first
        word = _word_at(starts, words, first)
        crosses |= last > starts[word] + len(words[word])
        found.append(word)
        size = len(words[word])
        offset = starts[word]
        inside.append((min(max(first - offset, 0), size), min(max(last - offset, 0), size)))
    return found, inside, crosses


def _word_at(starts: Sequence[int], words: Sequence[str], at: int) -> int:
    """The word that a character is of; of a space, the word after it."""
    word = max(0, bisect_right(starts, at) - 1)
    # Empty words begin where the next one does.
    while word + 1 < len(words) and at >= starts[word] + len(words[word]):
        word += 1
    return word


def tokenize_each(
    tokenizer: Any, texts: Sequence[Sequence[str]], *, limit: int | None, target: bool = False
) -> tuple[dict[str, list[int]], list[int | None], list[int | None], list[Span | None]]:
    """Inputs with special tokens, and each token's text, word and characters in it.

    Every word but the first has a space before it, as in running text.

    Args:
        limit: cut to so many tokens, the longer text first; None: all.
    """
    ids: list[list[int]] = []
    places: list[list[tuple[int, Span | None]]] = []
    with tokenizing(tokenizer):
        for words in texts:
            own: list[int] = []
            where: list[tuple[int, Span | None]] = []
            for number, word in enumerate(words):
                made, spans = _one_word(tokenizer, word, number > 0, target)
                own += made
                where += [(number, span) for span in spans]
            ids.append(own)
            places.append(where)
        keep = _kept([len(own) for own in ids], limit, _specials(tokenizer, len(texts)))
        ids = [own[:n] for own, n in zip(ids, keep, strict=True)]
        inputs = _with_specials(tokenizer, ids)
    special = inputs["special_tokens_mask"]
    sequences: list[int | None] = []
    of: list[int | None] = []
    chars: list[Span | None] = []
    left = [list(where[:n]) for where, n in zip(places, keep, strict=True)]
    text = 0
    for flag in special:
        while text + 1 < len(left) and not left[text]:
            text += 1
        if flag or not left[text]:
            sequences.append(None)
            of.append(None)
            chars.append(None)
            continue
        place, span = left[text].pop(0)
        sequences.append(text)
        of.append(place)
        chars.append(span)
    return inputs, sequences, of, chars


def _one_word(
    tokenizer: Any, word: str, spaced: bool, target: bool
) -> tuple[list[int], list[Span | None]]:
    if not word:
        return [], []
    text = f" {word}" if spaced else word
    if gives_offsets(tokenizer):
        tokenizer.backend_tokenizer.no_truncation()
        made = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
        shift = int(spaced)
        spans: list[Span | None] = [(max(a - shift, 0), max(b - shift, 0)) for a, b in made.offsets]
        return list(made.ids), spans
    options: dict[str, Any] = {"add_special_tokens": False, "verbose": False}
    called = tokenizer(text_target=text, **options) if target else tokenizer(text, **options)
    own = list(called["input_ids"])
    return own, [None] * len(own)


def _specials(tokenizer: Any, n_texts: int) -> int:
    return int(tokenizer.num_special_tokens_to_add(pair=n_texts > 1))


def _kept(lengths: Sequence[int], limit: int | None, specials: int) -> list[int]:
    """How many tokens of each text stay; a token at a time off the longer one."""
    keep = list(lengths)
    over = 0 if limit is None else sum(keep) + specials - limit
    if over <= 0:
        return keep
    if len(keep) == 1:
        return [max(0, keep[0] - over)]
    longer, shorter = (0, 1) if keep[0] >= keep[1] else (1, 0)
    alone = min(over, keep[longer] - keep[shorter])
    keep[longer] -= alone
    over -= alone
    keep[longer] = max(0, keep[longer] - (over + 1) // 2)
    keep[shorter] = max(0, keep[shorter] - over // 2)
    return keep


def _with_specials(tokenizer: Any, ids: Sequence[list[int]]) -> dict[str, list[int]]:
    made = tokenizer.prepare_for_model(
        *ids, return_special_tokens_mask=True, return_attention_mask=True, verbose=False
    ) if not gives_offsets(tokenizer) else None  # fmt: skip
    if made is not None:
        return {name: list(values) for name, values in made.items()}
    return _with_specials_of_backend(tokenizer, ids)


def _with_specials_of_backend(tokenizer: Any, ids: Sequence[list[int]]) -> dict[str, list[int]]:
    """What the backend's template adds around two texts, put around these ids."""
    backend = tokenizer.backend_tokenizer
    # The template is found on texts of one token each, which are told by their sequence.
    probe = backend.encode("a", "a") if len(ids) > 1 else backend.encode("a")
    inputs: dict[str, list[int]] = {
        "input_ids": [], "token_type_ids": [], "attention_mask": [], "special_tokens_mask": []
    }  # fmt: skip
    placed: set[int] = set()
    for number, kind, sequence in zip(probe.ids, probe.type_ids, probe.sequence_ids, strict=True):
        if sequence is None:
            own, flag = [number], 1
        elif sequence in placed:
            continue
        else:
            placed.add(sequence)
            own, flag = ids[sequence], 0
        inputs["input_ids"] += own
        inputs["token_type_ids"] += [kind] * len(own)
        inputs["attention_mask"] += [1] * len(own)
        inputs["special_tokens_mask"] += [flag] * len(own)
    names = {*tokenizer.model_input_names, "special_tokens_mask"}
    return {name: values for name, values in inputs.items() if name in names}
