"""The contract of every estimator: scikit-learn's checks, and ours."""

from __future__ import annotations

import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import FastICA
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import separatrix
from separatrix import FisherDiscriminant
from separatrix.base.kernel import KernelEstimator
from separatrix.early import Promise, SampledJudge
from separatrix.kernels import RBF
from tests.discovery import (
    SHAPES,
    TALL,
    all_classifiers,
    all_estimators,
    lawful_estimators,
    linear,
    name_of,
    probabilistic_classifiers,
    reducible_estimators,
    same_up_to_sign,
    sparse_estimators,
    subspace_estimators,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:the within-class scatter has no null space",
    "ignore:.*found no direction that separates",
    "ignore:FastICA did not converge",
    "ignore:class .* has too few rows for a covariance",
)
every = pytest.mark.parametrize("estimator", subspace_estimators(), ids=name_of)
every_linear = pytest.mark.parametrize("estimator", linear(subspace_estimators()), ids=name_of)
every_classifier = pytest.mark.parametrize("estimator", all_classifiers(), ids=name_of)
every_reducible = pytest.mark.parametrize("estimator", reducible_estimators(), ids=name_of)
every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


def weights_beyond_repetition(estimator):
    """Where copies of a row are not a weight for scikit-learn; see the laws below."""
    reason = None
    chosen = [estimator.get_params().get(n) for n in ("gamma", "n_components", "shrinkage")]
    by_folds = (
        separatrix.LDG
        | separatrix.LocalFisherDiscriminant
        | separatrix.PartialLeastSquaresDiscriminant
    )
    if isinstance(estimator, by_folds) and "auto" in chosen:
        reason = "copies of a row go to unlike folds"
    if isinstance(estimator, separatrix.KernelSupportVectorICA):
        reason = "the largest dual weight gives a direction its sign, and copies share theirs"
    kinds = ("dense", "sparse") if reason else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


@parametrize_with_checks(all_estimators(), expected_failed_checks=weights_beyond_repetition)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_allowed_parameters_do_not_clash_with_scikit_learns_protocol(estimator):
    estimator._validate_params()


@every
def test_only_the_first_parameter_is_positional(estimator):
    parameters = list(inspect.signature(type(estimator)).parameters.values())
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[1:])


@every_linear
@every_shape
def test_transform_is_the_centred_product(estimator, X, y):
    Z = clone(estimator).fit(X, y)
    assert_allclose(Z.transform(X), (X - Z.mean_) @ Z.components_.T, atol=1e-10)
    assert_allclose(Z.transform(X.mean(axis=0, keepdims=True)), 0, atol=1e-10)


@every_linear
@every_shape
def test_attributes_have_the_stated_shapes(estimator, X, y):
    fitted = clone(estimator).fit(X, y)
    k, d = fitted.components_.shape
    assert d == X.shape[1]
    assert k >= 1
    assert fitted.mean_.shape == (d,)
    assert fitted.means_.shape == (3, d)
    assert fitted.explained_ratio_.shape == (k,)
    assert fitted.rank_ >= 1
    assert_array_equal(fitted.classes_, np.unique(y))
    assert len(fitted.get_feature_names_out()) == k


@every_linear
@every_shape
def test_the_largest_entry_of_a_component_is_positive(estimator, X, y):
    fitted = clone(estimator).fit(X, y)
    n_sided = len(getattr(fitted, "class_of_component_", ()))  # these point to their class
    W = fitted.components_[n_sided:]
    assert (W[np.arange(len(W)), np.abs(W).argmax(axis=1)] > 0).all()


@every
@every_shape
def test_explained_ratios_are_shares(estimator, X, y):
    ratio = clone(estimator).fit(X, y).explained_ratio_
    assert (ratio >= 0).all()
    assert ratio.sum() <= 1 + 1e-12


@every_reducible
@every_shape
def test_fewer_components_are_the_first_ones(estimator, X, y):
    estimator = clone(estimator)
    if "gamma" in estimator.get_params():  # chosen for the number of directions, unless given
        estimator.set_params(gamma=0.6, n_neighbors=4)
    every_direction = clone(estimator).fit(X, y)
    one = clone(estimator).set_params(n_components=1).fit(X, y)
    groups = getattr(every_direction, "group_of_component_", np.zeros(1, dtype=int))
    firsts = np.unique(groups, return_index=True)[1]
    assert_allclose(one.components_, every_direction.components_[firsts], atol=1e-9)
    assert_allclose(one.explained_ratio_, every_direction.explained_ratio_[firsts], atol=1e-9)


@every_reducible
@every_shape
def test_too_many_components_are_refused_with_the_most_possible(estimator, X, y):
    with pytest.raises(ValueError, match=r"n_components=1000 is too large.*at most \d+ \("):
        clone(estimator).set_params(n_components=1000).fit(X, y)


@every_reducible
@pytest.mark.parametrize("value", [0, -1, 1.5, "many", True])
def test_a_senseless_n_components_is_refused(estimator, value):
    with pytest.raises(ValueError, match=r"n_components=.* is not valid"):
        clone(estimator).set_params(n_components=value).fit(*TALL)


@every
def test_one_class_is_refused(estimator):
    with pytest.raises(ValueError, match="only one class: 'a'"):
        clone(estimator).fit(TALL[0], np.full(len(TALL[0]), "a"))


@every
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_values_are_refused_by_the_name_of_the_column(estimator, value, word):
    X, y = TALL
    X = X.copy()
    X[3, 4] = value
    with pytest.raises(ValueError, match=f"{word} in column 4"):
        clone(estimator).fit(X, y)
    named = pd.DataFrame(X, columns=list("abcdef"))
    with pytest.raises(ValueError, match=f"{word} in column 'e'"):
        clone(estimator).fit(named, y)
    fitted = clone(estimator).fit(named.fillna(0).replace(np.inf, 0), y)
    with pytest.raises(ValueError, match=f"{word} in column 'e'"):
        fitted.transform(named)


@every
@every_shape
def test_float32_in_gives_float32_out_and_the_same_directions(estimator, X, y):
    single = clone(estimator).fit(X.astype(np.float32), y)
    double = clone(estimator).fit(X.astype(np.float32).astype(np.float64), y)
    Z = single.transform(X.astype(np.float32))
    assert Z.dtype == np.float32
    assert single.transform(X).dtype == np.float64
    # single precision, amplified by the inverse of Sw
    k = min(2, Z.shape[1])
    scale = np.abs(double.transform(X)[:, :k]).max()
    assert_allclose(Z[:, :k], double.transform(X)[:, :k], atol=2e-3 * scale)


@every
def test_frames_in_and_out(estimator):
    X, y = TALL
    frame = pd.DataFrame(X, columns=list("abcdef"))
    fitted = clone(estimator).set_output(transform="pandas").fit(frame, pd.Series(y))
    Z = fitted.transform(frame)
    assert_array_equal(fitted.feature_names_in_, list("abcdef"))
    assert_array_equal(Z.columns, fitted.get_feature_names_out())
    assert_allclose(Z.to_numpy(), clone(estimator).fit_transform(X, y))


@every
@every_shape
def test_labels_of_any_type_give_the_same_subspace(estimator, X, y):
    expected = clone(estimator).fit(X, y)
    for labels in (
        np.array(["ash", "beech", "cedar"])[y],
        y * 1000 - 7,
        np.array(list("abc"), object)[y],
    ):
        fitted = clone(estimator).fit(X, labels)
        assert_array_equal(fitted.components_, expected.components_)
        assert_array_equal(fitted.classes_, np.unique(labels))


@pytest.mark.parametrize("estimator", sparse_estimators(), ids=name_of)
@every_shape
def test_sparse_rows_give_what_dense_rows_give(estimator, X, y):
    X = np.where(np.abs(X) > 1.5, X, 0.0)
    dense = clone(estimator).fit(X, y)
    sparse = clone(estimator).fit(sp.csr_matrix(X), y)
    # products of sparse rows are squared: half the digits where Sw is singular
    if hasattr(dense, "coef_") or not hasattr(dense, "dual_coef_"):
        assert_allclose(sparse.components_, dense.components_, atol=1e-6)
    assert_allclose(sparse.transform(sp.csr_array(X)), dense.transform(X), atol=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [e for e in lawful_estimators() if has_fit_parameter(e, "sample_weight")],
    ids=name_of,
)
@every_shape
def test_a_weight_of_two_is_the_row_twice(estimator, X, y):
    weights = np.arange(len(X)) // 4 % 3
    repeated = clone(estimator).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    if getattr(estimator, "kernel", None) is None:
        assert_allclose(weighted.components_, repeated.components_, atol=1e-9)
    Z, Z_repeated = weighted.transform(X), repeated.transform(X)
    if isinstance(estimator, KernelEstimator):  # the larger weight of a repeated row has no sign
        Z_repeated = same_up_to_sign(Z, Z_repeated)
    assert_allclose(Z, Z_repeated, atol=1e-7 * np.abs(Z).max())
    if hasattr(weighted, "predict"):
        values = "predict_proba" if hasattr(weighted, "predict_proba") else "decision_function"
        expected = getattr(repeated, values)(X)
        assert_allclose(getattr(weighted, values)(X), expected, atol=1e-7 * np.abs(expected).max())


@every_linear
def test_a_constant_feature_gets_no_weight(estimator):
    X, y = TALL
    X = np.column_stack([X, np.full(len(X), 1e6)])
    fitted = clone(estimator).fit(X, y)
    assert_allclose(fitted.components_[:, -1], 0, atol=1e-12)


@every_linear
def test_a_feature_given_twice_shares_its_weight(estimator):
    X, y = TALL
    fitted = clone(estimator).fit(np.column_stack([X, X[:, -1]]), y)
    if name_of(estimator) != "GroupedDiscriminant" or len(fitted.groups_) == 1:
        assert_allclose(fitted.components_[:, -1], fitted.components_[:, -2], atol=1e-9)
    assert np.isfinite(fitted.transform(np.column_stack([X, X[:, -1]]))).all()


@every
@every_shape
def test_a_class_of_one_sample_is_a_class(estimator, X, y):
    y = np.where(np.arange(len(y)) == 5, 7, y)
    fitted = clone(estimator).fit(X, y)
    assert_array_equal(fitted.classes_, [0, 1, 2, 7])
    assert np.isfinite(fitted.transform(X)).all()


COINCIDING = (
    np.tile([[1.0, 2], [-1, 2], [1, -2], [-1, -2]], (5, 1)),
    np.r_[np.zeros(12, int), np.ones(8, int)],
)
SEPARATED_WITHOUT_MEANS = (
    "HeteroscedasticDiscriminant",
    *("KernelLDG", "LDG", "LocalFisherDiscriminant", "MixtureIPCAC", "SparseLDG", "TransferLDG"),
)


@every
def test_coinciding_means_are_said_and_leave_the_majority(estimator):
    X, y = COINCIDING
    if name_of(estimator) in SEPARATED_WITHOUT_MEANS:  # neighbours and clusters may differ
        assert np.isfinite(clone(estimator).fit(X, y).transform(X)).all()
        return
    margin = type(estimator).__module__.startswith("separatrix.margin")  # has other reasons, too
    with pytest.warns(UserWarning, match="on one side" if margin else "means coincide"):
        fitted = clone(estimator).fit(X, y)
    assert fitted.transform(X).shape == (20, 0)
    if hasattr(fitted, "predict"):
        assert set(fitted.predict(X)) == {0}


ALIKE = np.ones((10, 2)), np.arange(10) % 2
HASTY = {  # searches that stop before they are done
    "SupportVectorICA": {"ica": FastICA(max_iter=1)},
    "KernelSupportVectorICA": {"ica": FastICA(max_iter=1)},
}


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_warnings_name_the_line_of_the_caller(estimator):
    hasty = clone(estimator).set_params(**HASTY.get(name_of(estimator), {}))
    said = []
    for model, (X, y) in ((estimator, COINCIDING), (estimator, ALIKE), (hasty, TALL)):
        around = (
            clone(model),
            make_pipeline(StandardScaler(), clone(model)),
            GridSearchCV(clone(model), {}, cv=StratifiedKFold(2), scoring=lambda *_: 0.0),
        )
        for caller in around:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                caller.fit(X, y)
            assert {w.filename for w in caught} <= {__file__}
            said += caught
    assert said or name_of(estimator) in ("LocalQDA", "MixtureIPCAC")  # nothing to warn of


def test_all_warnings_go_through_one_function():
    source = Path(separatrix.__file__).parent
    direct = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"(?<!_)warnings\.warn|stacklevel", path.read_text(encoding="utf-8"))
    ]
    assert direct == ["_warnings.py"]


@every
def test_the_callers_arrays_are_left_alone(estimator):
    for X, y in SHAPES.values():
        before = X.copy(), y.copy()
        clone(estimator).fit(X, y).transform(X)
        assert_array_equal(X, before[0])
        assert_array_equal(y, before[1])


def forms_of(X: np.ndarray) -> dict[str, np.ndarray]:
    """The same numbers as arrays that programs hand on."""
    fixed, spread = X.copy(), np.full((2 * len(X), 2 * X.shape[1]), np.nan)
    fixed.flags.writeable = False
    spread[::2, ::2] = X
    return {
        "read-only": fixed,
        "every other": spread[::2, ::2],
        "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
        "by columns": np.asfortranarray(X),
        "other byte order": X.astype(X.dtype.newbyteorder()),
    }


@every
@every_shape
def test_arrays_of_any_layout_give_the_same_subspace(estimator, X, y):
    expected = clone(estimator).fit(X, y)
    rows = expected.transform(X)
    for form, same in forms_of(X).items():
        fitted = clone(estimator).fit(same, y)
        # products of other layouts are summed in another order
        assert_allclose(fitted.transform(same), rows, atol=1e-6 * np.abs(rows).max(), err_msg=form)


@every
def test_half_precision_is_computed_in_a_higher_one(estimator):
    X, y = TALL
    half = X.astype(np.float16)
    fitted = clone(estimator).fit(half, y)
    rows = fitted.transform(half)
    expected = clone(estimator).fit(half.astype(rows.dtype), y).transform(half.astype(rows.dtype))
    assert rows.dtype in (np.float32, np.float64)
    assert_allclose(rows, expected, atol=1e-6 * np.abs(expected).max())


@every_classifier
def test_odd_labels_come_back_as_they_are(estimator):
    X, y = TALL
    for names in (
        ["", " ", "a b"],
        [True, False, True],
        [-1.0, 0.0, 2.0],
        ["ä", "日", "\U0001f600"],
    ):
        labels = np.array(names)[y]
        fitted = clone(estimator).fit(X, labels)
        assert_array_equal(fitted.classes_, np.unique(labels))
        assert set(fitted.predict(X)) <= set(labels)
        assert fitted.predict(X).dtype.kind == labels.dtype.kind


@pytest.mark.parametrize("estimator", probabilistic_classifiers(), ids=name_of)
@every_shape
def test_probabilities_and_decisions_agree(estimator, X, y):
    names = np.array(["ash", "beech", "cedar"])[y]
    model = clone(estimator).fit(X, names)
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), 3)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
    assert model.score(X, names) > 0.8


DECIDES_IN_CURVES = ("QuadraticDiscriminant", "HeteroscedasticDiscriminant")


@pytest.mark.parametrize(
    "estimator",
    [
        e
        for e in linear(subspace_estimators())
        if hasattr(type(e), "coef_") and name_of(e) not in DECIDES_IN_CURVES
    ],
    ids=name_of,
)
def test_two_classes_have_one_score_and_one_weight_vector(estimator):
    X, y = TALL
    X, y = X[y < 2], y[y < 2]
    model = clone(estimator).fit(X, y)
    score = model.decision_function(X)
    assert score.shape == (len(X),)
    assert model.coef_.shape == (1, 6)
    assert_array_equal(model.predict(X), (score > 0).astype(int))
    assert_allclose(X @ model.coef_[0] + model.intercept_[0], score, rtol=1e-8, atol=1e-8)


@every_classifier
def test_works_in_pipelines_and_grid_search(estimator):
    X, y = TALL
    pipeline = make_pipeline(StandardScaler(), clone(estimator))
    step = name_of(estimator).lower()
    reducible = "n_components" in estimator.get_params()
    grid = {f"{step}__n_components": [1, 2]} if reducible else {}
    search = GridSearchCV(pipeline, grid, cv=StratifiedKFold(3)).fit(X, y)
    assert search.best_score_ > 0.7


def nested_parameters():
    """For each estimator the objects that it takes, and a parameter of theirs with two values."""
    objects = {
        "kernel": (RBF(), "gamma", [0.01, 0.1]),
        "ica": (FastICA(), "tol", [1e-3, 1e-2]),
        "covariance": (LedoitWolf(), "assume_centered", [False, True]),
        "judge": (SampledJudge(n_checkpoints=2), "n_draws", [5, 10]),
        "calibration": (Promise(), "share", [0.3, 0.4]),
        "estimator": (None, None, None),
    }
    for estimator in all_estimators():
        for name in sorted(estimator.get_params(deep=False).keys() & objects.keys()):
            value, inner, values = objects[name]
            if name == "covariance" and not isinstance(estimator, FisherDiscriminant):
                continue
            made = clone(estimator)
            if value is not None:
                made.set_params(**{name: clone(value)})
            else:
                inner = sorted(made.get_params()[name].get_params())[0]
                values = [made.get_params()[name].get_params()[inner]]
            yield pytest.param(made, f"{name}__{inner}", values, id=f"{name_of(made)}-{name}")


@pytest.mark.parametrize(("estimator", "name", "values"), list(nested_parameters()))
def test_parameters_of_objects_are_read_set_copied_and_searched(estimator, name, values):
    X, y = TALL
    assert name in estimator.get_params()
    other = clone(estimator).set_params(**{name: values[-1]})
    assert other.get_params()[name] == values[-1]
    assert clone(other).get_params()[name] == values[-1]
    outer = name.partition("__")[0]
    assert clone(other).get_params()[outer] is not other.get_params()[outer]
    before = estimator.get_params()[name]
    score = None if hasattr(estimator, "score") else lambda model, X, y=None: 1.0
    search = GridSearchCV(estimator, {name: values}, cv=2, scoring=score, error_score="raise")
    assert search.fit(X, y).best_params_[name] in values
    assert estimator.get_params()[name] == before  # not even by a search
