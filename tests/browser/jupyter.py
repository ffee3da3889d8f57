"""A real JupyterLab server, and a notebook open in it, as a test drives them."""

from __future__ import annotations

import ast
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Locator, Page

CONFIG = """
from jupyterlab.galata import configure_jupyter_server

from bertlens.cli.demo import without_news

configure_jupyter_server(c)
c.ServerApp.port = {port}
c.ServerApp.root_dir = {root!r}
c.ServerApp.allow_root = True
c.LabApp.workspaces_dir = {workspaces!r}
c.LabApp.user_settings_dir = {settings!r}
c.ServerApp.tornado_settings = {{"page_config_hook": without_news}}
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
"""

# In the page: the open notebook's panel.
PANEL = "window.jupyterapp.shell.currentWidget"
OPEN = "(name) => window.jupyterapp?.shell?.currentWidget?.context?.path === name"
READY = f"""async () => {{
  const panel = {PANEL};
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}}"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
RUN_ONE = f"""async (index) => {{
  {PANEL}.content.activeCellIndex = index;
  await window.jupyterapp.commands.execute("notebook:run-cell");
}}"""
SCROLL = f"async (index) => {PANEL}.content.scrollToItem(index, 'start')"
EVALUATE = f"""async ([code, expression]) => {{
  const kernel = {PANEL}.sessionContext.session.kernel;
  const reply = await kernel.requestExecute({{
    code, silent: true, store_history: false, user_expressions: {{ value: expression }},
  }}).done;
  const content = reply.content;
  if (content.status !== "ok") return [false, `${{content.ename}}: ${{content.evalue}}`];
  const value = content.user_expressions.value;
  if (value.status !== "ok") return [false, `${{value.ename}}: ${{value.evalue}}`];
  return [true, value.data["text/plain"]];
}}"""


@dataclass
class Lab:
    """A running server: its address, and the folder that it serves."""

    url: str
    root: Path

    def write(self, name: str, *cells: str) -> str:
        """Put a notebook of these code cells in the folder; returns its name."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, self.root / name)
        return name


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """JupyterLab on a free port, with settings of its own and without a network."""
    root = folder / "notebooks"
    root.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "config.py"
    config.write_text(
        CONFIG.format(
            port=port,
            root=str(root),
            workspaces=str(folder / "workspaces"),
            settings=str(folder / "settings"),
        )
    )
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "IPYTHONDIR": str(folder / "ipython"),
        "OMP_NUM_THREADS": "1",
        # Whatever in the kernel would fetch something runs into a closed door at once.
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "no_proxy": "127.0.0.1,localhost",
    }
    log = folder / "jupyterlab.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", f"--config={config}"],
            env=environment,
            cwd=root,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/api", process, log)
            yield Lab(f"http://127.0.0.1:{port}", root)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once `url` answers; with the server's log where it never does."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()}")


class Notebook:
    """A notebook open in JupyterLab: run its cells, ask its kernel, find its outputs."""

    def __init__(self, page: Page, lab: Lab, name: str) -> None:
        self.page = page
        page.goto(f"{lab.url}/lab/workspaces/{Path(name).stem}/tree/{name}?reset")
        page.wait_for_function(OPEN, arg=name, timeout=90_000)
        page.evaluate(READY)

    def close(self) -> None:
        """Shut the kernel down, so that many notebooks do not add up."""
        self.page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")

    def run_all(self) -> None:
        """Run every cell; a run that a fresh kernel loses is tried again."""
        count = self.page.evaluate(f"() => {PANEL}.content.widgets.length")
        executed = (
            f"(count) => {PANEL}.content.widgets.slice(0, count)"
            ".every((cell) => cell.model.type !== 'code' || cell.model.executionCount)"
        )
        for _ in range(3):
            self.page.evaluate(RUN_ALL)
            if self.page.evaluate(executed, count):
                return
        raise AssertionError(f"the cells did not run: {self.errors()}")

    def run(self, index: int) -> None:
        """Run one cell, and wait until it has run."""
        self.page.evaluate(RUN_ONE, index)

    def errors(self) -> list[str]:
        """The exceptions that cells ended in."""
        found: list[str] = self.page.evaluate(
            f"""() => {PANEL}.content.widgets.flatMap((cell) => {{
              const outputs = cell.model.type === "code" ? cell.model.outputs.toJSON() : [];
              return outputs.filter((output) => output.output_type === "error")
                .map((output) => `${{output.ename}}: ${{output.evalue}}`);
            }})"""
        )
        return found

    def output(self, index: int) -> Locator:
        """The output of one cell, scrolled to."""
        self.page.evaluate(SCROLL, index)
        return self.page.locator(f".jp-Cell[data-windowed-list-index='{index}'] .jp-OutputArea")

    def do(self, code: str) -> None:
        """Run Python in the notebook's kernel, as a cell would."""
        self._ask(code, "None")

    def python(self, expression: str) -> Any:
        """The value of a Python expression in the notebook's kernel."""
        return ast.literal_eval(self._ask("", expression))

    def becomes(self, expression: str, value: Any, seconds: float = 10) -> None:
        """Wait until a Python expression has this value."""
        deadline = time.monotonic() + seconds
        while (seen := self.python(expression)) != value:
            assert time.monotonic() < deadline, f"{expression} is {seen!r}, not {value!r}"
            self.page.wait_for_timeout(20)

    def _ask(self, code: str, expression: str) -> str:
        ok, text = self.page.evaluate(EVALUATE, [code, expression])
        assert ok, f"{code or expression} raised {text}"
        return str(text)
