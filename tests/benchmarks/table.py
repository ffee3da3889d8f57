"""One line a figure: bertlens, BertViz where it can do the work, their ratio, and the budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measured value, in `unit`; `bertviz` is None where it has no such thing."""

    what: str
    size: str
    unit: str
    bertlens: float
    budget: float | None = None
    bertviz: float | None = None
    recorded: bool = False
    """Whether BertViz's value was measured on another occasion, because it takes too long."""

    @property
    def kept(self) -> bool | None:
        """Whether the budget is kept; None without one."""
        return None if self.budget is None else self.bertlens <= self.budget


HEADINGS = ("what", "size", "bertlens", "budget", "BertViz 1.4.1", "BertViz / bertlens")


def markdown(figures: Iterable[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = [HEADINGS, ("---", "---", "---:", "---:", "---:", "---:")]
    for figure in figures:
        theirs, times = "-", "-"
        if figure.bertviz is not None:
            star = "\\*" if figure.recorded else ""
            if math.isinf(figure.bertviz):
                theirs = f"never{star}"
            else:
                theirs = f"{number(figure.bertviz)} {figure.unit}{star}".strip()
                times = f"{number(figure.bertviz / figure.bertlens)}x"
        budget = "-" if figure.budget is None else f"{number(figure.budget)} {figure.unit}".strip()
        missed = " (missed)" if figure.kept is False else ""
        ours = f"{number(figure.bertlens)} {figure.unit}".strip()
        lines.append((figure.what, figure.size, ours, budget + missed, theirs, times))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Two or three digits that mean something, with separators in large numbers."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 1 else f"{value:.2g}"
