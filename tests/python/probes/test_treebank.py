"""Reading CoNLL-U, and trees that are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bertlens as bl
from bertlens.errors import AnnotationError
from bertlens.probes import Sentence, Treebank, read_conllu

DOGS = (
    "# sent_id = one\n"
    "# text = Dogs can't see it.\n"
    "1\tDogs\tdog\tNOUN\tNNS\tNumber=Plur\t4\tnsubj\t4:nsubj\t_\n"
    "2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2\tca\tcan\tAUX\tMD\t_\t4\taux\t_\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_\n"
    "4\tsee\tsee\tVERB\tVB\t_\t0\troot\t_\t_\n"
    "4.1\tsaw\tsee\tVERB\t_\t_\t_\t_\t_\t_\n"
    "5\tit\tit\tPRON\tPRP\t_\t4\tobj\t_\tSpaceAfter=No\n"
    "6\t.\t.\tPUNCT\t.\t_\t4\tpunct\t_\t_\n"
)


def test_multiword_tokens_empty_nodes_and_comments_are_left_out() -> None:
    (sentence,) = read_conllu(DOGS)
    assert sentence.words == ("Dogs", "ca", "n't", "see", "it", ".")
    assert sentence.heads == (4, 4, 4, 0, 4, 4)
    assert sentence.relations == ("nsubj", "aux", "advmod", "root", "obj", "punct")
    assert sentence.punctuation == (False, False, False, False, False, True)


def test_a_path_a_gzip_file_and_lines_read_the_same(
    tmp_path: Path, gzipped: Callable[[str, str], Path]
) -> None:
    plain = tmp_path / "dogs.conllu"
    plain.write_text(DOGS + "\n" + DOGS, "utf-8")
    zipped = gzipped("dogs.conllu.gz", DOGS + "\n" + DOGS)
    with plain.open(encoding="utf-8") as lines:
        found = [read_conllu(source) for source in (plain, str(plain), zipped, lines)]
    assert [len(treebank) for treebank in found] == [2, 2, 2, 2]
    assert {treebank[1].words for treebank in found} == {("Dogs", "ca", "n't", "see", "it", ".")}


def test_windows_line_ends_and_a_byte_order_mark_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "windows.conllu"
    path.write_bytes(b"\xef\xbb\xbf" + DOGS.replace("\n", "\r\n").encode())
    assert read_conllu(path)[0].relations[-1] == "punct"


@pytest.mark.parametrize(
    ("line", "change", "message"),
    [
        (5, ("\tca\tcan", "\tca can"), "line 5: there are 9 columns"),
        (9, ("5\tit", "7\tit"), "line 9: the id is 7, not 5"),
        (9, ("\t4\tobj", "\tfour\tobj"), "line 9: Failed parsing field 'head'"),
        (9, ("\t4\tobj", "\t_\tobj"), "line 9: the word has no head"),
        (9, ("\t4\tobj", "\t4\t_"), "line 9: the word has no head or no relation"),
        (3, ("\t4\tnsubj", "\t9\tnsubj"), "line 1: word 1 ('Dogs') has head 9"),
        (3, ("\t4\tnsubj", "\t1\tnsubj"), "line 1: word 1 ('Dogs') is its own head"),
        (7, ("\t0\troot", "\t1\troot"), "line 1: no word is the root"),
    ],
)
def test_a_bad_line_is_named_with_its_file(
    tmp_path: Path, line: int, change: tuple[str, str], message: str
) -> None:
    lines = DOGS.splitlines()
    assert change[0] in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(*change)
    path = tmp_path / "bad.conllu"
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(AnnotationError) as error:
        read_conllu(path)
    assert str(error.value).startswith("bad.conllu, ")
    assert message in str(error.value)


def test_a_cycle_is_shown() -> None:
    with pytest.raises(AnnotationError) as error:
        Sentence(("a", "b", "c"), (2, 1, 0), ("x", "x", "root"))
    assert str(error.value) == "the heads go round in a cycle: 1 -> 2 -> 1"


def test_one_bad_sentence_does_not_lose_the_others() -> None:
    bad = DOGS.replace("\t0\troot", "\t1\troot")
    treebank = read_conllu(DOGS + "\n" + bad + "\n" + DOGS, errors="skip")
    assert len(treebank) == 2
    assert treebank.skipped == ("text, line 12: no word is the root (head 0)",)


def test_an_empty_treebank_says_why() -> None:
    with pytest.raises(AnnotationError, match="text has no sentence"):
        read_conllu("\n\n")
    with pytest.raises(AnnotationError, match="first problem: text, line 1: no word is the root"):
        read_conllu(DOGS.replace("\t0\troot", "\t1\troot"), errors="skip")


def test_a_file_that_is_no_text_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.conllu.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00broken")
    with pytest.raises(AnnotationError, match=r"cut\.conllu\.gz cannot be read"):
        read_conllu(path)


def test_a_path_in_place_of_a_treebank_gets_a_hint(demo: bl.Lens) -> None:
    with pytest.raises(TypeError, match="read_conllu"):
        bl.probes.relations(demo, "dev.conllu")  # type: ignore[arg-type]


def test_the_whole_of_ewt_dev_is_read(ewt_dev: Treebank) -> None:
    # Counts from the treebank's own statistics, in the README of the data.
    assert (len(ewt_dev), ewt_dev.n_words) == (2001, 25147)


def test_two_roots_are_taken(shared: Path) -> None:
    treebank = read_conllu(shared / "data" / "sd" / "en_gum51_stanford-train.conllu.gz")
    assert [s.heads.count(0) for s in treebank if s.heads.count(0) != 1] == [2]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_a_sentence_is_taken_just_when_every_word_leads_to_a_root(heads: list[int]) -> None:
    def leads_to_root(word: int) -> bool:
        for _ in range(len(heads) + 1):
            if word == 0:
                return True
            if word > len(heads):
                return False
            word = heads[word - 1]
        return False

    words = [f"w{i}" for i in range(len(heads))]
    relations = ["x"] * len(heads)
    if all(leads_to_root(i) for i in range(1, len(heads) + 1)):
        assert Sentence(tuple(words), tuple(heads), tuple(relations)).heads == tuple(heads)
    else:
        with pytest.raises(AnnotationError):
            Sentence(tuple(words), tuple(heads), tuple(relations))
