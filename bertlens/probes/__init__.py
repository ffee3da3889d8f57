"""What syntax and coreference single heads know, and all heads together (paper sections 4, 5)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertlens.probes.classifier import AttentionProbe
    from bertlens.probes.comparison import ProbeTable, compare
    from bertlens.probes.coreference import coreference
    from bertlens.probes.coreference_files import read_conll2012, read_coreference
    from bertlens.probes.coreference_table import CoreferenceTable
    from bertlens.probes.documents import Document, Mention
    from bertlens.probes.examples import Example
    from bertlens.probes.parsed import from_parsed
    from bertlens.probes.relation_table import RelationTable
    from bertlens.probes.relations import relations
    from bertlens.probes.treebank import Sentence, Treebank, read_conllu
    from bertlens.probes.vectors import WordVectors, read_vectors
    from bertlens.probes.word_maps import WordMaps, word_maps
    from bertlens.probes.words_classifier import AttentionAndWordsProbe

__all__ = [
    "AttentionAndWordsProbe",
    "AttentionProbe",
    "CoreferenceTable",
    "Document",
    "Example",
    "Mention",
    "ProbeTable",
    "RelationTable",
    "Sentence",
    "Treebank",
    "WordMaps",
    "WordVectors",
    "compare",
    "coreference",
    "from_parsed",
    "read_conll2012",
    "read_conllu",
    "read_coreference",
    "read_vectors",
    "relations",
    "word_maps",
]

# Names load on first use: reading a treebank needs no torch.
_HOMES = {
    "AttentionAndWordsProbe": "words_classifier",
    "AttentionProbe": "classifier",
    "ProbeTable": "comparison",
    "WordMaps": "word_maps",
    "WordVectors": "vectors",
    "compare": "comparison",
    "read_vectors": "vectors",
    "word_maps": "word_maps",
    "CoreferenceTable": "coreference_table",
    "Document": "documents",
    "Mention": "documents",
    "coreference": "coreference",
    "read_conll2012": "coreference_files",
    "read_coreference": "coreference_files",
    "Example": "examples",
    "RelationTable": "relation_table",
    "Sentence": "treebank",
    "Treebank": "treebank",
    "from_parsed": "parsed",
    "read_conllu": "treebank",
    "relations": "relations",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        home = import_module(f"bertlens.probes.{_HOMES[name]}")
        found = getattr(home, name)
        # The module `relations` would otherwise hide the function of that name.
        globals()[name] = found
        return found
    raise AttributeError(f"module 'bertlens.probes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
