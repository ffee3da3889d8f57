"""See, score and test every attention head of a transformer from a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertlens.attention.attention import Attention
    from bertlens.bertviz import head_view, model_view
    from bertlens.errors import BertlensError, ModelChangedError
    from bertlens.lens.lens import Lens
    from bertlens.scores.head_scores import HeadScores
    from bertlens.text.tokens import Token, Word

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "BertlensError",
    "HeadScores",
    "Lens",
    "ModelChangedError",
    "Token",
    "Word",
    "head_view",
    "model_view",
]

# Names load on first use, so that `import bertlens` does not import torch.
_HOMES = {
    "Attention": "bertlens.attention.attention",
    "BertlensError": "bertlens.errors",
    "HeadScores": "bertlens.scores.head_scores",
    "Lens": "bertlens.lens.lens",
    "ModelChangedError": "bertlens.errors",
    "Token": "bertlens.text.tokens",
    "Word": "bertlens.text.tokens",
    "head_view": "bertlens.bertviz",
    "model_view": "bertlens.bertviz",
}
_MODULES = {
    "causal": "bertlens.causal",
    "clustering": "bertlens.corpus.distances",
    "find_heads": "bertlens.corpus.head_patterns",
    "importance": "bertlens.corpus.importance",
    "memory": "bertlens.attention.memory",
    "patterns": "bertlens.scores.patterns",
    "probes": "bertlens.probes",
    "surface": "bertlens.scores.catalogue",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(_MODULES[name])
    raise AttributeError(f"module 'bertlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES])
