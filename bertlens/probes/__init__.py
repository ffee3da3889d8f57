"""What syntax and coreference single heads know, and all heads together (paper sections 4, 5)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertlens.probes.examples import Example
    from bertlens.probes.parsed import from_parsed
    from bertlens.probes.relation_table import RelationTable
    from bertlens.probes.relations import relations
    from bertlens.probes.treebank import Sentence, Treebank, read_conllu

__all__ = [
    "Example",
    "RelationTable",
    "Sentence",
    "Treebank",
    "from_parsed",
    "read_conllu",
    "relations",
]

# Names load on first use: reading a treebank needs no torch.
_HOMES = {
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
