"""A family tried in a process of its own, so that whatever happens to it is a row."""

from __future__ import annotations

import multiprocessing
import resource
from multiprocessing.connection import Connection

from tests.python.families.table_row import Row, row

MOST_SECONDS = 120
"""Of the processor."""

MOST_WAITING = 1800
"""By the clock, which other work on the machine lengthens."""


def row_in_subprocess(family: str) -> Row:
    """The family's row; a FAILED one if trying it raises, crashes, or takes too long."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_try, args=(family, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(MOST_WAITING):
            return Row(family, f"FAILED: no answer in {MOST_WAITING} s")
        found: Row = ours.recv()
        return found
    except EOFError:
        process.join()
        return Row(family, f"FAILED: its process ended with code {process.exitcode}")
    finally:
        process.kill()
        process.join()


def _try(family: str, answer: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    try:
        found = row(family)
    except Exception as error:
        said = str(error).split("\n")[0].replace("|", "/").strip()[:90]
        found = Row(family, f"FAILED: {type(error).__name__}: {said}")
    answer.send(found)
