"""A page without a browser: the other end of a widget's comm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
from comm.base_comm import BaseComm
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

import bertlens as bl
from bertlens.widgets.view import View
from tests.python.tiny import tiny

PIECES = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] i went to the store . at , bought fresh straw ##ber ##ries "
    "cat sat on mat dog did not mind"
)


def countable() -> bl.Lens:
    """A random BERT of 3 layers x 4 heads over a vocabulary that can be counted by hand."""
    ids = {piece: i for i, piece in enumerate(PIECES.split())}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )
    return bl.Lens(tiny("bert"), fast)


_ids = count()


class RecordingComm(BaseComm):
    """Keeps every message of the kernel as JSON would carry it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.messages: list[tuple[dict[str, Any], list[Any]]] = []
        super().__init__(*args, **kwargs)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
    ) -> None:
        if data:
            self.messages.append((json.loads(json.dumps(data)), list(buffers or [])))


class Page:
    """What the page of one widget knows and does."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.comm: RecordingComm = view.comm

    @property
    def state(self) -> dict[str, Any]:
        """The traits as the page has them after all messages so far."""
        known: dict[str, Any] = {}
        for data, _ in self.comm.messages:
            known |= data.get("state", {})
        return known

    def set(self, **traits: Any) -> None:
        """What a click does: traits reach the kernel."""
        data = {"method": "update", "state": traits, "buffer_paths": []}
        self.view._handle_msg({"content": {"data": data}, "buffers": []})

    def ask(self, kind: str, **fields: Any) -> tuple[dict[str, Any], np.ndarray | None]:
        """Send a request and return its reply, and its array decoded."""
        content = {
            "id": f"page-{next(_ids)}",
            "kind": kind,
            "generation": self.state["generation"],
            **fields,
        }
        data = {"method": "custom", "content": content}
        self.view._handle_msg({"content": {"data": data}, "buffers": []})
        replies = [
            (message["content"], buffers)
            for message, buffers in self.comm.messages
            if message.get("method") == "custom" and message["content"]["id"] == content["id"]
        ]
        assert len(replies) == 1, "every request is answered once"
        reply, buffers = replies[0]
        if reply["shape"] is None:
            assert not buffers
            return reply, None
        (buffer,) = buffers
        return reply, np.frombuffer(buffer, reply["dtype"]).reshape(reply["shape"])

    @contextmanager
    def new(self) -> Iterator[list[dict[str, Any]]]:
        """Messages sent to the page inside the block."""
        before, seen = len(self.comm.messages), []
        yield seen
        seen += [message for message, _ in self.comm.messages[before:]]
