"""The `bertlens` command: finds the subcommand's module and runs it.

A subcommand is a module of `bertlens.cli` with `add_arguments(parser)` and `run(options)`.
Only the module asked for is imported, so `bertlens --help` needs neither torch nor JupyterLab.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from bertlens import __version__

COMMANDS = {
    "demo": "open JupyterLab on the quickstart notebook, with a small packaged model",
    "scan": "score every head over a file of texts: a table, figures and a report",
    "effects": "what changes in the model's output without each head, over a file of texts",
    "probe": "find the head that knows each dependency relation of a treebank best",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line given, or the process's own; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="bertlens",
        description="See, score and test every attention head of a transformer.",
    )
    parser.add_argument("--version", action="version", version=f"bertlens {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    chosen = next((word for word in given if word in COMMANDS), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == chosen:
            importlib.import_module(f"bertlens.cli.{name}").add_arguments(command)
    options = parser.parse_args(given)
    module = importlib.import_module(f"bertlens.cli.{options.command}")
    status: int = module.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
