"""Attention out of a transformers model; only this package knows transformers' internals."""

from bertlens.capture.attention_function import Call, part
from bertlens.capture.capture import Layer, Stored, StoredLayer, store, stream
from bertlens.capture.edited_model import EditedModel, check_plan, without_edits
from bertlens.capture.edits import EdgeEdit, Edit, Editor, HeadEdit, PatchEdit, Places
from bertlens.capture.fingerprint import Fingerprint, fingerprint
from bertlens.capture.loading import generation_setting, loaded, randomised, written
from bertlens.capture.model_info import (
    config_of,
    decoder_start,
    device_of,
    dtype_of,
    is_quantised,
    most_heads,
    most_tokens,
    most_written,
    takes,
    translates,
    vocabulary_size,
)
from bertlens.capture.plan import CapturePlan
from bertlens.capture.prepared import plan_for
from bertlens.capture.projection import Projected
from bertlens.capture.raw_scores import scores_before_softmax
from bertlens.capture.replay import Replay
from bertlens.capture.running import (
    EditedPass,
    RunningEdits,
    head_outputs,
    outputs_with_edits,
    running,
)
from bertlens.capture.state import model_lock
from bertlens.capture.submodel import answers, unwrapped

__all__ = [
    "Call",
    "CapturePlan",
    "EdgeEdit",
    "Edit",
    "EditedModel",
    "EditedPass",
    "Editor",
    "Fingerprint",
    "HeadEdit",
    "Layer",
    "PatchEdit",
    "Places",
    "Projected",
    "Replay",
    "RunningEdits",
    "Stored",
    "StoredLayer",
    "answers",
    "check_plan",
    "config_of",
    "decoder_start",
    "device_of",
    "dtype_of",
    "fingerprint",
    "generation_setting",
    "head_outputs",
    "is_quantised",
    "loaded",
    "model_lock",
    "most_heads",
    "most_tokens",
    "most_written",
    "outputs_with_edits",
    "part",
    "plan_for",
    "randomised",
    "running",
    "scores_before_softmax",
    "store",
    "stream",
    "takes",
    "translates",
    "unwrapped",
    "vocabulary_size",
    "without_edits",
    "written",
]
