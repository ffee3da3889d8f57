"""CPU time, wall time and memory of this process, and medians of repeated trials."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU, seconds on the wall, and bytes of resident memory gained."""

    cpu: float
    wall: float
    memory: int


def cost(work: Callable[[], object]) -> Cost:
    """What one call costs; what it returns is kept alive until memory has been read."""
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    cpu, wall = time.process_time(), time.perf_counter()
    kept = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    gained = process.memory_info().rss - before
    del kept
    return Cost(cpu, wall, gained)


def ratio(ours: Callable[[], object], theirs: Callable[[], object], trials: int) -> float:
    """The median ratio of CPU seconds over trials that take turns, after one warm-up each."""
    ours(), theirs()
    return statistics.median(cost(ours).cpu / cost(theirs).cpu for _ in range(trials))
