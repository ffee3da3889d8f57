"""The build hook ships the page that belongs to the sources, or says why it cannot."""

from __future__ import annotations

import shutil
from pathlib import Path

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


def test_without_npm_one_sentence_says_what_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)

    with pytest.raises(RuntimeError) as caught:
        hatch_build.build(project)

    assert "npm was not found: install Node.js 20 or newer" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failing_npm_leaves_the_old_stamp(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "js" / "src" / "index.ts").write_text("changed")
    monkeypatch.setattr(shutil, "which", lambda name: "false")

    with pytest.raises(RuntimeError, match=r"`npm ci .*` failed in js/"):
        hatch_build.build(project)

    assert not hatch_build.is_current(project)
