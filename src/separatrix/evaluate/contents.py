"""Contents of a fitted model: its steps, its classes, and the features that it uses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.linalg import Array


class FeatureTable(NamedTuple):
    """Weights and patterns of the features of a model.

    Attributes
    ----------
    names : list of str
    weights : array (n_directions, n_features)
        Change of a score by one standard deviation of each feature, in units of the largest.
    correlations : array (n_directions, n_features) or None
        The correlation of each feature with each score, where the model keeps moments. Weights
        also cancel disturbances; correlations show the features that change with a score.
    importance : array (n_features,) or None
        Importance in all directions together (VIP), where the method gives it.
    """

    names: list[str]
    weights: Array
    correlations: Array | None
    importance: Array | None = None


class ModelContents(NamedTuple):
    """Contents of a fitted model.

    Attributes
    ----------
    method : str
        The class of the method.
    steps : list of str
        All steps with their parameters.
    classes : list of str
    counts : list of float or None
        Rows of each class, where the model keeps moments.
    n_features : int
        Features that the method sees.
    n_directions : int or None
    chosen : dict
        Values that were chosen for parameters that are "auto", and rules that were used.
    features : FeatureTable or None
        None where directions are no weights of features.
    """

    method: str
    steps: list[str]
    classes: list[str]
    counts: list[float] | None
    n_features: int
    n_directions: int | None
    chosen: dict[str, Any]
    features: FeatureTable | None


CHOICES = ("n_components_", "n_whitened_", "gamma_", "shrinkage_", "alpha_")
"""Fitted attributes that record a choice."""


def find_method(model: Any) -> tuple[list[Any], Any]:
    """The steps before the method of a fitted model, and the method.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from separatrix import FisherDiscriminant
    >>> find_method(make_pipeline(StandardScaler(), FisherDiscriminant()))
    ([StandardScaler()], FisherDiscriminant())
    """
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    for i, step in enumerate(steps):
        if type(step).__module__.startswith("separatrix.") and hasattr(step, "predict"):
            return steps[:i], step
        if type(step).__module__.startswith("separatrix.") and hasattr(step, "components_"):
            return steps[:i], step
    return steps[:-1], steps[-1]


def name_features(before: list[Any], method: Any) -> list[str]:
    """Names of the features that the method of a pipeline sees, or their numbers."""
    n_features = int(method.n_features_in_)
    names = getattr(before[0] if before else method, "feature_names_in_", None)
    try:
        for step in before:
            names = step.get_feature_names_out(names)
    except (AttributeError, ValueError, TypeError):  # hashed words have no names
        names = None
    if names is None or len(names) != n_features:
        return [f"x{j}" for j in range(n_features)]
    return [str(name) for name in names]


def describe_contents(model: Any) -> ModelContents:
    """Describe the contents of a fitted model.

    Parameters
    ----------
    model : fitted estimator or pipeline

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> wine = datasets.load("wine")
    >>> contents = describe_contents(FisherDiscriminant().fit(wine.data, wine.target))
    >>> contents.method, contents.n_directions, contents.counts
    ('FisherDiscriminant', 2, [59.0, 71.0, 48.0])
    """
    before, method = find_method(model)
    moments = getattr(method, "moments_", None)
    components = getattr(method, "components_", None)
    classes = getattr(model, "classes_", getattr(method, "classes_", []))
    return ModelContents(
        method=type(method).__name__,
        steps=[" ".join(repr(step).split()) for _, step in getattr(model, "steps", [("", model)])],
        classes=[str(label) for label in classes],
        counts=None if moments is None else np.asarray(moments.counts, dtype=float).tolist(),
        n_features=int(getattr(method, "n_features_in_", 0)),
        n_directions=None if components is None else len(components),
        chosen=_list_choices(method),
        features=_describe_features(before, method),
    )


def _list_choices(method: Any) -> dict[str, Any]:
    """The settings that data chose, and whether rows left out or moments chose them."""
    values = {name: getattr(method, name, None) for name in CHOICES}
    found = {name.rstrip("_"): value for name, value in values.items() if value is not None}
    if getattr(method, "left_out_", None) is not None:
        moments = getattr(method, "shrinkage", None) == "moments"
        found["by"] = "moments" if moments else "rows left out"
    elif getattr(method, "expected_", None) is not None:
        found["by"] = "moments"
    return found


def _find_complete(method: Any) -> Any:
    """The classifier of complete rows where a method decides early by one, or the method."""
    if not hasattr(method, "decide_early") or method.reducer_ is not None:
        return method
    return method.estimator_


def _describe_features(before: list[Any], whole: Any) -> FeatureTable | None:
    method = _find_complete(whole)
    weights = getattr(method, "coef_", None)
    if weights is None or np.ndim(weights) != 2 or len(weights) > 1:
        weights = getattr(method, "components_", None)
    if weights is None or getattr(method, "dual_coef_", None) is not None or not len(weights):
        return None
    if np.shape(weights)[1] != method.n_features_in_:
        return None
    moments = getattr(method, "moments_", None)
    correlations = None
    scaled = np.asarray(weights, dtype=float)
    if moments is not None and hasattr(method, "structure_correlations_"):
        spread = np.sqrt(np.clip(moments.total_diagonal(), 0, None) / moments.n_samples)
        scaled = scaled * spread
        correlations = np.asarray(method.structure_correlations_, dtype=float)[: len(scaled)]
        # of two classes the weights point to the second, components by a rule of their own
        along = np.sum(np.asarray(method.components_)[: len(scaled)] * weights, axis=1)
        correlations = correlations * np.where(along < 0, -1.0, 1.0)[:, None]
    largest = np.abs(scaled).max(axis=1, keepdims=True)
    scaled = scaled / np.where(largest > 0, largest, 1)
    importance = getattr(method, "vip_", None)
    return FeatureTable(name_features(before, whole), scaled, correlations, importance)


def list_reasons(model: Any, X: Any, *, most: int = 5) -> list[list[tuple[str, float]]] | None:
    """The features that decided for the predicted class against the next one, row by row.

    Parameters
    ----------
    model : fitted estimator or pipeline
        Whose classes have linear scores; None is returned for any other.
    X : array or data frame
        Rows as the model takes them.
    most : int
        Features of a row, at most.

    Returns
    -------
    list of lists of (name, amount)
        What each feature adds to the difference of the two scores, the largest amounts first;
        features that are zero in a row add nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [4.0, 1.1], [5.0, 0.1]]), list("aabb")
    >>> [[(name, amount)]] = list_reasons(FisherDiscriminant().fit(X, y), X[3:], most=1)
    >>> name, amount > 0
    ('x0', True)
    """
    before, method = find_method(model)
    coef = getattr(method, "coef_", None)
    if coef is None or np.ndim(coef) != 2 or np.shape(coef)[1] != method.n_features_in_:
        return None
    names, rows = name_features(before, method), X
    for step in before:
        rows = step.transform(rows)
    scores = np.asarray(method.decision_function(rows))
    if scores.ndim == 1:  # of two classes there is one function, that of the second
        scores, coef = np.column_stack([-scores, scores]), np.vstack([-coef[0], coef[0]]) / 2
    order = np.argsort(scores, axis=1)
    values = rows.to_numpy() if hasattr(rows, "to_numpy") else rows
    return [
        _largest_amounts(values[[i]], coef[winner] - coef[next_one], names, most)
        for i, (next_one, winner) in enumerate(order[:, -2:])
    ]


def _largest_amounts(
    row: Any, weights: Array, names: list[str], most: int
) -> list[tuple[str, float]]:
    places = row.indices if hasattr(row, "indices") else np.flatnonzero(row)
    amounts = (row.data if hasattr(row, "indices") else row[0, places]) * weights[places]
    chosen = np.argsort(-np.abs(amounts), kind="stable")[:most]
    return [(names[places[j]], float(amounts[j])) for j in chosen]


class RowNovelty(NamedTuple):
    """How far rows are from all classes of a model, and how probable that is for its own rows."""

    distances: Array
    pvalues: Array


def judge_novelty(model: Any, X: Any, *, beyond: float = 0.0) -> RowNovelty | None:
    """How unlike the rows of a fitted model new rows are; None where it cannot tell.

    Models of moments can where they have learned more rows than features; see
    `FisherDiscriminant.novelty_pvalue`.

    Parameters
    ----------
    model : fitted estimator or pipeline
    X : array or data frame
        Rows as the model takes them.
    beyond : float
        Rows that are no farther are not judged: their p-value is 1.
    """
    before, method = find_method(model)
    if not hasattr(method, "novelty_pvalue"):
        return None
    rows = X
    for step in before:
        rows = step.transform(rows)
    try:
        distances = method.novelty(rows)
        pvalues, far = np.ones(len(distances)), np.flatnonzero(distances > beyond)
        if len(far):
            chosen = rows.iloc[far] if hasattr(rows, "iloc") else rows[far]
            pvalues[far] = method.novelty_pvalue(chosen)
        return RowNovelty(distances, pvalues)
    except ValueError:  # too few rows for a distribution
        return None
