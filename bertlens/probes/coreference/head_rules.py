"""Head words of noun phrases in constituency trees, as CoNLL-2012 writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Phrase:
    """A constituent, or a word with its tag as label."""

    label: str
    start: int
    end: int = -1
    children: list[Phrase] = field(default_factory=list)


def phrase_heads(
    tags: Sequence[str], bits: Sequence[str], sentences: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """The head word of every constituent, by its [start, end); none where there is no parse.

    Args:
        tags: a tag for each word.
        bits: the parse column, such as "(NP(DT*" split into "(NP*" and "*)": "*" is the word.
    """
    heads: dict[tuple[int, int], int] = {}
    for start, end in sentences:
        stack: list[Phrase] = []
        for word in range(start, end):
            before, _, after = bits[word].partition("*")
            stack += [Phrase(label, word) for label in re.findall(r"\(([^()\s]+)", before)]
            if stack:
                stack[-1].children.append(Phrase(tags[word], word, word + 1))
            for _ in range(min(after.count(")"), len(stack))):
                closed = stack.pop()
                closed.end = word + 1
                # Of phrases over the same words the inner one is named first; all agree.
                heads.setdefault((closed.start, closed.end), head_word(closed))
                if stack:
                    stack[-1].children.append(closed)
    return heads


def head_word(phrase: Phrase) -> int:
    """The head word of a noun phrase by the rules of Collins (1999, appendix A).

    Other phrases are headed by their last child that is not punctuation.
    """
    while phrase.children:
        phrase = _head_child(phrase.children)
    return phrase.start


def _head_child(children: list[Phrase]) -> Phrase:
    if children[-1].label == "POS" and len(children) > 1:
        children = children[:-1]
    ranks: tuple[tuple[str, int], ...] = (
        (r"NN.*|NX|JJR|PRP|WP|EX", -1),
        (r"NP|WHNP", 1),
        (r"\$|ADJP|PRN", -1),
        (r"CD", -1),
        (r"JJ|JJS|RB|QP|DT|PRP\$|WP\$", -1),
    )
    for pattern, step in ranks:
        for child in children[::step]:
            if re.fullmatch(pattern, child.label):
                return child
    words = [child for child in children if child.label[0].isalnum()]
    return (words or children)[-1]
