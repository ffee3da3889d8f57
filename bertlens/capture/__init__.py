"""Attention out of a transformers model; only this package knows transformers' internals."""

from bertlens.capture.attention_function import Call, part
from bertlens.capture.capture import Layer, Stored, StoredLayer, store, stream
from bertlens.capture.fingerprint import Fingerprint, fingerprint
from bertlens.capture.loading import loaded, randomised, written
from bertlens.capture.model_info import (
    config_of,
    decoder_start,
    device_of,
    dtype_of,
    most_heads,
    most_tokens,
    takes,
    translates,
    vocabulary_size,
)
from bertlens.capture.plan import CapturePlan
from bertlens.capture.prepared import plan_for
from bertlens.capture.projection import Projected
from bertlens.capture.raw_scores import scores_before_softmax
from bertlens.capture.replay import Replay
from bertlens.capture.state import model_lock
from bertlens.capture.submodel import answers

__all__ = [
    "Call",
    "CapturePlan",
    "Fingerprint",
    "Layer",
    "Projected",
    "Replay",
    "Stored",
    "StoredLayer",
    "answers",
    "config_of",
    "decoder_start",
    "device_of",
    "dtype_of",
    "fingerprint",
    "loaded",
    "model_lock",
    "most_heads",
    "most_tokens",
    "part",
    "plan_for",
    "randomised",
    "scores_before_softmax",
    "store",
    "stream",
    "takes",
    "translates",
    "vocabulary_size",
    "written",
]
