"""bertlens as a plain page: the built bundle, and a real view that answers over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

from bertlens.widgets import wire
from bertlens.widgets.view import View
from tests.benchmarks.chromium import Step, Subject

PAGE = Path(__file__).with_name("page.html")
PAINTED = "document.querySelector('.bl-pane-head')?.dataset.painted"
SHOWN = f"{PAINTED}?.endsWith(`:${{model.get('layer')}}:${{model.get('heads')}}`)"
HOVER = """
(() => {
  const tokens = document.querySelectorAll(".bl-pane-head [data-side=from]");
  window.at = ((window.at ?? 0) + 1) % tokens.length;
  tokens[window.at].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
})()
"""
HOVERED = "document.querySelector('.bl-pane-head').dataset.hover === `from:${window.at}`"


def switch(*layers: int) -> Step:
    """Going to these layers in turn, as Python would."""
    code = (
        f"window.turn = (window.turn ?? -1) + 1; model.set('layer', {list(layers)}"
        f"[window.turn % {len(layers)}])"
    )
    return Step(code, SHOWN)


HOVER_STEP = Step(HOVER, HOVERED)


@contextmanager
def served(view: View) -> Iterator[Subject]:
    """A server for one view on this machine, and its page."""
    static = files("bertlens") / "widgets" / "static"
    state = {name: value for name, value in view.get_state().items() if name[0] != "_"}
    answers = {
        "/": ("text/html", PAGE.read_text().replace("STATE", inside_html(state)).encode()),
        "/widget.js": ("text/javascript", static.joinpath("widget.js").read_bytes()),
        "/widget.css": ("text/css", static.joinpath("widget.css").read_bytes()),
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            kind, body = answers.get(self.path, ("text/plain", b""))
            self.answer(kind, body)

        def do_POST(self) -> None:
            content = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer("application/octet-stream", reply(view, content))

        def answer(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):  # the trial is over
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing: a line for each request would only be in the way."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Subject(f"http://127.0.0.1:{server.server_port}/", ready=SHOWN)
    finally:
        server.shutdown()
        server.server_close()


def inside_html(state: dict[str, Any]) -> str:
    """JSON that ends no script element; in a notebook the state comes with the view as well."""
    return json.dumps(state).replace("<", "\\u003c")


def reply(view: View, content: dict[str, Any]) -> bytes:
    """What the kernel answers: the length of the content, the content, the buffer."""
    made, buffers = wire.reply(view.selection, content)
    head = json.dumps(made).encode()
    return len(head).to_bytes(4, "big") + head + b"".join(map(bytes, buffers))
