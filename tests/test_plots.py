"""Pictures show what was asked for."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

mpl.use("Agg")

from separatrix import FisherDiscriminant, datasets
from separatrix.evaluate import prequential
from separatrix.plots import plot_prequential, plot_projection


def test_a_projection_shows_every_class_and_row():
    wine = datasets.load("wine")
    model = FisherDiscriminant().fit(wine.data, wine.target)
    ax = plot_projection(model, wine.data, wine.target)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == sorted(set(wine.target))
    assert sum(len(points.get_offsets()) for points in ax.collections) == len(wine.data)
    assert ax.get_ylabel().startswith("direction 2 (")


def test_one_direction_is_a_histogram_on_the_axes_given():
    cancer = datasets.load("breast_cancer")
    model = FisherDiscriminant().fit(cancer.data, cancer.target)
    figure = Figure()
    ax = figure.subplots()
    assert plot_projection(model, cancer.data, cancer.target, ax=ax) is ax
    assert sum(bar.get_height() for bar in ax.patches) == len(cancer.data)


@pytest.mark.filterwarnings("ignore:.*found no direction")
def test_nothing_to_draw_is_said():
    X, y = [[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match="no direction to draw"):
        plot_projection(FisherDiscriminant().fit(X, y), X, y)


def test_errors_on_a_stream_are_drawn_against_rows():
    digits = datasets.load("digits")
    records = prequential(FisherDiscriminant(shrinkage=0.1), digits.data, digits.target, 300)
    (line,) = plot_prequential({"Fisher": records}).lines
    assert line.get_label() == "Fisher"
    assert line.get_xdata().tolist() == [600, 900, 1200, 1500, 1797]
    assert line.get_ydata().tolist() == [record["error"] for record in records]
    (line,) = plot_prequential({"Fisher": records}, last=1).lines
    each = [record["wrong"] / record["rows"] for record in records]
    assert line.get_ydata().tolist() == pytest.approx(each)
