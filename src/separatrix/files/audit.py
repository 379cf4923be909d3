"""Whether compiled code can be trusted with the numbers of a model that comes from a file.

NumPy checks where it reads and writes; the compiled parts of scikit-learn and SciPy follow shapes
and indices of fitted attributes without a check. Where scikit-learn can derive such attributes
from rows or categories they are derived anew, and those of the file are overwritten.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

FIT_ONLY = {
    "KNeighborsClassifier": ("_tree",),
    "NeighborhoodComponentsAnalysis": ("random_state_",),
    "HashingVectorizer": ("_stop_words_id",),
    "TfidfVectorizer": ("_stop_words_id",),
}
"""Attributes that files do without: a fit, or `check_content`, makes them anew."""

PLAIN_METRICS = frozenset(
    {"chebyshev", "cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "minkowski"}
)
"""Distances without arrays of their own."""


class NotAllowedError(ValueError):
    """Something that a file holds, or a model would put into one, and that has no place there."""


def walk_parts(model: Any) -> Iterator[Any]:
    """An object and all that it holds, but for text, numbers and types."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or part is None or isinstance(part, str | float | int | type):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
        elif not isinstance(part, np.ndarray):
            waiting.extend(getattr(part, "__dict__", {}).values())
        elif part.dtype == object:
            waiting.extend(part.ravel().tolist())


def remove_fit_only(model: Any) -> Any:
    """The same model without the attributes of `FIT_ONLY`, and vocabularies as one text."""
    for part in list(walk_parts(model)):
        for name in FIT_ONLY.get(type(part).__name__, ()):
            vars(part).pop(name, None)
        if type(part).__name__ == "TfidfVectorizer" and hasattr(part, "vocabulary_"):
            part.vocabulary_ = join_words(part)
    return model


def check_content(model: Any) -> None:
    """Raise when compiled code would follow numbers in the model to where nothing is."""
    for part in list(walk_parts(model)):
        check_nothing_covered(part)
        check = CHECKS.get(type(part).__name__)
        if check is not None:
            check(part)


def check_nothing_covered(part: Any) -> None:
    """Raise when an attribute stands where one of the type should be found.

    A method would be no method any more, and text of the file could become part of the page that
    a notebook shows of the model. Parameters and fitted attributes cover only their defaults.
    """
    kind = type(part)
    parameters: list[str] = getattr(kind, "_get_param_names", list)()
    for name in getattr(part, "__dict__", ()):
        if name not in parameters and not _is_default(kind, name):
            raise NotAllowedError(f"{name} of a {kind.__name__} covers that of its class")


def _is_default(kind: type, name: str) -> bool:
    """Whether a type has nothing of a name, or a value that its fitted attribute may replace."""
    for owner in kind.__mro__:
        if name in vars(owner):
            value = vars(owner)[name]
            plain = value is None or isinstance(value, bool | int | float)
            plain = plain or type(value).__name__ == "Solved"
            return plain and owner.__module__.startswith("separatrix.")
    return True


PARTS_DO_NOT_FIT = (AttributeError, TypeError, KeyError, IndexError, NameError)
"""Errors of a model that lacks a part, or has another thing in its place."""


MAX_ZEROS = 1 << 20
"""Zeros that a model is asked about, unless it holds as many numbers itself."""


def check_answers(model: Any) -> None:
    """Raise when a fitted estimator of ours cannot be asked about a row: its parts do not fit.

    A row of zeros is projected and decided. An error in words, such as that of a model that is
    not fitted, is an answer. A model of sparse rows with more than `MAX_ZEROS` columns is not
    asked: a small file could name so many that the answer takes all memory.
    """
    for part in [model, *(step for _, step in getattr(model, "steps", []))]:
        if not type(part).__module__.startswith("separatrix."):
            continue
        try:
            _ask_about_zeros(part)
        except PARTS_DO_NOT_FIT as error:
            if not isinstance(error, ValueError):  # as that of a model that is not fitted
                raise NotAllowedError(
                    f"the parts of its {type(part).__name__} do not fit together: {error}"
                ) from None


def _ask_about_zeros(part: Any) -> None:
    n_features = getattr(part, "n_features_in_", None)
    if n_features is None or getattr(part, "_is_waiting", bool)():
        return  # one that waits solves from its moments when it is asked
    parts = list(walk_parts(part))
    largest = max((p.size for p in parts if isinstance(p, np.ndarray)), default=0)
    if not 0 <= n_features <= max(largest, MAX_ZEROS):
        if any(sp.issparse(p) and p.shape[-1] == n_features for p in parts):
            return  # even a sparse row would be multiplied in as much memory as it has columns
        raise NotAllowedError(f"a {type(part).__name__} has n_features_in_={n_features!r}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ask in ("transform", "predict"):
            with suppress(ValueError, ArithmeticError):
                getattr(part, ask, len)(np.zeros((1, n_features)))


# Checks of types ---------------------------------------------------------------------------------


def check_sparse(matrix: Any) -> None:
    """Indices inside the matrix."""
    matrix.check_format(full_check=True)


def refit_neighbours(model: Any) -> None:
    """All fitted attributes from rows and labels, by a fit, which checks these."""
    if not hasattr(model, "_fit_X"):
        return
    if model.metric not in PLAIN_METRICS or not {"p"}.issuperset(model.metric_params or ()):
        raise NotAllowedError(
            f"a KNeighborsClassifier has metric={model.metric!r} with "
            f"{sorted(model.metric_params or ())}: files keep {', '.join(sorted(PLAIN_METRICS))}"
        )
    try:
        again = clone(model).fit(model._fit_X, np.asarray(model.classes_)[model._y])
        _take_fitted(model, again)
    except Exception as error:  # whatever a fit meets in arrays that are no rows
        raise NotAllowedError(
            "a KNeighborsClassifier has rows that are not finite numbers, or labels that are not "
            f"among its classes: {error}"
        ) from None


def refit_one_hot(encoder: Any) -> None:
    """All fitted attributes from the categories, by a fit to one row, which checks these."""
    if not hasattr(encoder, "categories_"):
        return
    if encoder.max_categories is not None or encoder.min_frequency is not None:
        raise NotAllowedError("a OneHotEncoder lumps rare categories together: leave that out")
    from pandas import DataFrame, Series

    try:
        known = encoder.categories_
        row = DataFrame({i: Series(c[:1], dtype=c.dtype) for i, c in enumerate(known)})
        again = clone(encoder).set_params(categories=known).fit(row)
        _take_fitted(encoder, again, "categories", "categories_")
    except Exception as error:  # whatever a fit meets in arrays that are no categories
        raise NotAllowedError(f"a OneHotEncoder has no sound categories: {error}") from None


def _take_fitted(model: Any, again: Any, *kept: str) -> None:
    """Overwrite attributes by those of another fit, but for the names of features and `kept`."""
    if model.n_features_in_ != again.n_features_in_:
        raise ValueError(f"it has {again.n_features_in_} features, not {model.n_features_in_}")
    kept = ("feature_names_in_", *kept)
    vars(model).update({k: v for k, v in vars(again).items() if k not in kept})


def check_identity(model: Any) -> None:
    """No function but the one that changes nothing."""
    if model.func is not None or model.inverse_func is not None or model.kw_args:
        raise NotAllowedError("a FunctionTransformer has a function: only one without is kept")


def check_numbers(model: Any) -> None:
    """Nothing but numbers and arrays of numbers."""
    for name, value in vars(model).items():
        if name == "_sklearn_version":
            continue
        array = np.asarray(value)
        if value is not None and (array.dtype.kind not in "biuf" or not np.isfinite(array).all()):
            raise NotAllowedError(
                f"a {type(model).__name__} has {name}={str(value)[:80]!r}: files keep one of "
                "numbers alone"
            )


def check_pipeline(pipeline: Any) -> None:
    """No folder of results, which may hold code."""
    if pipeline.memory is not None:
        raise NotAllowedError(
            "a Pipeline keeps results in a folder, which may hold code: give memory=None"
        )


# Words ---------------------------------------------------------------------------------------


def join_words(vectorizer: Any) -> str:
    """The words of a vocabulary in the order of their columns, one in each line."""
    if not isinstance(vectorizer.vocabulary_, dict):
        raise NotAllowedError("a TfidfVectorizer has no sound vocabulary")
    return "\n".join(sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__))


def check_vectorizer(vectorizer: Any) -> None:
    """Texts that are split as by default: no files are opened, and no other pattern is searched.

    A pattern from a file could take for ever, and ``input="filename"`` would read any file.
    """
    usual = type(vectorizer)()
    for name in ("input", "analyzer", "token_pattern", "tokenizer", "preprocessor"):
        given = getattr(vectorizer, name)
        if given != getattr(usual, name):
            raise NotAllowedError(
                f"a {type(vectorizer).__name__} has {name}={given!r}: files keep only "
                f"{getattr(usual, name)!r}"
            )


def check_hashing(vectorizer: Any) -> None:
    """A number of columns that compiled code can count."""
    check_vectorizer(vectorizer)
    n_features = vectorizer.n_features
    if type(n_features) is not int or not 1 <= n_features < 1 << 31:
        raise NotAllowedError(f"a HashingVectorizer has n_features={n_features!r}")


def check_vocabulary(vectorizer: Any) -> None:
    """One column for each word, and a weight for each column."""
    check_vectorizer(vectorizer)
    if vectorizer.vocabulary is not None:
        raise NotAllowedError("a TfidfVectorizer has a vocabulary of its own: leave it out")
    if not hasattr(vectorizer, "vocabulary_"):
        return
    words = vectorizer.vocabulary_
    if isinstance(words, str):
        columns = {word: i for i, word in enumerate(words.split("\n"))}
        if len(columns) != words.count("\n") + 1:
            raise NotAllowedError("a TfidfVectorizer has a word twice")
        vectorizer.vocabulary_ = words = columns
    if not isinstance(words, dict) or list(words.values()) != list(range(len(words))):
        raise NotAllowedError("a TfidfVectorizer has no sound vocabulary")
    weights = vectorizer._tfidf
    check_word_weights(weights)
    if weights.n_features_in_ != len(words):
        raise NotAllowedError(
            f"a TfidfVectorizer has {len(words)} words, and weights of {weights.n_features_in_}"
        )


def check_word_weights(weights: Any) -> None:
    """A finite weight for each column."""
    if not (weights.use_idf and hasattr(weights, "idf_")):
        return
    idf = weights.idf_
    shape = (getattr(weights, "n_features_in_", None),)
    sound = isinstance(idf, np.ndarray) and idf.dtype.kind == "f" and idf.shape == shape
    if not sound or not np.isfinite(idf).all():
        raise NotAllowedError("a TfidfTransformer has weights that do not fit its columns")


CHECKS: dict[str, Callable[[Any], None]] = {
    "FunctionTransformer": check_identity,
    **dict.fromkeys(
        ("EmpiricalCovariance", "LedoitWolf", "OAS", "ShrunkCovariance"), check_numbers
    ),
    "HashingVectorizer": check_hashing,
    "KNeighborsClassifier": refit_neighbours,
    "OneHotEncoder": refit_one_hot,
    "Pipeline": check_pipeline,
    "TfidfTransformer": check_word_weights,
    "TfidfVectorizer": check_vocabulary,
    **dict.fromkeys(("csr_array", "csr_matrix", "csc_array", "csc_matrix"), check_sparse),
}
"""Checks of the types that are not safe as they are."""
