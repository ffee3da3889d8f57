"""What a real kernel answers to a page, recorded for the page's own tests.

    python -m tests.python.exchanges    # writes js/test-support/exchanges.json

The fake kernel of the page's tests must answer each recorded request as the real one did.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

import bertlens as bl
from bertlens.corpus.distances import HeadDistances, HeadMap
from bertlens.probes import RelationTable, Sentence, Treebank
from bertlens.probes.relations.guesses import Guesses
from bertlens.widgets.explorer import Explorer
from bertlens.widgets.requests import protocol
from tests.python.page import countable

TARGET = Path(__file__).parents[2] / "js" / "test-support" / "exchanges.json"

PIECES = "[CLS] I went to the store . [SEP] At the store , I bought straw ##berries . [SEP]".split()
LAYERS, HEADS = 2, 3

REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("block", {"layer": 1, "heads": [0, 2], "level": "token"}),
    ("block", {"layer": 0, "heads": [1], "level": "word"}),
    ("grid", {"layers": [0, 1], "level": "token"}),
    ("grid", {"layers": [1], "level": "word"}),
    *(
        (
            "row",
            {
                "layer": 1,
                "heads": [2, 0],
                "index": index,
                "side": side,
                "level": level,
                "special": special,
            },
        )
        for index, side, level, special in (
            (4, "from", "token", "show"),
            (4, "to", "token", "show"),
            (13, "from", "word", "renormalise"),
            (13, "to", "token", "renormalise"),
            (None, "to", "token", "hide"),
            (None, "to", "word", "renormalise"),
        )
    ),
    ("scores", {}),
    ("between", {"from": 2, "to": 5, "level": "token"}),
    ("between", {"from": 13, "to": 3, "level": "word", "keep": True}),
    ("panes", {}),
)
"""Of attention that is there without a model, so that they are the same on every machine."""

MODEL_REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("inside", {"layer": 2, "head": 1, "index": 3, "side": "from"}),
    ("inside", {"layer": 0, "head": 2, "index": 3, "side": "to"}),
    ("nearest", {"layer": 1, "head": 2}),
    (
        "examples",
        {"relation": "nsubj", "layer": 2, "head": 1, "hit": "both", "distance": None, "start": 0},
    ),
    ("open", {"sentence": 0, "dependent": 2}),
    ("text", {"text": "I sat.", "text_pair": None}),
)
"""These need a model, a map of heads and a table of relations: their fields are recorded."""

TREES = Treebank(
    [
        Sentence(("The", "cat", "sat"), (2, 3, 0), ("det", "nsubj", "root")),
        Sentence(("I", "bought", "straw"), (2, 0, 2), ("nsubj", "root", "obj")),
    ],
    "hand.conllu",
)


def given_view() -> tuple[Explorer, np.ndarray]:
    """A view of weights made by a fixed generator, and the weights."""
    n = len(PIECES)
    weights = np.random.default_rng(7).dirichlet(np.full(n, 0.3), (LAYERS, HEADS, n))
    weights = weights.astype(np.float32)
    attention = bl.Attention.from_tensors(list(weights), PIECES, sentence_b_start=8)
    return attention.explore(), weights


def model_view() -> Explorer:
    """A view with a model behind it, a map of its heads and a table of relations."""
    view = countable().explore("I went to the store.")
    apart = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    points = np.stack([np.arange(12.0), np.zeros(12)], -1).reshape(3, 4, 2)
    view.head_map(HeadMap(points, np.full((3, 4), ""), HeadDistances(apart, 3, 4, texts=7)))
    ahead = np.concatenate([np.arange(2, len(sentence) + 2) for sentence in TREES])
    picked = np.tile(ahead.astype(np.int16)[None, :, None, None], (2, 1, 3, 4))
    picked[1] = 1
    view.probe_view(RelationTable(Guesses(TREES, picked, False)), relation="nsubj")
    return view


def asked(view: Explorer, kind: str, fields: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """A reply and its buffer."""
    request = {"id": "recorded", "generation": view.generation, "kind": kind, **fields}
    content, buffers = protocol.reply(view.selection, request)
    return json.loads(json.dumps(content)), b"".join(bytes(buffer) for buffer in buffers)


def record() -> dict[str, Any]:
    """The recorded exchanges, as JSON holds them."""
    view, weights = given_view()
    exchanges = []
    for kind, fields in REQUESTS:
        content, buffer = asked(view, kind, fields)
        if kind == "panes":
            content["code"] = "the code of the panes"
        exchanges.append(
            {
                "request": {"kind": kind, **fields},
                "reply": content,
                "buffer": base64.b64encode(buffer).decode() if content["dtype"] else None,
            }
        )
    meta = view.get_state("meta")["meta"]
    view.close()
    with_model = model_view()
    shapes = []
    for kind, fields in MODEL_REQUESTS:
        content, _ = asked(with_model, kind, fields)
        shapes.append({"request": {"kind": kind, **fields}, "reply": content})
    with_model.close()
    return {
        "meta": meta,
        "weights": base64.b64encode(weights.tobytes()).decode(),
        "exchanges": exchanges,
        "with_model": shapes,
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(record(), separators=(",", ":")) + "\n")
