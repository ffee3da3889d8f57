"""Coreference documents: what they must be, and the files they come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertlens.errors import AnnotationError
from bertlens.probes import Document, Mention, read_conll2012, read_coreference
from bertlens.probes.coreference.mention_types import kind

ANN = {
    "id": "ann",
    "words": ["Ann", "saw", "her", "dog", ".", "It", "barked", "."],
    "sentences": [[0, 5], [5, 8]],
    "mentions": [
        {"start": 2, "end": 4, "head": 3, "cluster": "dog"},
        {"start": 0, "end": 1, "head": 0, "cluster": "ann"},
        {"start": 2, "end": 3, "head": 2, "cluster": "ann"},
        {"start": 5, "end": 6, "cluster": "dog", "type": "animal"},
    ],
}


def test_json_lines_are_read_in_the_order_of_the_text(gzipped: Callable[[str, str], Path]) -> None:
    (document,) = read_coreference(gzipped("ann.jsonl.gz", json.dumps(ANN) + "\n\n"))
    assert document.name == "ann"
    assert [document.text(m) for m in document.mentions] == ["Ann", "her dog", "her", "It"]
    assert [m.head_word for m in document.mentions] == [0, 3, 2, 5]
    assert document.cluster_sizes == {"ann": 2, "dog": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mentions": [{"start": 7, "end": 9, "cluster": "x"}]}, "[7, 9) of cluster 'x' is out of"),
        ({"mentions": [{"start": 3, "end": 3, "cluster": "x"}]}, "is out of range"),
        (
            {"mentions": [{"start": 0, "end": 2, "head": 5, "cluster": "x"}]},
            "has its head at 5, outside itself",
        ),
        ({"mentions": [{"start": 0, "end": 2}]}, "'cluster' is missing"),
        ({"sentences": [[0, 5], [6, 8]]}, "sentence [6, 8) should begin at word 5"),
        ({"sentences": [[0, 5]]}, "the sentences end at word 5 of 8"),
        ({"words": []}, "the document has no words"),
        ({"tags": ["NN"]}, "8 words but 1 tags"),
    ],
)
def test_a_bad_document_is_named_with_its_line(change: dict[str, Any], message: str) -> None:
    lines = [json.dumps(ANN) + "\n", json.dumps({**ANN, **change}) + "\n"]
    with pytest.raises(AnnotationError) as error:
        read_coreference(lines)
    assert str(error.value).startswith("lines, line 2: ")
    assert message in str(error.value)
    assert len(read_coreference(lines, errors="skip")) == 1


def test_a_file_without_documents_says_so() -> None:
    with pytest.raises(
        AnnotationError, match="no document to work on; the last problem: lines, line 1"
    ):
        read_coreference(["{}"], errors="skip")


CONLL = """#begin document (bn/abc/00/abc_0001); part 000
bn/abc 0 0 The DT (TOP(S(NP* - - - - * (0
bn/abc 0 1 dog NN *) - - - - * 0)
bn/abc 0 2 in IN (PP* - - - - * -
bn/abc 0 3 town NN (NP*)) - - - - * (1)
bn/abc 0 4 barked VBD (VP*)) - - - - * -
bn/abc 0 5 . . *) - - - - * -

bn/abc 0 0 Its PRP$ (TOP(S(NP(NP* - - - - * (2|(0)
bn/abc 0 1 owner NN *) - - - - * -
bn/abc 0 2 of IN (PP* - - - - * -
bn/abc 0 3 years NNS (NP*))) - - - - * 2)
bn/abc 0 4 slept VBD (VP*)) - - - - * -

#end document
"""


def test_conll_2012_columns_give_mentions_with_heads_from_the_parse() -> None:
    (document,) = read_conll2012(CONLL)
    assert document.name == "bn/abc/00/abc_0001, part 0"
    assert document.sentences == ((0, 6), (6, 11))
    found = [(document.text(m), m.cluster, document.words[m.head_word]) for m in document.mentions]
    assert found == [
        ("The dog", "0", "dog"),
        ("town", "1", "town"),
        ("Its owner of years", "2", "owner"),  # the inner phrase's head, not the last word
        ("Its", "0", "Its"),
    ]
    assert [kind(document, m) for m in document.mentions] == [
        "nominal",
        "nominal",
        "nominal",
        "pronoun",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("* 0)\n", "* -\n", "a mention of cluster 0 never ends"),
        ("* (1)\n", "* 1)\n", "line 5: cluster 1 ends but never began"),
        ("* (1)\n", "* ((1)\n", "line 5: the coreference column says '((1)'"),
        ("bn/abc 0 4 slept VBD (VP*)) - - - - * -", "bn/abc slept", "line 13: 2 columns, not 7"),
    ],
)
def test_a_bad_conll_line_is_named(old: str, new: str, message: str) -> None:
    assert old in CONLL
    with pytest.raises(AnnotationError) as error:
        read_conll2012(CONLL.replace(old, new))
    assert message in str(error.value)


def test_kinds_of_mentions_without_tags() -> None:
    words = tuple("They met Ann . Dogs barked . The dogs slept . Athens fell .".split())
    document = Document(
        "kinds",
        words,
        ((0, 4), (4, 7), (7, 11), (11, 14)),
        tuple(Mention(i, i + 1, str(i)) for i in (0, 2, 4, 11)),
    )
    kinds = [kind(document, mention) for mention in document.mentions]
    # "Dogs" opens a sentence and stands in small letters elsewhere; "Athens" does not.
    assert kinds == ["pronoun", "proper", "nominal", "proper"]
