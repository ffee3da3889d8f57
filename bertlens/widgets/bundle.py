"""The page's module and style, as they were built from js/."""

from __future__ import annotations

import os
from pathlib import Path

from bertlens.widgets.requests.protocol import Reply, Request, handles

STATIC = Path(__file__).parent / "static"


def source(name: str, folder: Path = STATIC) -> str | Path:
    """The text of a built file, or its path while ANYWIDGET_HMR=1 asks for hot reload.

    A path is not the default because anywidget then watches the file and keeps every instance
    alive after it is closed.

    Raises:
        FileNotFoundError: the page was not built.
    """
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"The widget's page is not built: {path} is missing. In a checkout run "
            "`npm ci && npm run build` in js/ (Node.js 20 or newer), or install a released wheel."
        )
    return path if os.environ.get("ANYWIDGET_HMR") == "1" else path.read_text(encoding="utf-8")


def late_panes() -> str:
    """The code of the panes that the first paint does not need."""
    code = source("late.js")
    return code.read_text(encoding="utf-8") if isinstance(code, Path) else code


@handles("panes")
def panes(_: Request) -> Reply:
    """{} -> {code}: the panes that the first paint does not need."""
    return Reply(content={"code": late_panes()})
