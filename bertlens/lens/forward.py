"""Encoded texts through a model, as an Attention for each text and kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bertlens import capture
from bertlens.attention.attention import Attention
from bertlens.attention.capture_cache import CaptureCache
from bertlens.attention.captured import CapturedWeights
from bertlens.attention.maps import joined_kinds
from bertlens.attention.prediction import predict
from bertlens.text.edges import check_edges
from bertlens.text.encoding import Encoding
from bertlens.text.positions import Side, numbered

if TYPE_CHECKING:
    from bertlens.lens.lens import Lens


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
            "notes": (
                *encoding.notes,
                *(target.notes if target else ()),
                *notes,
                *stored.notes,
                *lens.notes,
            ),
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
        made.append(joined(lens, capturing, i, alone, _sides(encoding, target), common))
    return made


def _sides(encoding: Encoding, target: Encoding | None) -> dict[str, tuple[Side, Side]]:
    """Kind -> what attends and what is attended to."""
    source = (encoding.tokens, encoding.words)
    sides = {"self": (source, source), "encoder": (source, source)}
    if target is not None:
        written = (target.tokens, target.words)
        sides |= {"decoder": (written, written), "cross": (written, source)}
    return sides


def joined(
    lens: Lens,
    capturing: CaptureCache,
    text: int,
    alone: bool,
    sides: Mapping[str, tuple[Side, Side]],
    common: Mapping[str, Any],
) -> Attention:
    """An Attention for each kind of a text in a captured batch; the first leads to the others.

    Args:
        text: its index in the batch.
        alone: whether it is the only one, so that nothing of the batch is padding.
        sides: kind -> tokens and words of rows and columns; other positions are numbered.
        common: what else `Attention` takes.
    """
    found = []
    for kind, layers in capturing.stored().kinds.items():
        own = sides.get(kind)
        lengths = None if own is None else tuple(len(tokens) for tokens, _ in own)
        fits = lengths == layers[0].shape if alone else lengths is not None
        notes = tuple(common["notes"])
        if own is not None and fits:
            rows, columns = own
        else:
            rows, columns = map(numbered, layers[0].shape)
            if common.get("text"):
                notes += (f"The {kind} attention is not between tokens: positions are numbered.",)
        crop = None if alone else lengths
        crossed = own is None or own[0] is not own[1]
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
