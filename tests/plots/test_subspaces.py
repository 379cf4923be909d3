"""Subspaces are drawn as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    MixtureIPCAC,
    datasets,
    load,
    save,
)
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.records import Loadings
from separatrix.evaluate.splits import RandomShares
from separatrix.plots import plot_loadings, plot_patterns, plot_projection, plot_regions


def test_a_projection_shows_every_class_and_row():
    wine = datasets.load("wine")
    model = FisherDiscriminant(shrinkage=None).fit(wine.data, wine.target)
    ax = plot_projection(model, wine.data, wine.target)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == sorted(set(wine.target))
    assert sum(len(points.get_offsets()) for points in ax.collections) == len(wine.data)
    assert ax.get_ylabel().startswith("direction 2 (")


def test_many_classes_look_different_and_their_names_are_beside_the_picture():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 4)
    X = rng.normal(size=(30, 5))[y] + 0.1 * rng.normal(size=(120, 5))
    ax = plot_projection(FisherDiscriminant(shrinkage=None).fit(X, y), X, y)
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
    ax = plot_loadings(FisherDiscriminant(shrinkage=None).fit(wine.data, wine.target))
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


def test_one_direction_is_a_histogram_on_the_axes_given():
    cancer = datasets.load("breast_cancer")
    model = FisherDiscriminant(shrinkage=None).fit(cancer.data, cancer.target)
    figure = Figure()
    ax = figure.subplots()
    assert plot_projection(model, cancer.data, cancer.target, ax=ax) is ax
    assert sum(bar.get_height() for bar in ax.patches) == len(cancer.data)


@pytest.mark.filterwarnings("ignore:.*found no direction")
def test_nothing_to_draw_is_said():
    X, y = [[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match="no direction to draw"):
        plot_projection(FisherDiscriminant(shrinkage=None).fit(X, y), X, y)


def test_regions_show_the_decision_and_the_rows():
    X, y = make_moons(100, noise=0.1, random_state=0)
    names = np.array(["left", "right"])[y]
    for model in (SVC(), FisherDiscriminant(shrinkage=None)):
        ax = plot_regions(model.fit(X, names), X, names, resolution=20)
        rows = [c for c in ax.collections if isinstance(c, PathCollection)]
        assert sum(len(points.get_offsets()) for points in rows) == 100
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["left", "right"]
        assert not ax.patches


def test_regions_are_coloured_by_class():
    X = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 1.0], [10.0, 1.0]])
    model = FisherDiscriminant(shrinkage=None).fit(X, [0, 1, 0, 1])
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
    model = FisherDiscriminant(shrinkage=None).fit(wine.data, wine.target)
    with pytest.raises(ValueError, match=r"two features, but X has shape \(178, 13\)"):
        plot_regions(model, wine.data, wine.target)


@pytest.mark.filterwarnings("error")
def test_regions_of_a_model_of_frames_keep_the_names():
    X, y = make_moons(100, noise=0.1, random_state=0)
    frame = pd.DataFrame(X, columns=["width", "height"])
    for model in (SVC(), MixtureIPCAC(random_state=0)):
        model.fit(frame, y)
        for rows in (frame, X):  # a warning about names would be an error here
            ax = plot_regions(model, rows, y, resolution=5)
            assert len(ax.collections) >= 2


def test_regions_of_sparse_rows_are_refused():
    X, y = make_moons(100, noise=0.1, random_state=0)
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    with pytest.raises(TypeError, match=r"sparse.*X\.toarray\(\)"):
        plot_regions(model, sp.csr_array(X), y)


def test_loadings_are_bars_by_feature_with_the_largest_on_top():
    wine = datasets.load("wine")
    rows = pd.DataFrame(wine.data, columns=wine.feature_names)
    found = compare([FisherDiscriminant(shrinkage=None)], rows, wine.target, cv=RandomShares(1))
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
    ax = plot_loadings(FisherDiscriminant(shrinkage=None).fit(X, [0, 0, 1, 1]))
    assert [t.get_text() for t in ax.get_yticklabels()] == ["signal", "noise"]
    assert sum(bar.get_width() ** 2 for bar in ax.patches) == pytest.approx(1)
    with pytest.raises(ValueError, match="KernelFisherDiscriminant has no weights of features"):
        plot_loadings(KernelFisherDiscriminant().fit(X, [0, 0, 1, 1]))


def test_a_loaded_pipeline_is_drawn_as_its_method_with_the_names_of_its_columns(tmp_path):
    wine = datasets.load("wine")
    X = pd.DataFrame(wine.data, columns=wine.feature_names)
    save(
        make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, wine.target),
        tmp_path / "m",
    )
    model, rows = load(tmp_path / "m"), StandardScaler().set_output(transform="pandas")
    alone = FisherDiscriminant(shrinkage=None).fit(rows.fit_transform(X), wine.target)
    pairs = [
        (plot_loadings(model), plot_loadings(alone)),
        (plot_patterns(model, X), plot_patterns(alone, rows.transform(X))),
    ]
    for found, expected in pairs:
        names = [[t.get_text() for t in ax.get_yticklabels()] for ax in (found, expected)]
        assert names[0] == names[1]
        assert set(names[0]) == set(wine.feature_names)
        lengths = [[bar.get_width() for bar in ax.patches] for ax in (found, expected)]
        assert_allclose(lengths[0], lengths[1])
    kernel = make_pipeline(StandardScaler(), KernelFisherDiscriminant()).fit(X, wine.target)
    with pytest.raises(ValueError, match="KernelFisherDiscriminant has no weights of features"):
        plot_loadings(kernel)


def test_features_named_by_numbers_are_curves_over_these_numbers():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 4)) + np.outer(y, [0, 3, 0, 0])
    columns = ["1100.5", "1000", "900", "1200"]  # not in order: the axis is
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None))
    model.fit(pd.DataFrame(X, columns=columns), y)
    for ax in (
        plot_loadings(model, n_features=2),
        plot_patterns(model, pd.DataFrame(X, columns=columns)),
    ):
        curve = ax.get_lines()[0]
        assert_allclose(curve.get_xdata(), [900, 1000, 1100.5, 1200])
        assert curve.get_xdata()[np.argmax(np.abs(curve.get_ydata()))] == 1000
        assert not ax.patches
        assert [t.get_text() for t in ax.get_legend().get_texts()] == ["direction 1"]


@pytest.mark.parametrize("columns", [["1", "2", "C3@0.1"], ["1", "2", "nan"], ["1", "2", "1.0"]])
def test_features_that_are_not_all_different_numbers_are_bars(columns):
    X = pd.DataFrame(np.eye(6)[:, :3] + np.arange(6)[:, None] % 2, columns=columns)
    assert len(plot_loadings(FisherDiscriminant(shrinkage=None).fit(X, [0, 1] * 3)).patches) == 3


def test_patterns_of_a_fold_and_of_a_model_are_the_same():
    wine = datasets.load("wine")
    rows = pd.DataFrame(wine.data, columns=wine.feature_names)
    found = compare([FisherDiscriminant(shrinkage=None)], rows, wine.target, cv=RandomShares(1))
    loadings = found.methods[0].folds[0].loadings
    train = np.setdiff1d(np.arange(178), found.tests[0])
    rows = StandardScaler().fit_transform(wine.data[train])
    model = FisherDiscriminant(shrinkage=None).fit(rows, wine.target[train])
    by_fold, by_model = plot_patterns(loadings), plot_patterns(model, rows)
    lengths = [np.abs([bar.get_width() for bar in ax.patches]) for ax in (by_fold, by_model)]
    assert_allclose(lengths[0], lengths[1], atol=1e-6)
    expected = np.argmax(np.abs(loadings.patterns).max(axis=0))
    assert by_fold.get_yticklabels()[0].get_text() == wine.feature_names[expected]
    assert by_fold.get_xlabel().startswith("pattern")


def test_patterns_that_are_not_known_are_told():
    X, y = make_moons(50, random_state=0)
    with pytest.raises(ValueError, match="those of rows: give them as X"):
        plot_patterns(FisherDiscriminant(shrinkage=None).fit(X, y))
    with pytest.raises(ValueError, match="no patterns"):
        plot_patterns(Loadings(("a",), ((1.0,),), 1))
    with pytest.raises(ValueError, match="KernelFisherDiscriminant has no weights"):
        plot_patterns(KernelFisherDiscriminant().fit(X, y), X)
    sparse = plot_patterns(FisherDiscriminant(shrinkage=None).fit(X, y), sp.csr_array(X))
    dense = plot_patterns(FisherDiscriminant(shrinkage=None).fit(X, y), X)
    assert_allclose(
        [bar.get_width() for bar in sparse.patches], [bar.get_width() for bar in dense.patches]
    )
