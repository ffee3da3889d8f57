"""A text that a person typed on the page."""

from __future__ import annotations

from bertlens.widgets.requests.protocol import Reply, Request, handles, model_of


@handles("text")
def text(request: Request) -> Reply:
    """{text, text_pair} -> {}, after the traits have changed; an empty text_pair is none."""
    selection = request.selection
    typed = request.text("text")
    pair = request.text("text_pair") if request.has("text_pair") else ""
    asked = (typed, pair if pair.strip() else None)
    if not selection.shows(*asked):
        with model_of(request.attention):
            made = selection.attend(*asked)
        selection.show(made)
    return Reply()
