"""Kinds of tokens, for tokenizers of several families."""

from __future__ import annotations

import pytest

import bertlens as bl
from bertlens.text.token_types import TokenTypes, token_types_of
from tests.python.tiny import tiny, tokenizer_for


def kinds(family: str, *texts: str) -> TokenTypes:
    lens = bl.Lens(tiny(family), tokenizer_for(family))
    return token_types_of(lens.encode(*texts).tokens, lens.tokenizer)


def marked(kinds: TokenTypes, flags: object) -> list[str]:
    return [token.text for token, flag in zip(kinds.tokens, flags, strict=True) if flag]


def test_bert_opens_with_cls_and_closes_with_sep() -> None:
    found = kinds("bert", "I went.", "to the store, and")
    assert marked(found, found.cls) == ["[CLS]"]
    assert marked(found, found.sep) == ["[SEP]", "[SEP]"]
    assert marked(found, found.special) == ["[CLS]", "[SEP]", "[SEP]"]
    assert marked(found, found.punctuation) == [".", ","]


def test_robertas_pair_has_three_closing_tokens() -> None:
    found = kinds("roberta", "I went.", "to the store, and")
    assert marked(found, found.cls) == ["<s>"]
    assert marked(found, found.sep) == ["</s>", "</s>", "</s>"]
    assert len(marked(found, found.punctuation)) == 2


def test_a_tokenizer_without_separators_has_none() -> None:
    tokenizer = tokenizer_for("gpt2")
    tokenizer = tokenizer.__class__(tokenizer_object=tokenizer.backend_tokenizer, bos_token="<s>")
    found = token_types_of(bl.Lens(tiny("gpt2"), tokenizer).encode("I went").tokens, tokenizer)
    assert marked(found, found.cls) == ["<s>"]
    assert not found.sep.any()


def test_one_token_for_both_ends_opens_only_at_the_beginning() -> None:
    tokens = kinds("gpt2", "I went").tokens
    tokenizer = tokenizer_for("gpt2")
    both = tokenizer.__class__(
        tokenizer_object=tokenizer.backend_tokenizer, bos_token="</s>", eos_token="</s>"
    )
    found = token_types_of(tokens, both)
    assert not found.cls.any()
    assert marked(found, found.sep) == ["</s>"]


def test_without_a_tokenizer_places_decide() -> None:
    tokens = kinds("bert", "I went", "the store").tokens
    found = token_types_of(tokens, None)
    assert marked(found, found.cls) == ["[CLS]"]
    assert marked(found, found.sep) == ["[SEP]", "[SEP]"]


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_tokens_with_the_same_text_are_found_across_texts(family: str) -> None:
    found = kinds(family, "on the mat", "and the dog the")
    tokens = [token.label for token in found.tokens]
    places = [i for i, label in enumerate(tokens) if label == "the"]
    assert len(places) == 3
    same = found.same_text()
    first, *others = places
    assert [i for i in range(len(tokens)) if same[first, i]] == others
    assert not same[found.special].any()
    across = same & found.other_segment()
    assert [i for i in range(len(tokens)) if across[first, i]] == others
    assert not across[others[0], others[1]]


def test_pieces_of_one_word_are_mates() -> None:
    found = kinds("bert", "strawberries grow")
    pieces = [i for i, token in enumerate(found.tokens) if token.word == 1]
    assert len(pieces) > 1
    same = found.same_word()
    assert [i for i in range(len(found)) if same[pieces[0], i]] == pieces[1:]
    assert not same[0].any()
