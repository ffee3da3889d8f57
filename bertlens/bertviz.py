"""head_view and model_view, called as BertViz calls them.

Their arguments are BertViz 1.4's, so that moving over is one changed import; what they return is
bertlens's widget, which carries on where the picture stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlens.attention.attention import Attention
from bertlens.attention.from_tensors import from_tensors, stacked
from bertlens.attention.maps import checked_index, joined_kinds

if TYPE_CHECKING:
    from bertlens.widgets.view import View


def head_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "view",
) -> View:
    """The head view of attention tensors: lines from token to token, coloured by head.

    Args:
        attention, tokens: layers [1, head, from, to] or any form that `Attention.from_tensors`
            takes, and the tokens; of a model of one kind of attention.
        sentence_b_start: index of the second text's first token.
        prettify_tokens: accepted; labels are always readable, the raw piece is in the tooltip.
        layer: shown first.
        heads: chosen first; all by default.
        encoder_attention, decoder_attention, cross_attention, encoder_tokens, decoder_tokens: of an
            encoder-decoder, those that are given.
        include_layers: only these layers, numbered anew from 0; a note says which they are.
        html_action: "view" or "return"; the widget is returned either way, and shows itself as the
            last value of a cell.

    Raises:
        TypeError, ValueError, IndexError: what was given does not fit together.
    """
    _check_action(html_action)
    chosen = _attention(locals(), include_layers, None)
    start = 0 if layer is None else _place_of(layer, include_layers, chosen.n_layers)
    shown = list(range(chosen.n_heads)) if heads is None else list(heads)
    return chosen.explore(layer=start, heads=shown).head_view()


def model_view(
    attention: Any = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "view",
) -> View:
    """Every layer and head at a glance; a click opens one.

    Args:
        display_mode: "dark" or "light"; accepted, but the widget follows the notebook's theme.
        include_heads: only these heads, numbered anew from 0; a note says which they are.
        others: as in `head_view`.

    Raises:
        TypeError, ValueError, IndexError: what was given does not fit together.
    """
    _check_action(html_action)
    if display_mode not in ("dark", "light"):
        raise ValueError(f'display_mode must be "dark" or "light", not {display_mode!r}.')
    return _attention(locals(), include_layers, include_heads).explore()


def _check_action(html_action: str) -> None:
    if html_action not in ("view", "return"):
        raise ValueError(f'html_action must be "view" or "return", not {html_action!r}.')


def _attention(
    given: dict[str, Any], layers: Sequence[int] | None, heads: Sequence[int] | None
) -> Attention:
    """The kinds that were given, each as an Attention that leads to the others."""
    tokens, encoder, decoder = (
        given[name] for name in ("tokens", "encoder_tokens", "decoder_tokens")
    )
    if given["attention"] is not None:
        if any(given[f"{kind}_attention"] is not None for kind in ("encoder", "decoder", "cross")):
            raise ValueError(
                "Give attention and tokens of a model of one kind, or encoder_attention, "
                "decoder_attention and cross_attention of an encoder-decoder; not both."
            )
        return _kind(
            given["attention"], "self", tokens, None, given["sentence_b_start"], layers, heads
        )
    sides = {"encoder": (encoder, None), "decoder": (decoder, None), "cross": (decoder, encoder)}
    made = [
        _kind(given[f"{kind}_attention"], kind, rows, columns, None, layers, heads)
        for kind, (rows, columns) in sides.items()
        if given[f"{kind}_attention"] is not None
    ]
    if not made:
        raise ValueError(
            "There is no attention to show: give attention and tokens, or encoder_attention, "
            "decoder_attention or cross_attention."
        )
    return joined_kinds(made)


def _kind(
    attention: Any,
    kind: str,
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    second: int | None,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
) -> Attention:
    if rows is None or (kind == "cross" and columns is None):
        names = {"self": "tokens", "encoder": "encoder_tokens", "decoder": "decoder_tokens"}
        needed = names.get(kind, "encoder_tokens and decoder_tokens")
        raise ValueError(f"The {kind} attention needs {needed}.")
    weights = stacked(attention)
    notes = []
    for axis, (what, chosen) in enumerate((("layer", layers), ("head", heads))):
        if chosen is not None:
            kept = [checked_index(i, weights.shape[axis], what) for i in chosen]
            if not kept:
                raise ValueError(f"include_{what}s is empty: name at least one {what}.")
            weights = np.take(weights, kept, axis=axis)
            notes.append(
                f"Only {what}s {', '.join(map(str, kept))}, shown as 0 to {len(kept) - 1}."
            )
    made = from_tensors(weights, rows, columns, sentence_b_start=second, kind=kind)
    made.notes = (*notes, *made.notes)
    return made


def _place_of(layer: int, included: Sequence[int] | None, n: int) -> int:
    if included is None:
        return checked_index(layer, n, "layer")
    if layer not in included:
        raise ValueError(f"Layer {layer} is not among include_layers={list(included)}.")
    return list(included).index(layer)
