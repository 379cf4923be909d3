"""Parameters, kernels and warnings that all methods with hyperplanes share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import FastICA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    KernelSupportVectorICA,
    MarginMaximizingDiscriminant,
    SupportVectorICA,
    SupportVectorProjection,
    WithinSupportVectorDiscriminant,
)
from separatrix.kernels import RBF
from tests.discovery import TALL, same_up_to_sign
from tests.margin.margin_data import (
    PAIR,
    every_data,
)

HASTY = FastICA(max_iter=1)


def calls_that_warn():
    X, y = PAIR
    corners = np.tile([[1.0, 2], [-1, 2], [1, -2], [-1, -2]], (5, 1))
    outweighed = np.r_[np.zeros(12), np.ones(8)]
    small = MarginMaximizingDiscriminant(2, C=1e-6)
    return {
        "fewer": lambda: small.fit(X, y),
        "none": lambda: MarginMaximizingDiscriminant().fit_transform(corners, outweighed),
        "ica": lambda: SupportVectorICA(ica=HASTY, random_state=0).fit(*TALL),
        "kernel": lambda: KernelSupportVectorICA(ica=HASTY, random_state=0).fit(*TALL),
        "pipeline": lambda: make_pipeline(StandardScaler(), small).fit(X, y),
    }


@pytest.mark.parametrize("call", calls_that_warn().values(), ids=calls_that_warn())
def test_warnings_point_at_the_line_that_called(call):
    with pytest.warns(UserWarning, match="hyperplane|FastICA") as said:
        call()
    assert {warning.filename for warning in said} == {__file__}
    assert all(warning.lineno == call.__code__.co_firstlineno for warning in said)


def test_a_class_weight_of_two_is_every_row_of_the_class_twice():
    X, y = PAIR
    weighed = MarginMaximizingDiscriminant(2, C=0.1, class_weight={1: 2}).fit(X, y)
    repeats = np.where(y == 1, 2, 1)
    repeated = MarginMaximizingDiscriminant(2, C=0.1).fit(
        np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    )
    assert_allclose(weighed.components_, repeated.components_, atol=1e-9)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({7: 1.0}, r"labels that are not in y: \[7\]"),
        ({1: 0.0}, "positive numbers"),
        ({0: "x"}, r"class_weight=\{0: 'x'\} must hold positive numbers"),
        ("heavy", "class_weight='heavy' is not valid"),
    ],
)
def test_odd_weights_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        MarginMaximizingDiscriminant(class_weight=weight).fit(*PAIR)


def test_a_linear_fit_that_is_refused_leaves_the_kernel_fit():
    X, y = PAIR
    model = MarginMaximizingDiscriminant(kernel="rbf").fit(X, y)
    before = dict(vars(model), kernel=None)
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(kernel=None).fit(np.full_like(X, np.nan), y)
    assert vars(model) == before


LINEAR = {
    "mmda": MarginMaximizingDiscriminant(4, C=0.5),
    "wsvda": WithinSupportVectorDiscriminant(4, shrinkage=0.25),
    "projection": SupportVectorProjection(C=0.5),
}


@pytest.mark.parametrize("model", LINEAR.values(), ids=LINEAR)
@every_data
def test_the_linear_kernel_is_the_linear_method(model, X, y):
    if len(X) < X.shape[1] and hasattr(model, "shrinkage"):
        pytest.skip("the trace of Sw is over the rank of the rows there, not over the features")
    linear = clone(model).fit(X, y)
    kernel = clone(model).set_params(kernel="linear").fit(X, y)
    new = X.mean(axis=0) + np.random.default_rng(0).normal(size=(50, X.shape[1]))
    Z, expected = kernel.transform(new), linear.transform(new)
    assert_allclose(same_up_to_sign(expected, Z), expected, atol=1e-6 * np.abs(expected).max())
    assert linear.dual_coef_ is None
    assert kernel.dual_coef_.shape == (len(linear.components_), len(X))


WEIGHTED = {
    "mmda": MarginMaximizingDiscriminant(4, C=0.5, class_weight="balanced"),
    "wsvda": WithinSupportVectorDiscriminant(4),
    "pairs": SupportVectorProjection(C=0.5, multiclass="ovo", redundancy=2),
    "ica": SupportVectorICA(5, C=0.5, random_state=0, ica=FastICA(fun="cube")),
    "curved": MarginMaximizingDiscriminant(2, kernel=RBF("median")),
    "curved wsvda": WithinSupportVectorDiscriminant(2, kernel=RBF("median"), shrinkage=0.1),
    "curved pairs": SupportVectorProjection(kernel=RBF("median"), multiclass="ovo"),
    "curved ica": KernelSupportVectorICA(
        kernel=RBF("median"), ica=FastICA(max_iter=5), random_state=0
    ),
}


@pytest.mark.filterwarnings("ignore:FastICA did not converge")
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", WEIGHTED.values(), ids=WEIGHTED)
@every_data
def test_a_weight_is_how_often_a_row_counts(model, X, y, sparse):
    weights = np.arange(len(X)) % 7 % 3
    X = X - X.min(axis=0)
    kind = sp.csr_array if sparse else np.asarray
    repeated = clone(model).fit(kind(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    weighted = clone(model).fit(kind(X), y, sample_weight=weights)
    assert weighted.rank_ == repeated.rank_
    expected = repeated.decision_function(kind(X))
    found = weighted.decision_function(kind(X))
    assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    Z, Z_repeated = weighted.transform(kind(X)), repeated.transform(kind(X))
    assert_allclose(same_up_to_sign(Z, Z_repeated), Z, atol=1e-6 * np.abs(Z).max())
    number = np.repeat(np.arange(len(X)), weights)
    for ours, theirs in zip(weighted.support_, repeated.support_, strict=True):
        assert_array_equal(ours, np.unique(number[theirs]))
    if hasattr(weighted, "accuracy_"):
        assert_allclose(weighted.accuracy_, repeated.accuracy_)


@pytest.mark.parametrize("model", [KernelSupportVectorICA(random_state=0), WEIGHTED["curved"]])
def test_weights_with_kernel_values_given(model):
    X, y = PAIR
    weights = np.arange(len(X)) % 3
    options = {"kernel": RBF(0.05)}
    given = clone(model).set_params(kernel="precomputed")
    values = rbf_kernel(X, gamma=0.05)
    found = given.fit(values, y, sample_weight=weights).decision_function(values)
    expected = clone(model).set_params(**options).fit(X, y, weights).decision_function(X)
    assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("model", [SupportVectorICA(), MarginMaximizingDiscriminant()])
def test_a_class_without_weight_is_refused(model):
    X, y = PAIR
    with pytest.raises(ValueError, match=r"classes \[1\] has a positive sample_weight"):
        model.fit(X, y, sample_weight=(y == 0).astype(float))
