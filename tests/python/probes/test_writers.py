"""Tables of relations as files, and the sentences behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

import bertlens as bl
from bertlens.errors import AnnotationError
from bertlens.probes import Sentence, from_parsed, read_conllu
from tests.python.tiny import tiny, wordpiece

TEXT = """# licence: CC BY

# sent_id = weblog-7
1\tdogs\t_\t_\t_\t_\t2\tnsubj\t_\t_
2\tbark\t_\t_\t_\t_\t0\troot\t_\t_
3\tloud\t_\t_\t_\t_\t2\tx|y_*z&\t_\t_
"""


@pytest.fixture(scope="module")
def table() -> bl.probes.RelationTable:
    return bl.probes.relations(bl.Lens(tiny("bert"), wordpiece()), read_conllu(TEXT))


def test_a_byte_order_mark_and_comments_alone_are_no_sentences() -> None:
    assert [s.words for s in read_conllu("\ufeff" + TEXT)] == [("dogs", "bark", "loud")]
    assert read_conllu(TEXT)[0].sent_id == "weblog-7"


def test_an_example_shows_its_sentence_and_its_name(table: bl.probes.RelationTable) -> None:
    example = table.examples("nsubj", 0, 0)[0]
    assert example.sent_id == "weblog-7"
    assert str(example).startswith("weblog-7: [dogs] ")
    assert "*bark*" in str(example)


def test_a_table_is_saved_in_four_forms(table: bl.probes.RelationTable, tmp_path: Path) -> None:
    for suffix in (".csv", ".html", ".md", ".tex"):
        path = table.save(tmp_path / f"table{suffix}")
        assert "nsubj" in path.read_text("utf-8")
    assert r"x|y\_*z\&" in table.to_latex()
    assert r"x\|y\_\*z&" in (tmp_path / "table.md").read_text("utf-8")
    assert table.to_latex().count(r"\\") == len(table.rows) + 1
    with pytest.raises(ValueError, match=r"ends in \.csv"):
        table.save(tmp_path / "table.doc")
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        table.save(tmp_path / "file" / "table.csv")


def test_words_must_be_strings_and_a_long_cycle_is_found_at_once() -> None:
    with pytest.raises(TypeError, match="words must be strings, not 3"):
        Sentence(("a", 3), (0, 1), ("root", "x"))  # type: ignore[arg-type]
    n = 20_000
    heads = (0, *range(3, n + 1), 2)
    with pytest.raises(AnnotationError, match=r"cycle: 2 -> 3 .* \.\.\."):
        Sentence(("w",) * n, heads, ("root", *["x"] * (n - 1)))


class Unparsed:
    @property
    def sents(self) -> None:
        raise ValueError("[E030] Sentence boundaries unset.")


def test_an_unparsed_spacy_document_is_said() -> None:
    with pytest.raises(AnnotationError, match="was not parsed"):
        from_parsed(Unparsed())
    with pytest.raises(TypeError, match="Expected a parsed spaCy Doc"):
        from_parsed("text")
