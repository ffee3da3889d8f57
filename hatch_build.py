"""Builds the page's bundle from js/ whenever the one at hand is not the sources' own.

The bundle carries a stamp, a hash of all it was built from, so that a wheel, an sdist or an
editable install never ships a stale page, and building from an sdist needs no Node at all.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("bertlens", "widgets", "static")
BUNDLE = ("widget.js", "widget.css", "late.js")
STAMP = "widget.stamp"


def sources(js: Path) -> list[Path]:
    """Every file the bundle depends on: js/src, and the settings and lock in js/ itself."""
    files = (path for path in [*js.iterdir(), *(js / "src").rglob("*")] if path.is_file())
    return sorted(path for path in files if not path.name.startswith("."))


def digest(js: Path) -> str:
    """SHA-256 over the names and bytes of `sources`."""
    total = hashlib.sha256()
    for path in sources(js):
        name = path.relative_to(js).as_posix()
        total.update(f"{name}\0{path.stat().st_size}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def is_current(root: Path) -> bool:
    """Whether the bundle is complete and was built from the sources as they are now."""
    static = root / STATIC
    if not all((static / name).is_file() for name in (*BUNDLE, STAMP)):
        return False
    return (static / STAMP).read_text().strip() == digest(root / "js")


def build(root: Path) -> None:
    """Run npm in js/ and stamp what it made; a RuntimeError says what to do where that fails."""
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError(
            "bertlens: the widget's bundle is missing or older than its sources in js/, and npm "
            "was not found: install Node.js 20 or newer, or install a released wheel."
        )
    before = digest(root / "js")
    for command in ([npm, "ci", "--no-audit", "--no-fund"], [npm, "run", "build"]):
        if subprocess.run(command, cwd=root / "js").returncode:
            raise RuntimeError(
                f"bertlens: `npm {' '.join(command[1:])}` failed in js/, see its output above."
            )
    missing = [name for name in BUNDLE if not (root / STATIC / name).is_file()]
    if missing:
        raise RuntimeError(f"bertlens: the build of js/ left no {' and no '.join(missing)}.")
    (root / STATIC / STAMP).write_text(before + "\n")


class CustomBuildHook(BuildHookInterface[Any]):
    """Hatchling calls this before it packs a wheel, an editable wheel or an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if not is_current(root):
            build(root)
        if self.target_name == "wheel" and version != "editable":
            # `bertlens demo` looks here first; an editable install reads the checkout's own folder.
            build_data["force_include"][str(root / "notebooks")] = "bertlens/notebooks"


if __name__ == "__main__":
    build(Path(__file__).parent)
