"""Importing bertlens is quick, because it imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys


def test_importing_bertlens_imports_nothing_heavy() -> None:
    program = "import sys, bertlens; print(*{name.partition('.')[0] for name in sys.modules})"
    modules = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "bertlens" in modules
    heavy = {"torch", "transformers", "anywidget", "ipywidgets", "IPython", "numpy", "pandas"}
    assert not heavy & set(modules)


def test_every_public_name_is_there() -> None:
    import bertlens

    for name in bertlens.__all__:
        assert getattr(bertlens, name) is not None
    assert set(bertlens.__all__) <= set(dir(bertlens))


def test_an_unknown_name_is_an_attribute_error() -> None:
    import pytest

    import bertlens

    with pytest.raises(AttributeError, match="'no_such_name'"):
        bertlens.no_such_name  # noqa: B018
