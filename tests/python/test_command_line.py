"""The `bertlens` command: what it prints, what it imports, what it copies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from bertlens.cli import demo, main


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main.main(["--help"])

    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in main.COMMANDS)


def test_an_unknown_command_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main.main(["dance"])

    assert stopped.value.code == 2
    assert "dance" in capsys.readouterr().err


def test_help_imports_neither_torch_nor_jupyterlab() -> None:
    script = (
        "import sys; from bertlens.cli import main\n"
        "try: main.main(['demo', '--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('torch', 'transformers', 'jupyterlab') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert out.stdout.splitlines()[-1] == "[]"


def test_the_notebooks_are_copied_once_and_never_over_the_persons_own(tmp_path: Path) -> None:
    shipped, mine = demo.shipped_notebooks(), tmp_path / "mine"
    demo.copy_notebooks(shipped, mine)
    (mine / demo.NOTEBOOK).write_text("what I wrote")

    demo.copy_notebooks(shipped, mine)

    assert (mine / demo.NOTEBOOK).read_text() == "what I wrote"


def test_the_demo_goes_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    folder = demo.copy_notebooks(demo.shipped_notebooks())

    assert folder == tmp_path / "bertlens-demo"
    assert json.loads((folder / demo.NOTEBOOK).read_text())["nbformat"] == 4


def test_where_the_current_folder_cannot_be_written_home_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(tmp_path)
    # root may write anywhere, so the permission itself is put in place of the real one
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) == home)

    assert demo.copy_notebooks(demo.shipped_notebooks()) == home / "bertlens-demo"


def test_the_demo_without_its_extra_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None)

    assert main.main(["demo", "--no-browser"]) == 2
    assert "pip install 'bertlens[demo]'" in capsys.readouterr().err


@pytest.mark.slow
def test_the_demo_serves_the_notebook_until_ctrl_c(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bertlens.cli.main", "demo", "--no-browser"]
    running: list[subprocess.Popen[str]] = []
    pages: list[str] = []
    # A job in the background ignores Ctrl-C, and what it starts would, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # The second finds the first one's port taken and chooses another.
        for _ in range(2):
            running.append(
                subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
            )
            pages.append(wait_for_address(running[-1]))
        assert pages[0].partition("/lab")[0] != pages[1].partition("/lab")[0]
        for page in pages:
            base, token = re.fullmatch(r"(http://[^/]+)/.*\?token=(\w+)", page).groups()  # type: ignore[union-attr]
            contents = f"{base}/api/contents/{demo.NOTEBOOK}?content=0&token={token}"
            with urllib.request.urlopen(contents, timeout=30) as answer:
                assert json.load(answer)["name"] == demo.NOTEBOOK
            with urllib.request.urlopen(page, timeout=30) as answer:
                assert answer.status == 200
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            rest, _ = process.communicate(timeout=30)
            assert process.returncode == 0
            assert rest.splitlines()[-1] == "JupyterLab has stopped."
    finally:
        for process in running:
            process.kill()


def wait_for_address(process: subprocess.Popen[str]) -> str:
    """The address that a starting demo prints; the process is ready once it has."""
    assert process.stdout
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (line := process.stdout.readline()):
        if found := re.search(r"http\S+", line):
            return found.group()
    raise AssertionError(f"no address was printed (exit status {process.poll()})")
