"""The steps that make numbers of a table, learned from training rows and kept with the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from separatrix.features.spectra import make_row_steps
from separatrix.features.words import count_words, make_vectorizer, weigh_words
from separatrix.files.columns import (
    CONSTANT,
    check_features,
    check_informative,
    find_text_columns,
    read_constant,
)


def preprocessing(
    X: Any,
    *,
    scale: bool = True,
    categorical: str = "refuse",
    missing: str = "refuse",
    text: Sequence[str] = (),
    hashed: bool = False,
    latent: int | None = None,
    rows: Sequence[str] = (),
) -> Any:
    """Steps that make numbers of a table.

    They are fitted with the training rows and kept with the model.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`.
    scale : bool
        Give each column of numbers mean zero and variance one.
    categorical : "refuse" or "onehot"
        As in `check_features`. Values that training did not have get no column.
    missing : "refuse", "mean", "median", "most_frequent" or "constant:VALUE"
        As in `check_features`; gaps in text are filled with the most frequent value, or with
        VALUE as text. A constant is learned from no row: models behind it merge.
    text : sequence of str
        Columns whose words get sparse columns; see `features.words.make_vectorizer`, also for
        `hashed` and `latent`.
    hashed : bool
        Number words by a hash in place of a vocabulary.
    latent : int, optional
        Latent dimensions of each column of text, in place of its words.
    rows : sequence of str
        Steps on each row of numbers, before all others: "snv", "derivative", "detrend", "l2"; see
        `features.spectra`.

    Returns
    -------
    transformer or None
        Not fitted, so that it learns from training rows alone; None when nothing is to be done.

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix.files.preparation import preprocessing
    >>> X = pd.DataFrame({"width": [1.0, 3.0, None], "kind": ["a", "b", "a"]})
    >>> steps = preprocessing(X, categorical="onehot", missing="mean")
    >>> steps.fit_transform(X).round(2).tolist()
    [[-1.22, 1.0, 0.0], [1.22, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    other = X.drop(columns=list(text))
    words = find_text_columns(other)
    check_features(other, categorical=categorical, missing=missing)
    check_informative(other)
    numbers = [name for name in other.columns if name not in words]
    steps: list[Any] = [fill_numbers(missing)] if missing != "refuse" else []
    steps += make_row_steps(rows)
    steps += [StandardScaler()] if scale else []
    for_numbers = make_pipeline(*steps) if len(steps) > 1 else (*steps, "passthrough")[0]
    if not words and not text:
        return for_numbers if steps else None
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    for_words = encode if missing == "refuse" else make_pipeline(fill_text(missing), encode)
    parts = [("numbers", for_numbers, numbers), ("words", for_words, words)]
    if not text:
        return ColumnTransformer(parts, verbose_feature_names_out=False)

    parts = [part for part in parts if part[2]]
    vectorizer = make_vectorizer(hashed=hashed, latent=latent)
    return ColumnTransformer(
        [*parts, *((f"text_{name}", clone(vectorizer), name) for name in text)],
        verbose_feature_names_out=len(text) > 1,
        sparse_threshold=1.0,  # sparse as soon as one part is
    )


def fill_numbers(missing: str) -> SimpleImputer:
    """The step that fills gaps in columns of numbers."""
    value = read_constant(missing)
    if value is None:
        return SimpleImputer(strategy=missing)
    return SimpleImputer(strategy="constant", fill_value=value)


def fill_text(missing: str) -> SimpleImputer:
    """The step that fills gaps in columns of text."""
    if read_constant(missing) is None:
        return SimpleImputer(missing_values=np.nan, strategy="most_frequent")
    value = missing.removeprefix(CONSTANT)
    return SimpleImputer(missing_values=np.nan, strategy="constant", fill_value=value)


class EncodedTable(NamedTuple):
    """Rows without text, and the steps of `preprocessing` for them.

    Attributes
    ----------
    X : data frame
        With the number of each value of text among those of its column, in their order.
    steps : transformer or None
        Makes of it what `preprocessing` makes of the rows with text, where columns have no names.
    """

    X: Any
    steps: Any


def encode_text(X: Any, **how: Any) -> EncodedTable:
    """Rows and steps for those who take only numbers, such as `evaluate.compare`.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`.
    **how
        As for `preprocessing`.

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix.files.preparation import encode_text
    >>> X = pd.DataFrame({"width": [1.0, 3.0, 2.0], "kind": ["b", "a", "b"]})
    >>> rows, steps = encode_text(X, categorical="onehot", scale=False)
    >>> rows["kind"].tolist(), steps.fit_transform(rows.to_numpy()).tolist()
    ([1.0, 0.0, 1.0], [[1.0, 0.0, 1.0], [3.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
    """
    steps = preprocessing(X, **how)
    words = find_text_columns(X)
    if not words:
        return EncodedTable(X, steps)
    values = {name: sorted(X[name].dropna().unique()) for name in words}
    numbers = {
        name: X[name].map({value: float(i) for i, value in enumerate(known)}).astype(np.float64)
        for name, known in values.items()
    }
    place = {name: i for i, name in enumerate(X.columns)}
    steps.transformers = [
        (part, step, [place[name] for name in names]) for part, step, names in steps.transformers
    ]
    find_encoder(steps.transformers[1][1]).feature_name_combiner = ValueNames(values)
    return EncodedTable(X.assign(**numbers), steps)


class CountedTable(NamedTuple):
    """Sparse rows of numbers and words, the steps of `preprocessing` for them, and their names."""

    X: Any
    steps: Any
    names: list[str]


def count_texts(
    X: Any,
    text: Sequence[str],
    *,
    hashed: bool = False,
    latent: int | None = None,
    **how: Any,
) -> CountedTable:
    """`encode_text` for tables with columns whose words are learned from.

    Words are counted, which is learned from no other row; their weights are left to the steps.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`.
    text : sequence of str
        Columns whose words are learned from.
    hashed, latent, **how
        As for `preprocessing`.
    """
    parts, names, places = [], [], []
    others = X.drop(columns=list(text))
    if others.shape[1]:
        rows, other_steps = encode_text(others, **how)
        dense = FunctionTransformer(_to_dense, accept_sparse=True, feature_names_out="one-to-one")
        chain = [dense] if other_steps is None else [dense, other_steps]
        places.append(("others", make_pipeline(*chain), list(range(others.shape[1]))))
        parts.append(sp.csr_array(rows.to_numpy(dtype=np.float64)))
        names += [str(name) for name in others.columns]
    for name in text:
        if hashed:
            counts = make_vectorizer(hashed=True).transform(X[name])
            known = [f"{name}#{i}" for i in range(counts.shape[1])]
            weights: Any = "passthrough" if latent is None else weigh_words(latent=latent)[-1]
        else:
            counts, known = count_words(X[name])
            weights = weigh_words(latent=latent)
        places.append((f"text_{name}", weights, list(range(len(names), len(names) + len(known)))))
        parts.append(counts)
        names += known if len(text) == 1 else [f"{name}_{word}" for word in known]
    steps = ColumnTransformer(places, verbose_feature_names_out=False, sparse_threshold=1.0)
    return CountedTable(sp.hstack(parts, format="csr"), steps, names)


def _to_dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


class ValueNames(NamedTuple):
    """Names for columns of zeros and ones, from values that stand in rows as their numbers."""

    values: Mapping[str, Sequence[Any]]

    def __call__(self, feature: str, category: Any) -> str:
        """The name of one column; scikit-learn also asks for that of a value that is text."""
        value = category if isinstance(category, str) else self.values[feature][int(category)]
        return f"{feature}_{value}"


def find_encoder(step: Any) -> Any:
    """The step for columns of text that makes columns of zeros and ones."""
    return step[-1] if hasattr(step, "steps") else step


def unseen_values(model: Any, X: Any) -> dict[str, Any]:
    """Values in columns of text that a fitted model has not seen, and so takes for none it knows.

    Parameters
    ----------
    model : fitted estimator
        A pipeline that begins with `preprocessing`, or anything else, which has no such columns.
    X : data frame
        New rows.

    Returns
    -------
    dict of series
        For each column that has some, the values.
    """
    first = model[0] if hasattr(model, "steps") else model
    parts = getattr(first, "named_transformers_", {})
    if "words" not in parts:
        return {}
    names = next(names for part, _, names in first.transformers_ if part == "words")
    known = dict(zip(names, find_encoder(parts["words"]).categories_, strict=True))
    strange = {name: X[name][~X[name].isin(known[name]) & X[name].notna()] for name in names}
    return {name: values for name, values in strange.items() if len(values)}


def hash_words(X: Any, text: Sequence[str]) -> ColumnTransformer:
    """A fitted step for streams: numbers as they are, words by a hash.

    It learns nothing but the names of the columns, so that it is the same in every batch.

    Parameters
    ----------
    X : data frame
        Features of any batch.
    text : sequence of str
        Columns whose words are learned from.
    """
    numbers = [name for name in X.columns if name not in text]
    parts: list[Any] = [("numbers", "passthrough", numbers)] if numbers else []
    parts += [(f"text_{name}", make_vectorizer(hashed=True), name) for name in text]
    step = ColumnTransformer(parts, verbose_feature_names_out=False, sparse_threshold=1.0)
    return step.fit(X)
