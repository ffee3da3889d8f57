"""HeadScores: one number for each head, with what it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bertlens.errors import require

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Notable = Literal["high", "low"]


class Best(NamedTuple):
    """The head that stands out, and its value."""

    layer: int
    head: int
    value: float


@dataclass(frozen=True, eq=False)
class HeadScores:
    """One number for each (layer, head).

    Attributes:
        name: short and stable, such as "entropy".
        values: float64 [layer, head]; NaN where the score is undefined.
        unit: of the values, such as "nats" or "share of attention"; "" if there is none.
        description: what the number means, in a sentence.
        notable: which end stands out.
        support: how many observations are behind each value, [layer, head], or None.
        low, high: a 95% interval, [layer, head], or None.
        baseline: the value to compare with, or None.
        categories: where a value stands for a name, the names by value; else empty.
    """

    name: str
    values: NDArray[np.float64]
    unit: str = ""
    description: str = ""
    notable: Notable = "high"
    support: NDArray[np.float64] | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    baseline: float | None = None
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = _matrix(self.values, "values")
        object.__setattr__(self, "values", values)
        if self.notable not in ("high", "low"):
            raise ValueError(f'notable must be "high" or "low", not {self.notable!r}.')
        for part in ("support", "low", "high"):
            given = getattr(self, part)
            if given is None:
                continue
            array = _matrix(np.broadcast_to(given, values.shape), part)
            object.__setattr__(self, part, array)

    @property
    def n_layers(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_heads(self) -> int:
        return int(self.values.shape[1])

    @property
    def labels(self) -> NDArray[np.str_]:
        """Each head's category, [layer, head]; "" where the value is undefined.

        Raises:
            ValueError: this score has no categories.
        """
        if not self.categories:
            raise ValueError(f"The values of '{self.name}' are numbers, not categories.")
        known = np.nan_to_num(self.values, nan=-1).astype(int)
        return np.asarray(np.array(("", *self.categories))[known + 1])

    def ranked(self) -> list[Best]:
        """Every head with a defined value, the most notable first.

        Ties go to the lowest layer, then to the lowest head.
        """
        sign = -1.0 if self.notable == "high" else 1.0
        flat = self.values.ravel()
        order = np.argsort(sign * flat, kind="stable")
        return [
            Best(int(i) // self.n_heads, int(i) % self.n_heads, float(flat[i]))
            for i in order
            if not np.isnan(flat[i])
        ]

    def best(self) -> Best:
        """The head that stands out, by `notable`: (layer, head, value).

        Raises:
            ValueError: no head has a defined value.
        """
        ranked = self.ranked()
        if not ranked:
            raise ValueError(f"'{self.name}' is undefined for every head of this model and text.")
        return ranked[0]

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with one row a head: layer, head, value, and low, high, support if known.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        require("pandas", "analysis")
        import pandas as pd

        layers, heads = np.indices(self.values.shape)
        columns: dict[str, NDArray[Any]] = {"layer": layers.ravel(), "head": heads.ravel()}
        columns[self.name] = self.values.ravel()
        for part in ("low", "high", "support"):
            array = getattr(self, part)
            if array is not None:
                columns[part] = array.ravel()
        if self.categories:
            columns["label"] = self.labels.ravel()
        return pd.DataFrame(columns)

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Each head's value by layer as points, with the layer's mean as a line (Figures 2 to 4).

        Args:
            ax: matplotlib axes to draw into; new ones by default. Restyle what comes back freely.
            style: passed to the points, such as color or s.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from bertlens.scores.figures import by_layer

        return by_layer(self, ax, **style)

    def __repr__(self) -> str:
        shape = f"{self.n_layers} layers x {self.n_heads} heads"
        unit = f" {self.unit}" if self.unit else ""
        if np.isnan(self.values).all():
            return f"<HeadScores {self.name!r}: {shape}, undefined>"
        layer, head, value = self.best()
        return f"<HeadScores {self.name!r}: {shape}, best {layer}-{head} at {value:.4g}{unit}>"


class ScoreTable(Mapping[str, HeadScores]):
    """Scores by name, in order."""

    def __init__(self, scores: Mapping[str, HeadScores]) -> None:
        self._scores = dict(scores)

    def __getitem__(self, name: str) -> HeadScores:
        try:
            return self._scores[name]
        except KeyError:
            known = ", ".join(self._scores)
            raise KeyError(f"There is no score {name!r}; there are: {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with one row a head: layer, head, and a column for each score.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        require("pandas", "analysis")
        import pandas as pd

        if not self._scores:
            return pd.DataFrame({"layer": [], "head": []})
        layers, heads = np.indices(next(iter(self._scores.values())).values.shape)
        columns: dict[str, NDArray[Any]] = {"layer": layers.ravel(), "head": heads.ravel()}
        for name, score in self._scores.items():
            columns[name] = (score.labels if score.categories else score.values).ravel()
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        lines = "\n  ".join(repr(score) for score in self.values())
        return f"<{len(self)} scores\n  {lines}>"


def _matrix(given: ArrayLike, what: str) -> NDArray[np.float64]:
    array = np.array(given, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{what} must be [layer, head], got shape {array.shape}.")
    array.setflags(write=False)
    return array
