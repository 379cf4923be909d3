"""Pictures show what was asked for."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

mpl.use("Agg")

from separatrix import LDG, FisherDiscriminant, datasets
from separatrix.plots import plot_dimension_path, plot_grid_scores, plot_projection


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


def test_a_path_shows_the_average_of_each_dimension_and_the_choice():
    wine = datasets.load("wine")
    model = LDG("auto").fit(wine.data, wine.target)
    path = model.selection_["n_components"]
    for given in (model, path):
        ax = plot_dimension_path(given)
        assert (ax.lines[0].get_ydata() == path.scores.mean(axis=0)).all()
        assert ax.lines[1].get_xdata()[0] == path.n_components
    with pytest.raises(ValueError, match='not fitted with n_components="auto"'):
        plot_dimension_path(LDG(2, gamma=0.5).fit(wine.data, wine.target))


def test_grid_scores_are_a_line_for_each_number_of_neighbours_over_gamma():
    wine = datasets.load("wine")
    model = LDG().fit(wine.data, wine.target)
    figure = Figure()
    ax = figure.subplots()
    assert plot_grid_scores(model, ax=ax) is ax
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["n_neighbors=4", "n_neighbors=1", "n_neighbors=16"]
    assert list(ax.lines[0].get_xdata()) == [0.2, 0.4, 0.6, 0.8, 1.0]
    record = model.selection_["gamma"]
    at = [i for i, s in enumerate(record.settings) if s == {"n_neighbors": 4, "gamma": 0.4}]
    assert ax.lines[0].get_ydata()[1] == record.scores.mean(axis=0)[at[0]]
