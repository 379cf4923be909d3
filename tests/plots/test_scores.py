"""Scores of dimensions, settings, streams and methods are drawn as they are."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from separatrix import LDG, FisherDiscriminant, TransferLDG, datasets
from separatrix.evaluate.ranking import rank_methods
from separatrix.evaluate.stream import prequential
from separatrix.ldg.choices import GAMMAS
from separatrix.plots import (
    plot_critical_difference,
    plot_dimension_path,
    plot_grid_scores,
    plot_prequential,
)


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


def test_grid_scores_are_a_line_over_gamma():
    wine = datasets.load("wine")
    model = LDG().fit(wine.data, wine.target)
    figure = Figure()
    ax = figure.subplots()
    assert plot_grid_scores(model, ax=ax) is ax
    assert [text.get_text() for text in ax.get_xticklabels()][-2:] == ["0.7", "inf"]
    record = model.selection_["gamma"]
    at = record.settings.index({"gamma": sorted(GAMMAS)[1]})
    assert ax.lines[0].get_ydata()[1] == record.scores.mean(axis=0)[at]


def test_grid_scores_of_two_domains_are_those_of_the_target():
    wine = datasets.load("wine")
    domain = np.where(np.arange(len(wine.target)) % 7, 1, -1)
    model = TransferLDG(2).fit(wine.data, wine.target, sample_domain=domain)
    ax = plot_grid_scores(model)
    record = model.selection_["gamma"]
    at = [record.settings.index({"gamma": gamma}) for gamma in sorted(GAMMAS)]
    assert ax.lines[0].get_ydata() == pytest.approx(record.scores.mean(axis=0)[at])
    assert len(ax.lines) == 1


def bars_of(ax):
    return [line for line in ax.lines if not line.get_clip_on()]


def test_a_ranking_shows_every_method_and_joins_those_that_do_not_differ():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.6, 0.9, 20)
    scores = {
        n: base + s + rng.normal(0, 0.005, 20) for n, s in zip("abc", (0, 0, 0.1), strict=True)
    }
    ranking = rank_methods(scores)
    ax = plot_critical_difference(ranking)
    assert [t.get_text() for t in ax.get_yticklabels()] == list(ranking.methods)
    points = ax.lines[0]
    assert points.get_xdata().tolist() == list(ranking.mean_ranks)
    assert points.get_ydata().tolist() == [0, 1, 2]
    (bar,) = bars_of(ax)
    assert_allclose(bar.get_ydata(), [0.8, 2.2])  # the last two
    low, high = ax.lines[-1].get_xdata()
    assert high - low == pytest.approx(ranking.critical_difference)


def test_a_ranking_on_one_data_set_shows_scores():
    ranking = rank_methods({"a": [0.9, 0.9, 0.8], "b": [0.5, 0.6, 0.5]}, test_size=0.3)
    figure = Figure()
    ax = figure.subplots()
    assert plot_critical_difference(ranking, ax=ax) is ax
    assert ax.lines[0].get_xdata().tolist() == list(ranking.mean_scores)
    assert ax.get_xlabel() == "mean score over 3 splits"
    assert len(bars_of(ax)) == sum(len(group) > 1 for group in ranking.groups)
