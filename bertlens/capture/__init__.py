"""Attention out of a transformers model. Nothing else here knows transformers' internals."""

from bertlens.capture.borrowing import borrowed, model_lock
from bertlens.capture.layers import StoredLayer, store, stream

__all__ = ["StoredLayer", "borrowed", "model_lock", "store", "stream"]
