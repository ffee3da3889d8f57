"""bertlens as a plain page: the built bundle, and a real view behind a web socket, as in Jupyter.

Not over HTTP: what drives the browser keeps the bodies of all answers, in the memory measured.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler
from tornado.websocket import WebSocketHandler

from bertlens.widgets.requests import protocol
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

    class File(RequestHandler):
        def get(self) -> None:
            kind, body = answers[self.request.path]
            self.set_header("Content-Type", kind)
            self.finish(body)

    first = reply(view, opening(view))

    class Kernel(WebSocketHandler):
        def open(self, *args: str, **kwargs: str) -> None:
            self.write_message(first, binary=True)

        def on_message(self, message: str | bytes) -> None:
            self.write_message(reply(view, json.loads(message)), binary=True)

    application = Application([("/kernel", Kernel), *((path, File) for path in answers)])
    started: Future[tuple[asyncio.Event, asyncio.AbstractEventLoop, int]] = Future()

    async def serve() -> None:
        sockets = bind_sockets(0, "127.0.0.1")
        server = HTTPServer(application)
        server.add_sockets(sockets)
        stop = asyncio.Event()
        started.set_result((stop, asyncio.get_running_loop(), sockets[0].getsockname()[1]))
        await stop.wait()
        server.stop()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    stop, loop, port = started.result(timeout=30)
    try:
        yield Subject(f"http://127.0.0.1:{port}/", ready=SHOWN)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def opening(view: View) -> dict[str, Any]:
    """What a page asks for first: the maps that it shows."""
    now = {"id": 1, "kind": "block", "generation": view.generation, "level": view.level}
    return {**now, "layer": view.layer, "heads": view.heads}


def inside_html(state: dict[str, Any]) -> str:
    """JSON that ends no script element; in a notebook the state comes with the view as well."""
    return json.dumps(state).replace("<", "\\u003c")


def reply(view: View, content: dict[str, Any]) -> bytes:
    """What the kernel answers: the length of the content, the content, the buffer."""
    made, buffers = protocol.reply(view.selection, content)
    head = json.dumps(made).encode()
    return len(head).to_bytes(4, "big") + head + b"".join(map(bytes, buffers))
