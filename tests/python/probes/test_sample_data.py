"""The treebank and documents that come with the notebooks are what they say."""

from __future__ import annotations

from pathlib import Path

import conllu

from bertlens.probes import read_coreference, sample_treebank

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
UPOS = set("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
# Universal Dependencies 2, universaldependencies.org/u/dep.
RELATIONS = set(
    "acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse "
    "dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan parataxis "
    "punct reparandum root vocative xcomp".split()
)


def sentences() -> list[conllu.TokenList]:
    return list(conllu.parse((NOTEBOOKS / "treebank.conllu").read_text("utf-8")))


def test_the_treebank_comes_along_wherever_one_is() -> None:
    treebank = sample_treebank()
    assert len(treebank) == len(sentences()) >= 60
    assert len({sentence.words for sentence in treebank}) == len(treebank)
    assert all(sentence.heads.count(0) == 1 for sentence in treebank)


def test_tags_and_relations_are_universal() -> None:
    for sentence in sentences():
        words = [token for token in sentence if isinstance(token["id"], int)]
        assert {token["upos"] for token in words} <= UPOS
        assert {token["deprel"].split(":")[0] for token in words} <= RELATIONS
        assert all(token["lemma"] for token in words)
        assert all((token["head"] == 0) == (token["deprel"] == "root") for token in words)
        assert all((token["upos"] == "PUNCT") == (token["deprel"] == "punct") for token in words)


def test_the_words_make_up_the_text() -> None:
    for sentence in sentences():
        made, covered = "", 0
        for token in sentence:
            number = token["id"]
            if isinstance(number, tuple):
                covered = number[2]
            elif number <= covered:
                continue
            made += token["form"]
            made += "" if (token["misc"] or {}).get("SpaceAfter") == "No" else " "
        assert made.strip() == sentence.metadata["text"]


def test_the_documents_hold_pronouns_names_and_nouns_with_antecedents() -> None:
    documents = read_coreference(NOTEBOOKS / "coreference.jsonl")
    assert len(documents) == 4
    for document in documents:
        assert any(size > 2 for size in document.cluster_sizes.values())
        # A mention never crosses a sentence.
        for mention in document.mentions:
            assert any(a <= mention.start and mention.end <= b for a, b in document.sentences)
