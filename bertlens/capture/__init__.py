"""Attention out of a transformers model; only this package knows transformers' internals."""

from bertlens.capture.attention_function import Call
from bertlens.capture.capture import Layer, Stored, StoredLayer, reach, store, stream
from bertlens.capture.fingerprint import Fingerprint, fingerprint
from bertlens.capture.loading import loaded, randomised
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
from bertlens.capture.part import part
from bertlens.capture.plan import TIERS, CapturePlan
from bertlens.capture.projection import Projected
from bertlens.capture.raw_scores import Scores, scores_before_softmax
from bertlens.capture.replay import Replay
from bertlens.capture.state import model_lock, preserve_state
from bertlens.capture.submodel import answers, unwrapped
from bertlens.capture.writing import written

__all__ = [
    "TIERS",
    "Call",
    "CapturePlan",
    "Fingerprint",
    "Layer",
    "Projected",
    "Replay",
    "Scores",
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
    "preserve_state",
    "randomised",
    "reach",
    "scores_before_softmax",
    "store",
    "stream",
    "takes",
    "translates",
    "unwrapped",
    "vocabulary_size",
    "written",
]
