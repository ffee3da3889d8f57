"""What commands that run a model over a file share: options, the model, and how they fail."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bertlens import Lens


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model runs."""
    parser.add_argument(
        "--model", metavar="M", help="a name or folder of a model (default: the packaged MiniLM)"
    )


def add_place(parser: argparse.ArgumentParser) -> None:
    """Where it runs."""
    parser.add_argument("--device", help='where to compute, such as "cuda" (default: cpu)')
    parser.add_argument(
        "--engine", choices=("local", "ray"), default="local", help="ray: on several processes"
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, default=2, help="copies of the model that Ray runs"
    )


def lens_of(options: argparse.Namespace) -> Lens:
    """The model asked for, where it was asked to be."""
    from bertlens import Lens

    lens = Lens.demo() if options.model is None else Lens.from_pretrained(options.model)
    if options.device:
        lens.model.to(options.device)
    return lens


def status_of(
    command: str, act: Callable[[argparse.Namespace], int], options: argparse.Namespace
) -> int:
    """The exit status of `act`: 1, and its message in words, where it raised a person's mistake."""
    from bertlens.errors import BertlensError

    try:
        return act(options)
    except (BertlensError, OSError, ValueError, KeyError) as error:
        # str() of a KeyError is in quotes.
        message = error.args[0] if isinstance(error, KeyError) else error
        print(f"bertlens {command}: {message}", file=sys.stderr)
        return 1
