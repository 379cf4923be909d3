"""Pictures show what was asked for."""

from __future__ import annotations

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
from matplotlib.collections import PathCollection
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from separatrix import (
    LDG,
    EarlyClassifier,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    MixtureIPCAC,
    datasets,
)
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.ranking import rank_methods
from separatrix.evaluate.stream import prequential, reliability_curve
from separatrix.ldg.choices import GAMMAS
from separatrix.plots import (
    plot_class_reliabilities,
    plot_critical_difference,
    plot_dimension_path,
    plot_early_decision,
    plot_grid_scores,
    plot_loadings,
    plot_prequential,
    plot_projection,
    plot_regions,
    plot_reliability_curve,
)

SERIES = datasets.make_series(150, 24, random_state=0)
NAMES = np.array(["ash", "beech", "cedar"])[SERIES.target]
EARLY = EarlyClassifier(FisherDiscriminant()).fit(SERIES.data[:100], NAMES[:100])


@pytest.fixture(autouse=True)
def _no_figures_left_open():
    yield
    plt.close("all")


def test_a_projection_shows_every_class_and_row():
    wine = datasets.load("wine")
    model = FisherDiscriminant().fit(wine.data, wine.target)
    ax = plot_projection(model, wine.data, wine.target)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == sorted(set(wine.target))
    assert sum(len(points.get_offsets()) for points in ax.collections) == len(wine.data)
    assert ax.get_ylabel().startswith("direction 2 (")


def test_many_classes_look_different_and_their_names_are_beside_the_picture():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 4)
    X = rng.normal(size=(30, 5))[y] + 0.1 * rng.normal(size=(120, 5))
    ax = plot_projection(FisherDiscriminant().fit(X, y), X, y)
    looks = {
        (tuple(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes())
        for points in ax.collections
    }
    assert len(looks) == 30
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.x0 >= ax.get_window_extent().x1
    assert 0 <= legend.y0 <= legend.y1 <= ax.figure.bbox.height


def test_names_of_directions_hide_no_bar():
    wine = datasets.load("wine")
    ax = plot_loadings(FisherDiscriminant().fit(wine.data, wine.target))
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


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


def test_regions_show_the_decision_and_the_rows():
    X, y = make_moons(100, noise=0.1, random_state=0)
    names = np.array(["left", "right"])[y]
    for model in (SVC(), FisherDiscriminant()):
        ax = plot_regions(model.fit(X, names), X, names, resolution=20)
        rows = [c for c in ax.collections if isinstance(c, PathCollection)]
        assert sum(len(points.get_offsets()) for points in rows) == 100
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["left", "right"]
        assert not ax.patches


def test_regions_are_coloured_by_class():
    X = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 1.0], [10.0, 1.0]])
    model = FisherDiscriminant().fit(X, [0, 1, 0, 1])
    figure = Figure()
    ax = plot_regions(model, X, [0, 1, 0, 1], ax=figure.subplots(), resolution=21)
    (filled,) = [c for c in ax.collections if not isinstance(c, PathCollection)]
    left, right = (path.get_extents() for path in filled.get_paths())
    assert left.x1 <= 5.6 <= right.x1
    assert right.x0 >= 4.4


def test_clusters_and_nodes_of_a_mixture_are_drawn():
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = MixtureIPCAC(random_state=0).fit(X, y)
    ax = plot_regions(model, X, y, nodes=True, resolution=20)
    assert len(ax.patches) == len(model.cluster_classes_) > 2
    assert_allclose([e.get_center() for e in ax.patches], model.cluster_means_)
    lines = [line for line in ax.lines if hasattr(line, "_xy1")]
    assert len(lines) == len(model.nodes_)
    for line, w, threshold in zip(lines, model.components_, model.thresholds_, strict=True):
        for point in (line.get_xy1(), line.get_xy2()):
            assert_allclose((np.array(point) - model.mean_) @ w, threshold, atol=1e-9)
    assert not [n for n in plot_regions(model, X, y).lines if hasattr(n, "_xy1")]


def test_regions_need_two_features():
    wine = datasets.load("wine")
    model = FisherDiscriminant().fit(wine.data, wine.target)
    with pytest.raises(ValueError, match=r"two features, but X has shape \(178, 13\)"):
        plot_regions(model, wine.data, wine.target)


@pytest.mark.filterwarnings("error")
def test_regions_of_a_model_of_frames_keep_the_names():
    X, y = make_moons(100, noise=0.1, random_state=0)
    frame = pd.DataFrame(X, columns=["width", "height"])
    for model in (SVC(), MixtureIPCAC(random_state=0)):
        model.fit(frame, y)
        plot_regions(model, frame, y, resolution=5)
        plot_regions(model, X, y, resolution=5)


def test_regions_of_sparse_rows_are_refused():
    X, y = make_moons(100, noise=0.1, random_state=0)
    model = FisherDiscriminant().fit(X, y)
    with pytest.raises(TypeError, match=r"sparse.*X\.toarray\(\)"):
        plot_regions(model, sp.csr_array(X), y)


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
    assert list(ax.lines[0].get_xdata()) == sorted(GAMMAS)
    record = model.selection_["gamma"]
    at = [
        i
        for i, s in enumerate(record.settings)
        if s == {"n_neighbors": 4, "gamma": sorted(GAMMAS)[1]}
    ]
    assert ax.lines[0].get_ydata()[1] == record.scores.mean(axis=0)[at[0]]


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


def test_loadings_are_bars_by_feature_with_the_largest_on_top():
    wine = datasets.load("wine")
    found = compare([FisherDiscriminant()], wine.data, wine.target, n_splits=1,
                    feature_names=wine.feature_names)  # fmt: skip
    loadings = found.methods[0].folds[0].loadings
    ax = plot_loadings(loadings, n_features=4)
    weights = np.abs(np.array(loadings.weights))
    expected = np.argsort(-weights.max(axis=0))[:4]
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert names == [wine.feature_names[j] for j in expected]
    lengths = [bar.get_width() for bar in ax.patches]
    assert_allclose(np.abs(lengths), weights[:, expected].ravel())
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["direction 1", "direction 2"]


def test_loadings_of_a_model_have_the_names_it_was_fitted_with():
    X = pd.DataFrame({"noise": [0.0, 1, 0, 1], "signal": [0.0, 1, 8, 9]})
    ax = plot_loadings(FisherDiscriminant().fit(X, [0, 0, 1, 1]))
    assert [t.get_text() for t in ax.get_yticklabels()] == ["signal", "noise"]
    assert sum(bar.get_width() ** 2 for bar in ax.patches) == pytest.approx(1)
    with pytest.raises(ValueError, match="KernelFisherDiscriminant has no weights of features"):
        plot_loadings(KernelFisherDiscriminant().fit(X, [0, 0, 1, 1]))


def test_a_decision_is_drawn_where_it_falls_with_what_was_expected_then():
    series = SERIES.data[120]
    decision = EARLY.decide_early(series[None])
    t = decision.time[0]
    assert 1 < t < 24
    ax = plot_early_decision(EARLY, series)
    seen, came, expected, at = ax.lines
    assert seen.get_xdata().tolist() == list(range(1, t + 1))
    assert_allclose(seen.get_ydata(), series[:t])
    assert_allclose(came.get_ydata(), series[t:])
    assert at.get_xdata()[0] == t
    cut = np.where(np.arange(24) < t, series, np.nan)
    rest = EARLY.expect(cut[None])
    assert_allclose(expected.get_ydata(), rest.mean[0, t:])
    (band,) = ax.collections
    drawn = band.get_paths()[0].vertices
    assert drawn[:, 1].max() == pytest.approx((rest.mean + 2 * rest.std)[0, t:].max())
    assert ax.get_title().startswith(f"decided after {t} values: {decision.label[0]}")


def test_a_series_that_goes_on_may_be_undecided():
    figure = Figure()
    ax = figure.subplots()
    assert plot_early_decision(EARLY, SERIES.data[0, :2], reliability=0.9, ax=ax) is ax
    assert ax.get_title().startswith("not decided after 2 values")


def test_curves_show_both_rules_and_every_tau():
    records = reliability_curve(EARLY, SERIES.data[100:], NAMES[100:], [0.9, 0.1])
    for what in ("reliability", "accuracy"):
        ax = plot_reliability_curve({"Fisher": records}, what=what)
        ours, fixed = ax.lines
        assert list(ours.get_xdata()) == [records[1]["time"], records[0]["time"]]
        assert list(ours.get_ydata()) == [records[1][what], records[0][what]]
        assert list(fixed.get_xdata()) == [r["time"] for r in records[2:]]
        assert [text.get_text() for text in ax.texts] == ["0.1", "0.9"]
        assert ax.get_ylabel() == what


def test_a_stream_is_a_bar_for_each_class():
    stream = EARLY.stream(reliability=0.9)
    history = [stream.push(value) for value in SERIES.data[120]]
    assert len({d.label for d in history}) > 1
    for n in (1, 10, 24):
        ax = plot_class_reliabilities(history[:n], EARLY.classes_, required=0.9)
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["ash", "beech", "cedar"]
        past, now = (ax.patches[:3], ax.patches[3:])
        for bar, name in zip(now, EARLY.classes_, strict=True):
            own = history[n - 1].reliability if history[n - 1].label == name else 0
            assert bar.get_width() == own
        for bar, name in zip(past, EARLY.classes_, strict=True):
            assert bar.get_width() == max(
                [d.reliability for d in history[:n] if d.label == name], default=0
            )
        assert ax.get_title() == ("after 1 value" if n == 1 else f"after {n} values")
        assert ax.lines[0].get_xdata()[0] == 0.9
    with pytest.raises(ValueError, match="history is empty"):
        plot_class_reliabilities([], EARLY.classes_)


def test_what_cannot_be_drawn_of_early_decisions_is_refused():
    with pytest.raises(ValueError, match=r"what='acc' is not drawn: use one of reliability"):
        plot_reliability_curve({}, what="acc")
    with pytest.raises(ValueError, match=r"series has 25 values, .* fitted to series of 24"):
        plot_early_decision(EARLY, np.zeros(25))
