"""The probe view in JupyterLab: from a relation to a head, to its sentences, to the head view."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.explorer import Explorer
from tests.browser.jupyter import Lab, Notebook

CELLS = (
    "import bertlens as bl\n"
    "lens = bl.Lens.demo()\n"
    "treebank = bl.probes.sample_treebank()\n"
    "table = bl.probes.relations(lens, treebank, progress=False)\n"
    "view = table.explore(lens, 'obj')",
    "view",
    "view.probe_view()",
)


class Probe:
    """The probe view's part of a display."""

    def __init__(self, output: Locator) -> None:
        self.pane = output.get_by_role("region", name="Probe")
        self.sentences = self.pane.get_by_role("listbox").get_by_role("option")
        self.sentences.first.wait_for(timeout=60_000)

    def sentence(self, text: str) -> Locator:
        return self.sentences.filter(has_text=text)

    def menu(self, label: str) -> Locator:
        return self.pane.get_by_role("combobox", name=label)


@pytest.fixture(scope="module")
def notebook(page: Page, lab: Lab) -> Iterator[Notebook]:
    notebook = Notebook(page, lab, lab.write("probe.ipynb", *CELLS))
    notebook.run_all()
    assert notebook.errors() == []
    yield notebook
    notebook.close()


@pytest.fixture
def probe(notebook: Notebook) -> Probe:
    """The first display, on the best head for objects, without filters."""
    notebook.do("view.relation = 'obj'; view.layer, view.heads = table['obj'].best()[0], [0]")
    notebook.do("view.heads = [table['obj'].best().head]")
    probe = Probe(notebook.output(1))
    probe.pane.get_by_role("button", name="all", exact=True).click()
    probe.menu("distance").select_option("")
    return probe


def test_the_view_opens_on_the_relations_best_head(notebook: Notebook, probe: Probe) -> None:
    assert notebook.python("view.score is table['obj']")
    right, words = notebook.python(
        "next((row.correct, row.support) for row in table.rows if row.relation == 'obj')"
    )
    expect(probe.pane).to_contain_text(f"finds the head of {right} of {words} words")
    expect(probe.sentences).to_have_count(words)


def test_choosing_a_relation_reaches_python_and_colours_the_grid(
    notebook: Notebook, probe: Probe
) -> None:
    probe.menu("relation").select_option("det")

    notebook.becomes("view.relation", "det")
    assert notebook.python("view.score is table['det']")
    expect(probe.pane).to_contain_text("with relation det")


def test_clicking_a_sentence_opens_it_in_the_head_view_by_words(
    notebook: Notebook, probe: Probe
) -> None:
    probe.sentence("My sister painted").click()

    notebook.becomes("view.text", "My sister painted the garden gate green .")
    notebook.becomes("view.level", "word")
    assert notebook.python("view.example.words[view.example.dependent - 1]") == "gate"
    pinned = "view.attention.words[view.attention.tokens[view.token].word].text"
    assert notebook.python(pinned) == "gate"
    head_pane = Explorer(notebook.output(1)).head_pane
    expect(head_pane).to_contain_text("painted")
    expect(head_pane.locator("[aria-selected=true]")).to_have_text(re.compile("gate"))
    expect(probe.sentence("My sister painted")).to_have_attribute("aria-selected", "true")


def test_misses_alone(notebook: Notebook, probe: Probe) -> None:
    probe.pane.get_by_role("button", name="misses").click()

    missed = notebook.python("len(table.examples('obj', view.layer, view.heads[-1], hit=False))")
    expect(probe.sentences).to_have_count(missed)
    expect(probe.sentences.first).to_contain_text("this head picks")


def test_another_cell_and_python_stay_in_step(notebook: Notebook, probe: Probe) -> None:
    notebook.do(
        "view.example = next(e for e in table.examples('obj', view.layer, view.heads[-1])"
        " if 'bell' in e.words)"
    )

    expect(probe.sentence("hear the bell")).to_have_attribute("aria-selected", "true")
    other = Probe(notebook.output(2))
    expect(other.sentence("hear the bell")).to_have_attribute("aria-selected", "true")


def test_nothing_keeps_people_out(notebook: Notebook, probe: Probe, axe: str) -> None:
    page = notebook.page
    page.evaluate(axe)
    found = page.evaluate(
        "async (pane) => (await axe.run(pane, {resultTypes: ['violations']}))"
        ".violations.map((violation) => violation.id)",
        probe.pane.element_handle(),
    )
    assert found == []
