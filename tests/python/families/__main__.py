"""What bertlens does with every family in transformers' model mapping, as a table.

python -m tests.python.families                        writes docs/families.md
python -m tests.python.families bert t5                prints these rows
python -m tests.python.families --part 2/6 --out DIR   keeps the rows of a sixth of the families
python -m tests.python.families --merge DIR            writes docs/families.md from all six
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import torch
from transformers.utils import logging

from tests.python import tiny_models
from tests.python.families.subprocess_row import row_in_subprocess
from tests.python.families.table import save, saved, write
from tests.python.families.table_row import Row


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.python.families")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--part", help="which part of how many, such as 2/6")
    parser.add_argument("--out", type=Path, help="a folder for the rows of a part")
    parser.add_argument("--merge", type=Path, help="a folder with the rows of all parts")
    parser.add_argument("--why", action="store_true", help="say why families are not tried")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    torch.set_num_threads(1)
    if given.merge:
        write(saved(given.merge))
    elif given.why:
        for family in given.families or tiny_models.FAMILIES:
            _print_why(family)
    elif given.part:
        number, of = map(int, given.part.split("/"))
        rows = _tried(tiny_models.FAMILIES[number - 1 :: of])
        save(rows, given.out / f"{number}-of-{of}.json")
    elif given.families:
        _tried(given.families)
    else:
        write(_tried(tiny_models.FAMILIES))


def _tried(families: Iterable[str]) -> list[Row]:
    rows = []
    for family in families:
        rows.append(row_in_subprocess(family))
        print(rows[-1], flush=True)
    return rows


def _print_why(family: str) -> None:
    try:
        tiny_models.tiny_model(family)
    except tiny_models.UntriedError as reason:
        print(f"{family}: {reason}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
