"""BertViz's head view as a plain page, its scripts taken from npm instead of a CDN."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

from tests.benchmarks.chromium import Step, Subject
from tests.benchmarks.subjects import eager

SCRIPTS = {
    "require.js/2.3.6/require.min.js": ("requirejs@2.3.6", "requirejs/require.js"),
    "d3/5.7.0/d3.min.js": ("d3@5.7.0", "d3/dist/d3.min.js"),
    # npm has no 2.0.0
    "jquery/2.0.0/jquery.min.js": ("jquery@2.1.0", "jquery/dist/jquery.min.js"),
}
SWITCH = """
(() => {
  const layer = document.querySelector("#layer");
  layer.value = String((Number(layer.value) + 1) % layer.options.length);
  layer.dispatchEvent(new Event("change", { bubbles: true }));
})()
"""
HOVER = """
(() => {
  const tokens = document.querySelectorAll("#vis #left > g:last-child > g");
  window.at = ((window.at ?? 1) + 1) % tokens.length;
  tokens[window.at].dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
})()
"""
# What a 512-token text did to it when it was last tried with three minutes of patience: 869 MB of
# HTML, 19.5 s of CPU and 5.5 GB to make it, and no page that ever painted.
RECORDED_512 = {
    "bytes": 869_011_661.0,
    "cpu": 19.5,
    "memory": 5_500.0,
    "first paint": math.inf,
    "first paint cpu": math.inf,
    "switch paint": math.inf,
    "hover paint": math.inf,
    "hover script": math.inf,
}


def scripts(folder: Path) -> dict[str, Path]:
    """Fetch the scripts with npm, once; returns the file for each address's end."""
    modules = folder / "node_modules"
    if not all((modules / path).is_file() for _, path in SCRIPTS.values()):
        folder.mkdir(parents=True, exist_ok=True)
        packages = [package for package, _ in SCRIPTS.values()]
        command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", folder]
        subprocess.run([*command, *packages], check=True, stdout=subprocess.DEVNULL)
    return {tail: modules / path for tail, (_, path) in SCRIPTS.items()}


def html(n: int) -> str:
    """What `head_view` hands to a notebook for `n` tokens."""
    from bertviz import head_view

    attentions, tokens = eager(n)
    returned = head_view(attentions, list(tokens), html_action="return")
    return str(returned.data)


def subject(n: int, folder: Path) -> Subject:
    """The page for `n` tokens, written to `folder`."""
    path = folder / f"bertviz-{n}.html"
    head = "<!doctype html><meta charset='utf-8'><body>\n"
    path.write_text(head + html(n), encoding="utf-8")
    return Subject(
        path.resolve().as_uri(),
        ready="document.querySelector('#vis #attention line')",
        steps={"switch": Step(SWITCH), "hover": Step(HOVER)},
        answers=scripts(folder / "vendor"),
        repeats=2 if n > 16 else 6,
    )
