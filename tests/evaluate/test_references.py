"""References are there, tuned, and LDA has shrinkage where features are more than rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from separatrix.evaluate.comparison import compare
from separatrix.evaluate.methods import contenders
from separatrix.evaluate.references import (
    REFERENCES,
    Reference,
    SpannedLDA,
    is_installed,
    list_references,
)
from separatrix.evaluate.splits import RandomShares
from separatrix.files.model import load, save
from tests.discovery import labelled
from tests.evaluate.comparing import CHEAP, X, Y


def test_lda_in_the_span_is_lda_with_the_shrunken_covariance():
    """The Gaussian rule of (1 - s) Σ + s t I, whose t is the mean eigenvalue in the span."""
    rows, y = labelled(30, 80, 3)
    model = SpannedLDA(solver="eigen", shrinkage=0.3).fit(rows, y)
    means = np.stack([rows[y == c].mean(axis=0) for c in range(3)])
    centred, priors = rows - means[y], np.bincount(y) / len(y)
    # scikit-learn weighs the covariance of each class by its prior
    S = sum(p * np.cov(rows[y == c].T, bias=True) for c, p in enumerate(priors))
    rank = np.linalg.matrix_rank(rows - rows.mean(axis=0))
    shrunken = 0.7 * S + 0.3 * np.trace(S) / rank * np.eye(80)
    new = rows + np.random.default_rng(0).normal(size=rows.shape)
    A = np.linalg.solve(shrunken, means.T)
    expected = new @ A - 0.5 * np.sum(means.T * A, axis=0) + np.log(priors)
    found = model.decision_function(new)
    assert_allclose(found - found[:, :1], expected - expected[:, :1], atol=1e-6)
    assert centred.shape == rows.shape
    Z = model.transform(new)
    assert Z.shape == (30, 2)
    assert_allclose(Z, new @ model.scalings_[:, :2])


def test_lda_with_more_rows_than_features_is_that_of_scikit_learn():
    for params in ({}, {"solver": "eigen", "shrinkage": "auto"}):
        ours = SpannedLDA(**params).fit(X, Y)
        assert_allclose(ours.coef_, LinearDiscriminantAnalysis(**params).fit(X, Y).coef_)


def test_a_model_with_shrinkage_is_kept_in_a_file(tmp_path):
    rows, y = labelled(30, 80, 3)
    model = SpannedLDA(solver="eigen", shrinkage=0.3).fit(rows, y)
    save(model, tmp_path / "lda.model")
    assert_allclose(load(tmp_path / "lda.model").predict_proba(rows), model.predict_proba(rows))


def test_shrinkage_is_chosen_where_features_are_many():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    rows = rng.normal(size=(60, 200)) + 0.5 * y[:, None] * (np.arange(200) < 40)
    found = compare(["LDA", ("plain", LinearDiscriminantAnalysis())], rows, y,
                    cv=RandomShares(5))  # fmt: skip
    assert sum(fold.chosen["solver"] == "eigen" for fold in found["LDA"].folds) >= 4
    tuned, plain = (found[name].summary["accuracy"].mean for name in ("LDA", "plain"))
    assert tuned > plain + 0.1


def test_rivals_take_part_as_asked_for():
    basic = list_references("basic")
    assert [m.name for m in contenders(["LDG"])] == ["LDG"]
    assert [m.name for m in contenders(["LDG"], "basic")] == ["LDG", *basic]
    assert [m.name for m in contenders(["raw"], "basic")] == ["raw", *basic[1:]]
    assert set(basic) < set(list_references("all"))
    ours = [m for m in contenders(None, "none") if m.kind == "reference"]
    assert ours == []
    assert [m.name for m in contenders(None) if m.kind == "reference"] == basic


def test_references_of_scikit_learn_work_and_are_tuned():
    modules = {n: REFERENCES[n].find_class().__module__ for n in list_references("all")}
    names = [n for n in modules if modules[n].startswith(("sklearn.", "separatrix."))]
    found = compare(names, X, Y, cv=RandomShares(1))
    assert {m.name: m.reason for m in found.methods if m.status != "done"} == {}
    assert min(m.summary["accuracy"].mean for m in found.methods) > 0.6
    for method in found.methods:
        tried = sum(len(values) > 1 for values in method.grid.values())
        assert tried or method.name in ("3-NN", "PCA", "NCA")


@pytest.mark.parametrize("name", ["SupervisedUMAP", "TabPFN", "TabICL", "ROCKET"])
def test_packages_that_are_not_installed_are_not_missed(name, monkeypatch):
    monkeypatch.setattr("separatrix.evaluate.references.find_spec", lambda module: None)
    assert name not in list_references("all")
    assert REFERENCES[name].find_class() is None
    with pytest.raises(ValueError, match=f"'{name}' is not a method"):
        compare([name], X, Y, **CHEAP)


def test_a_package_that_is_installed_is_imported_when_asked_for():
    made = Reference("sklearn.linear_model:RidgeClassifier", "Ridge.")
    assert is_installed(made)
    assert made.find_class().__name__ == "RidgeClassifier"
