"""Words of texts as columns of numbers: sparse, by a vocabulary or by hashing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.linalg import Array

MIN_TEXTS = 2
"""Training texts that have a word before it gets a column: one that is in a single text cannot
help with others."""

N_HASHED_COLUMNS = 1 << 14
"""Columns that words are hashed to. A mail has some hundred different words: few of them meet in a
column, and a model of all columns is still updated in milliseconds."""


def make_vectorizer(*, hashed: bool = False, latent: int | None = None) -> Any:
    """A transformer from texts to sparse columns, one for each word.

    Parameters
    ----------
    hashed : bool
        Number words by a hash, in place of a vocabulary that is learned. Nothing is learned then:
        columns mean the same in every batch and at every site, so that models of them go on
        learning and merge; but a column does not know its word.
    latent : int, optional
        Reduce the columns to this many latent dimensions, by a truncated singular value
        decomposition of the training rows (latent semantic analysis). They are not sparse.

    Returns
    -------
    transformer
        With a vocabulary: the logarithm of how often a word occurs in a text, times how rare it is
        among the training texts, rows of length one (tf-idf). Hashed: the share of each word, rows
        of length one.

    Examples
    --------
    >>> from separatrix.features.words import make_vectorizer
    >>> texts = ["buy now", "buy cheap", "see you now"]
    >>> words = make_vectorizer().fit(texts)
    >>> words.get_feature_names_out().tolist(), words.transform(texts).toarray().round(2).tolist()
    (['buy', 'now'], [[0.71, 0.71], [1.0, 0.0], [0.0, 1.0]])
    """
    if hashed:
        words: Any = HashingVectorizer(n_features=N_HASHED_COLUMNS, alternate_sign=False)
    else:
        words = TfidfVectorizer(min_df=MIN_TEXTS, sublinear_tf=True)
    return words if latent is None else make_pipeline(words, _make_latent(latent))


def _make_latent(n_components: int) -> Any:
    from sklearn.decomposition import TruncatedSVD

    return TruncatedSVD(n_components, random_state=0)


class WordCounts(NamedTuple):
    """How often each word is in each text.

    Attributes
    ----------
    counts : sparse matrix (n_texts, n_words)
    names : list of str
        The words, in the order of the alphabet.
    """

    counts: Any
    names: list[str]


def count_words(texts: Any) -> WordCounts:
    """Counts of all words, for those who take only numbers, such as `evaluate.compare`.

    A count is learned from no other text, so that texts may be counted before they are split.
    """
    vectorizer = CountVectorizer(dtype=np.float64)
    counts = vectorizer.fit_transform(texts).tocsr()
    counts.sort_indices()  # lengths of rows are summed in the order of columns, as for new texts
    return WordCounts(counts, vectorizer.get_feature_names_out().tolist())


def weigh_words(*, latent: int | None = None) -> Any:
    """The steps from counts to what `make_vectorizer` gives; not fitted.

    Fitted to the counts of some texts, they give for all others, bit by bit, the same as the
    vectorizer fitted to those texts; latent dimensions up to rounding.
    """
    steps = [FrequentWords(min_texts=MIN_TEXTS), TfidfTransformer(sublinear_tf=True)]
    return make_pipeline(*steps, *([] if latent is None else [_make_latent(latent)]))


class FrequentWords(SelectorMixin, BaseEstimator):
    """Keeps the columns of words that several training texts have.

    Parameters
    ----------
    min_texts : int
        Training rows in which a column must not be zero.

    Attributes
    ----------
    n_texts_ : array (n_features_in_,)
        Training rows in which each column is not zero.
    """

    def __init__(self, min_texts: int = MIN_TEXTS) -> None:
        self.min_texts = min_texts

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the rows of each word."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.n_texts_ = np.asarray((sp.csr_array(X) != 0).sum(axis=0)).ravel()
        if not (self.n_texts_ >= self.min_texts).any():
            raise ValueError(NO_COMMON_WORDS.format(self.min_texts))
        return self

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.n_texts_ >= self.min_texts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


NO_COMMON_WORDS = "no word is in {} of the texts: there is nothing that could be learned from them"


@contextmanager
def named_empty_vocabulary() -> Iterator[None]:
    """Say in our words that no word is left, where scikit-learn's vectorizers fail for it."""
    try:
        yield
    except ValueError as error:
        if "no terms remain" in str(error) or "empty vocabulary" in str(error):
            raise ValueError(NO_COMMON_WORDS.format(MIN_TEXTS)) from None
        raise
