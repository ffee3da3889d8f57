"""Encoded texts through a model, as an Attention for each text and kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from bertlens import capture
from bertlens.attention.attention import Attention
from bertlens.attention.capture_cache import CaptureCache
from bertlens.attention.captured import CapturedWeights
from bertlens.attention.maps import joined_kinds
from bertlens.attention.prediction import predict
from bertlens.text.edges import check_edges
from bertlens.text.encoding import Encoding
from bertlens.text.tokens import Token, Word

if TYPE_CHECKING:
    from bertlens.lens.lens import Lens

Side = tuple[tuple[Token, ...], tuple[Word, ...]]


def attention_of_encodings(
    lens: Lens,
    encodings: Sequence[Encoding],
    targets: Sequence[Encoding] | None = None,
    *,
    exact: bool = False,
    keep: bool = False,
    since: capture.Fingerprint | None = None,
    notes: Sequence[str] = (),
) -> list[Attention]:
    """One Attention a text, each of the model's first kind; `kind` leads to the others.

    Args:
        targets: for an encoder-decoder, what its decoder reads, one a text.
        exact: store eager's weights, instead of what they are made from.
        keep: never drop what is stored, and store what value norms are made from too.
        since: of the model as it has to be still.
        notes: what else to know when reading the weights.

    Raises:
        ModelChangedError: the model has changed since `since`.
    """
    if isinstance(lens.model, capture.EditedModel):
        for i, encoding in enumerate(encodings):
            check_edges(lens.model.edits, encoding, targets[i] if targets else None)
    inputs = lens.tensors(encodings, targets)
    replay = capture.Replay(lens.model, inputs)
    capturing = CaptureCache(replay, exact=exact, keep=keep, since=since)
    stored = capturing.stored()
    made = []
    for i, encoding in enumerate(encodings):
        target = None if targets is None else targets[i]
        common: dict[str, Any] = {
            "model_name": lens.name,
            "dtype": lens.dtype,
            "text": encoding.text,
            "text_pair": encoding.text_pair if target is None else target.text,
            "notes": (*encoding.notes, *(target.notes if target else ()), *notes, *stored.notes),
            "lens": lens,
            "prediction": predict(
                capture.answers(lens.model),
                stored.logits,
                lens.config,
                encoding.tokens,
                (encoding.text, encoding.text_pair),
                text=i,
            ),
        }
        alone = len(encodings) == 1
        made.append(_kinds(lens, capturing, i, alone, _sides(encoding, target), common))
    return made


def attention_of_inputs(
    lens: Lens, inputs: Mapping[str, Any], *, exact: bool = False, keep: bool = False
) -> Attention:
    """An Attention of what is no text, such as an image: its tokens are numbered positions."""
    # The caller may write into tensors of theirs, and the same pass may have to be made again.
    own = {
        name: value.to(lens.device, copy=True) if isinstance(value, Tensor) else value
        for name, value in inputs.items()
    }
    capturing = CaptureCache(capture.Replay(lens.model, own), exact=exact, keep=keep)
    stored = capturing.stored()
    common: dict[str, Any] = {
        "model_name": lens.name,
        "dtype": lens.dtype,
        "notes": stored.notes,
        "prediction": predict(
            capture.answers(lens.model), stored.logits, lens.config, (), ("", None)
        ),
    }
    return _kinds(lens, capturing, 0, True, {}, common)


def _sides(encoding: Encoding, target: Encoding | None) -> dict[str, tuple[Encoding, Encoding]]:
    """Kind -> what attends and what is attended to."""
    sides = {"self": (encoding, encoding), "encoder": (encoding, encoding)}
    if target is not None:
        sides |= {"decoder": (target, target), "cross": (target, encoding)}
    return sides


def _kinds(
    lens: Lens,
    capturing: CaptureCache,
    text: int,
    alone: bool,
    sides: Mapping[str, tuple[Encoding, Encoding]],
    common: Mapping[str, Any],
) -> Attention:
    found = []
    for kind, layers in capturing.stored().kinds.items():
        encodings = sides.get(kind)
        lengths = None if encodings is None else tuple(map(len, encodings))
        fits = lengths == layers[0].shape if alone else lengths is not None
        notes = tuple(common["notes"])
        if encodings is not None and fits:
            rows, columns = ((e.tokens, e.words) for e in encodings)
        else:
            rows, columns = map(numbered, layers[0].shape)
            if common.get("text"):
                notes += (f"The {kind} attention is not between tokens: positions are numbered.",)
        crop = None if alone or encodings is None else tuple(map(len, encodings))
        crossed = encodings is None or encodings[0] is not encodings[1]
        name = "encoder" if kind == "self" and lens.translates else kind
        found.append(
            Attention(
                CapturedWeights(
                    capturing,
                    kind,
                    text=text,
                    rows=None if crop is None else range(crop[0]),
                    columns=None if crop is None else range(crop[1]),
                ),
                *rows,
                columns=columns if crossed and rows != columns else None,
                kind_name=name,
                **{**common, "notes": notes},
            )
        )
    return joined_kinds(found)


def numbered(n: int) -> Side:
    """Positions that are not tokens of a text, such as patches of an image, by number."""
    tokens = tuple(Token(str(i), str(i), None, None, i, 0, False) for i in range(n))
    words = tuple(Word(str(i), (i,), 0, False, i) for i in range(n))
    return tokens, words
