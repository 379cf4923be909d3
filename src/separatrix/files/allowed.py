"""The types that a model file may name: the list is here, and a file only chooses from it."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import numpy as np
import scipy.sparse as sp

from separatrix.files.names import find_name, find_type, full_name

SCIKIT_LEARN_TYPES = {
    # steps of `preprocessing`, and others without private attributes
    "ColumnTransformer": "compose",
    "VarianceThreshold": "feature_selection",
    "SimpleImputer": "impute",
    "Pipeline": "pipeline",
    "MinMaxScaler": "preprocessing",
    "Normalizer": "preprocessing",
    "OneHotEncoder": "preprocessing",
    "RobustScaler": "preprocessing",
    "StandardScaler": "preprocessing",
    # words
    "TruncatedSVD": "decomposition",
    "HashingVectorizer": "feature_extraction.text",
    "TfidfTransformer": "feature_extraction.text",
    "TfidfVectorizer": "feature_extraction.text",
    # references of a comparison, and its decisions in a subspace
    "PCA": "decomposition",
    "KNeighborsClassifier": "neighbors",
    "NearestCentroid": "neighbors",
    "NeighborhoodComponentsAnalysis": "neighbors",
    "FunctionTransformer": "preprocessing",
    # classifiers of an EarlyClassifier or a DDAGClassifier
    "LinearDiscriminantAnalysis": "discriminant_analysis",
    "QuadraticDiscriminantAnalysis": "discriminant_analysis",
    "LogisticRegression": "linear_model",
    "RidgeClassifier": "linear_model",
    "GaussianNB": "naive_bayes",
    "LabelBinarizer": "preprocessing",  # a part of RidgeClassifier
    "LinearSVC": "svm",
    # the parameter `covariance` of FisherDiscriminant
    "EmpiricalCovariance": "covariance",
    "LedoitWolf": "covariance",
    "OAS": "covariance",
    "ShrunkCovariance": "covariance",
}
"""Types of scikit-learn that files may hold → the public module below ``sklearn``.

They do what they do with NumPy, or `files.audit.check_content` checks them. SGDClassifier
is not among them: compiled code changes many private arrays of it in place when it goes on
learning."""


def _by_name(*kinds: type) -> dict[str, type]:
    return {full_name(kind): kind for kind in kinds}


_SCALARS = _by_name(np.bool_, np.int32, np.int64, np.float32, np.float64, np.str_)

PLAIN_TYPES: dict[str, dict[str, type]] = {
    "JsonNode": _by_name(str),
    "DictNode": _by_name(dict),
    "ListNode": _by_name(list),
    "TupleNode": _by_name(tuple),
    "SliceNode": _by_name(slice),
    "TypeNode": {**_by_name(str, int, float, bool), **_SCALARS},
    "DTypeNode": _by_name(np.dtype),
    "NdArrayNode": {**_by_name(np.ndarray), **_SCALARS},
    "SparseMatrixNode": _by_name(sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix),
    "ObjectNode": {},
}
"""The kinds of nodes in files, and the types that each may build beside estimators and their
parts: those that are named tuples are a TupleNode, the others an ObjectNode."""


def find_allowed(loader: str, name: str) -> type | None:
    """The type that a kind of node may build by a name, or None.

    Parameters
    ----------
    loader : str
        The kind of the node.
    name : str
        Module and name of the type, as they are today. Neither is imported: the type is taken
        from the tables of this package, and only its own module there is loaded.
    """
    plain = PLAIN_TYPES.get(loader, {}).get(name)
    if plain is not None or loader not in ("TupleNode", "ObjectNode"):
        return plain
    kind = _find_listed(name)
    return (
        kind if kind is not None and issubclass(kind, tuple) == (loader == "TupleNode") else None
    )


def _find_listed(name: str) -> type | None:
    """A type of this package that has a name in files, or one of `SCIKIT_LEARN_TYPES`."""
    stable = find_name(name)
    if stable is not None:
        return find_type(stable)
    last = name.rpartition(".")[2]
    if not name.startswith("sklearn.") or last not in SCIKIT_LEARN_TYPES:
        return None
    kind = find_scikit_learn_type(last)
    return kind if full_name(kind) == name else None


@cache
def find_scikit_learn_type(name: str) -> type:
    """The type of a name in `SCIKIT_LEARN_TYPES`."""
    kind: type = getattr(import_module(f"sklearn.{SCIKIT_LEARN_TYPES[name]}"), name)
    return kind
