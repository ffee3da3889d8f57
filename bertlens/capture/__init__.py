"""Attention out of a transformers model. Nothing else here knows transformers' internals."""

from bertlens.capture.borrowing import borrowed, model_lock
from bertlens.capture.layers import Layer, Stored, StoredLayer, reach, store, stream
from bertlens.capture.reach import TIERS, Reach

__all__ = [
    "TIERS",
    "Layer",
    "Reach",
    "Stored",
    "StoredLayer",
    "borrowed",
    "model_lock",
    "reach",
    "store",
    "stream",
]
