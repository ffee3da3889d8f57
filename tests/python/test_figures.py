"""The paper's figures: what is drawn is what the scores say."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot

from bertlens.corpus.distances import HeadDistances, HeadMap
from bertlens.scores.figures import COLOURS, layer_means
from bertlens.scores.head_scores import HeadScores

SCORE = HeadScores("entropy", [[1.0, 2.0], [np.nan, 4.0]], unit="nats", baseline=5.0)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def test_every_head_is_a_point_over_its_layer_and_means_a_line() -> None:
    axes = SCORE.plot()
    points = axes.collections[0].get_offsets()
    assert np.ma.getdata(points)[[0, 1, 3]].tolist() == [[0, 1], [0, 2], [1, 4]]
    mean, uniform = axes.lines
    assert mean.get_xydata().tolist() == [[0, 1.5], [1, 4]]
    assert set(uniform.get_ydata()) == {5.0}
    assert axes.get_ylabel() == "nats"
    assert axes.get_xlabel() == "Layer"


def test_given_axes_are_drawn_into_and_restyled() -> None:
    _, given = pyplot.subplots()
    assert SCORE.plot(given, color="red", s=3) is given
    assert given.collections[0].get_facecolor()[0][:3].tolist() == [1, 0, 0]
    assert given.collections[0].get_sizes().tolist() == [3]


def test_several_scores_are_a_line_each() -> None:
    other = HeadScores("self", [[1.0, 1.0], [0.0, 1.0]])
    axes = layer_means([SCORE, other])
    assert [line.get_label() for line in axes.lines] == ["entropy", "self"]
    assert axes.lines[1].get_ydata().tolist() == [1, 0.5]
    with pytest.raises(ValueError, match="no score to draw"):
        layer_means([])


def test_the_head_map_colours_behaviours_or_layers() -> None:
    apart = HeadDistances(np.ones((4, 4)), n_layers=2, n_heads=2, texts=1)
    points = np.arange(8, dtype=float).reshape(2, 2, 2)
    heads = HeadMap(points, np.array([["broad", "cls"], ["broad", ""]]), apart)
    axes = heads.plot()
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["none of these", "broad", "[CLS]"]
    broad = axes.collections[1]
    assert np.ma.getdata(broad.get_offsets()).tolist() == [[0, 1], [4, 5]]
    assert mpl.colors.to_hex(broad.get_facecolor()[0]) == COLOURS["broad"]
    by_layer = heads.plot(by="layer").collections[0]
    assert by_layer.get_array().tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match='"behaviour" or "layer"'):
        heads.plot(by="head")


def test_categories_are_named_on_the_axis() -> None:
    score = HeadScores("behaviour", [[0.0, 1.0]], categories=("", "broad"))
    ticks = [tick.get_text() for tick in score.plot().get_yticklabels()]
    assert ticks == ["none of these", "broad"]
    assert score.labels.tolist() == [["", "broad"]]
    with pytest.raises(ValueError, match="are numbers, not categories"):
        _ = SCORE.labels
