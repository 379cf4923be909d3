"""Facts about a fitted method, other than scores: dimensions, view, loadings, readout."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from separatrix.base.affine import propose_affine
from separatrix.evaluate.classify import (
    FittedMethod,
    add_rule,
    fit_to,
    project_rows,
    scorer_of,
)
from separatrix.evaluate.methods import Contender, is_raw
from separatrix.evaluate.records import Loadings, Readout, Shuffled, View
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import draw_rows_by_class, order_columns_by_level

MAX_VIEW_DIRECTIONS = 3
"""Directions whose coordinates and loadings are kept."""

MAX_LOADING_FEATURES = 100
"""Features whose loadings are kept; of more, half by the size of weights, half by patterns."""

MAX_READOUT_NUMBERS = 60_000
"""Numbers of a linear map that are kept, so that the page of a comparison stays small."""

MAX_PATH_ROWS = 2000
"""Training rows, and test rows, that the accuracy by dimension is computed with."""


def describe_directions(
    contender: Contender,
    rule: Any,
    seed: int,
    fitted: FittedMethod,
    X: Any,
    codes: Array,
    X_new: Any,
    truth: Array,
) -> dict[str, Any]:
    """Number of directions, and accuracy by dimension on at most `MAX_PATH_ROWS` of each part."""
    found: dict[str, Any] = {"n_components": len(kept_columns(fitted, X))}
    if contender.choose_dimension:
        known, new = (draw_rows_by_class(part, MAX_PATH_ROWS, seed) for part in (codes, truth))
        Z, Z_new = project_rows(fitted.model, X[known]), project_rows(fitted.model, X_new[new])
        order, ends = order_columns_by_level(fitted.model, Z.shape[1])
        score = scorer_of(rule)
        path = score(Z[:, order], codes[known], Z_new[:, order], truth[new], ends)
        found["path"] = tuple(path.tolist())
    return found


def kept_columns(fitted: FittedMethod, X: Any) -> Array:
    """Columns of the projection that are kept."""
    if fitted.columns is not None:
        return fitted.columns
    return np.arange(project_rows(fitted.model, X[:1]).shape[1])


def view_rows(contender: Contender, fitted: FittedMethod, X: Any, X_new: Any) -> dict[str, Any]:
    """The test rows in the first directions, or along principal axes where there are none."""
    if is_raw(contender):
        n_axes = min(MAX_VIEW_DIRECTIONS, min(X.shape) - sp.issparse(X))  # not all of sparse rows
        if n_axes < 1:
            return {}
        axes = PCA(n_axes, random_state=0).fit(X)
        return {"view": View(to_tuples(axes.transform(X_new)), "principal axes")}
    columns = kept_columns(fitted, X)[:MAX_VIEW_DIRECTIONS]
    if not len(columns):
        return {}
    return {"view": View(to_tuples(project_rows(fitted.model, X_new)[:, columns]))}


def load_features(
    contender: Contender, fitted: FittedMethod, X: Any, X_new: Any, feature_names: Sequence[str]
) -> dict[str, Any]:
    """Loadings, where a method has weights of features."""
    columns = kept_columns(fitted, X)
    if is_raw(contender) or not len(columns):
        return {}
    Z_new = project_rows(fitted.model, X_new)
    W = None if sp.issparse(Z_new) else feature_weights(fitted.model, X_new, Z_new)
    if W is None:
        return {}
    return {"loadings": make_loadings(W[columns], X, feature_names)}


def to_tuples(Z: Any) -> tuple[tuple[float, ...], ...]:
    """An array as tuples of its rows."""
    rows = Z.toarray() if sp.issparse(Z) else np.asarray(Z, dtype=float)
    return tuple(tuple(row) for row in rows.tolist())


def feature_weights(model: Any, X: Any, Z: Array) -> Array | None:
    """The W with ``Z = X Wᵀ`` up to a constant, where the model holds one."""
    W = getattr(model, "components_", None)
    if W is None:
        W = getattr(model, "scalings_", np.zeros((0, 0))).T  # scikit-learn's LDA
    W = np.asarray(W, dtype=float)[: Z.shape[1]]
    if W.shape != (Z.shape[1], X.shape[1]):
        return None
    product = X @ W.T
    product -= product.mean(axis=0)
    same = np.allclose(product, Z - Z.mean(axis=0), rtol=1e-4, atol=1e-4 * np.abs(product).max())
    return W if same else None


def make_loadings(W: Array, X: Any, feature_names: Sequence[str]) -> Loadings:
    """The change along each direction by one standard deviation of each feature, of length one."""
    scaler = StandardScaler(with_mean=False).fit(X)
    spread = np.sqrt(scaler.var_)
    weights = (W * spread)[:MAX_VIEW_DIRECTIONS]
    weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), np.finfo(float).tiny)
    patterns = find_patterns(W, X, spread)[:MAX_VIEW_DIRECTIONS]
    n_features = X.shape[1]
    kept = np.arange(n_features)
    if n_features > MAX_LOADING_FEATURES:
        by_size = [np.argsort(-np.abs(A).max(axis=0), kind="stable") for A in (weights, patterns)]
        kept = np.unique([order[: MAX_LOADING_FEATURES // 2] for order in by_size])
    names = tuple(feature_names[j] for j in kept)
    return Loadings(names, to_tuples(weights[:, kept]), n_features, to_tuples(patterns[:, kept]))


def find_patterns(W: Array, X: Any, spread: Array) -> Array:
    """Haufe's patterns: cov(S)⁻¹ W cov(X) with coordinates S = X Wᵀ, in standard deviations.

    The regression of each feature on all coordinates: row k, column j is the change of feature j,
    in its own standard deviations, when coordinate k changes by one of its. Only covariances of
    features with coordinates are formed, never of features with each other.

    References
    ----------
    Haufe et al., On the interpretation of weight vectors of linear models in multivariate
    neuroimaging, NeuroImage 87 (2014), equation 6.
    """
    S = np.asarray(X @ W.T, dtype=float)
    S -= S.mean(axis=0)
    shared = np.asarray(X.T @ S).T / len(S)  # rows of S sum to zero, so X needs no centring
    within = S.T @ S / len(S)
    patterns = np.linalg.pinv(within, hermitian=True) @ shared
    own = np.sqrt(np.diag(within))[:, None]
    return np.divide(patterns * own, spread, out=np.zeros_like(patterns), where=spread > 0)


def fit_shuffled(
    model: Any,
    then: Any,
    rows: Array,
    seed: int,
    learned: LabelledRows,
    X_new: Any,
    truth: Array,
) -> dict[str, Any]:
    """The test rows as the same method shows them when the labels of all rows are shuffled.

    Parameters
    ----------
    model : estimator
        Unfitted, with the settings that were chosen.
    then : estimator or None
        The same of the classifier on top; None where the method decides itself.
    rows : array
        Numbers of the training rows that it is fitted to.
    seed : int
        Source of the order of labels.
    learned : LabelledRows
        Training rows.
    X_new, truth : arrays
        Test rows, and their classes.
    """
    codes = learned.codes
    both = np.random.default_rng(seed).permutation(np.concatenate([codes, truth]))
    mixed, mixed_new = both[: len(codes)], both[len(codes) :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the method are about labels that were learned
        fit_to(model, learned._replace(codes=mixed).part(rows))
        fitted = add_rule(model, learned.X, mixed, then)
        predicted = fitted.rule.predict(fitted.rows_for_rule(X_new))
        coordinates = to_tuples(project_rows(model, X_new)[:, :MAX_VIEW_DIRECTIONS])
    labels = tuple(mixed_new.tolist()), tuple(np.asarray(predicted).tolist())
    return {"shuffled": Shuffled(coordinates, *labels)} if coordinates and coordinates[0] else {}


# Without the method ------------------------------------------------------------------------------


def read_out(
    fitted: FittedMethod, scaler: Any, X: Any, X_new: Any, predicted: Array
) -> dict[str, Any]:
    """The linear maps of rows of the table to coordinates and to the predicted class.

    Parameters
    ----------
    fitted : FittedMethod
        The method and its rule, for rows that went through `scaler`.
    scaler : StandardScaler or None
        With any other transformer the method does not see a row of the table: nothing is read
        out.
    X, X_new : arrays
        Training and test rows after scaling.
    predicted : array
        The classes of the test rows. A linear rule that does not give them is left out.
    """
    if sp.issparse(X) or not (scaler is None or type(scaler) is StandardScaler):
        return {}
    W, offsets = np.zeros((0, X.shape[1])), np.zeros(0)
    V, class_offsets = find_class_weights(fitted)
    if hasattr(fitted.model, "transform"):
        columns = kept_columns(fitted, X)[:MAX_VIEW_DIRECTIONS]
        Z_new = project_rows(fitted.model, X_new)
        found = feature_weights(fitted.model, X_new, Z_new)
        if found is None:
            return {}
        W = found[columns]
        offsets = (Z_new[:, columns] - X_new @ W.T).mean(axis=0)
    if len(V) and not np.array_equal(np.argmax(X_new @ V.T + class_offsets, axis=1), predicted):
        V, class_offsets = V[:0], class_offsets[:0]
    if not len(W) + len(V) or (len(W) + len(V)) * X.shape[1] > MAX_READOUT_NUMBERS:
        return {}
    (W, offsets), (V, class_offsets) = (
        undo_scaling(scaler, A, b) for A, b in ((W, offsets), (V, class_offsets))
    )
    maps = to_tuples(W), tuple(offsets.tolist()), to_tuples(V), tuple(class_offsets.tolist())
    return {"readout": Readout(*maps)}


def find_class_weights(fitted: FittedMethod) -> tuple[Array, Array]:
    """Weights and constants of a linear rule, a row for each class; no rows where it has none."""
    n_features = getattr(fitted.model, "n_features_in_", 0)
    none = np.zeros((0, n_features)), np.zeros(0)
    try:
        V = np.atleast_2d(np.asarray(fitted.rule.coef_, dtype=float))
        constants = np.atleast_1d(np.asarray(fitted.rule.intercept_, dtype=float))
    except (AttributeError, NotImplementedError):
        return none
    if fitted.rule is not fitted.model or V.shape != (len(constants), n_features):
        return none
    if len(V) == 1:  # two classes: the second where the decision is positive
        V, constants = np.vstack([0 * V, V]), np.append(0.0, constants)
    return (V, constants) if len(V) == len(fitted.rule.classes_) else none


def undo_scaling(scaler: Any, A: Array, b: Array) -> tuple[Array, Array]:
    """The map ``A x + b`` of scaled rows as one of rows before they were scaled."""
    before = propose_affine(scaler, A.shape[1])
    assert before is not None, "only steps that are read as maps are undone"
    weights = before.pull_back(A).T
    return weights, b + A @ before.offset - weights @ before.centre
