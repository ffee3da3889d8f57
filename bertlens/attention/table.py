"""A head's weights as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bertlens.errors import require

if TYPE_CHECKING:
    import pandas as pd

    from bertlens.attention.maps import Attention


def to_frame(attention: Attention, layer: int, head: int, top: int | None = None) -> pd.DataFrame:
    """from, to and weight, the largest first: see `Attention.to_frame`."""
    require("pandas", "analysis")
    import pandas as pd

    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise ValueError(f"top must be a number of rows, at least 1, not {top!r}.")
    weights = attention.weights(layer, head)
    order = np.argsort(-weights.ravel(), kind="stable")[:top]
    rows, columns = np.unravel_index(order, weights.shape)
    return pd.DataFrame(
        {
            "from_index": rows,
            "from": [attention.tokens[i].label for i in rows],
            "to_index": columns,
            "to": [attention.to_tokens[j].label for j in columns],
            "weight": weights[rows, columns],
        }
    )
