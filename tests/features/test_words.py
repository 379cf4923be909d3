"""Words as columns: counted once, weighed by training rows alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix.features.words import FrequentWords, count_words, make_vectorizer, weigh_words
from tests.texts import make_texts


@pytest.mark.parametrize("latent", [None, 3])
def test_counts_weighed_by_training_rows_are_the_vectorizer(latent):
    """Words that only new texts have do not count, as with the vectorizer: bit by bit."""
    texts, _ = make_texts(40)
    train, new = texts[:30], [*texts[30:], "unheard words altogether"]
    vectorizer = make_vectorizer(latent=latent).fit(train)
    counts, names = count_words([*train, *new])
    weights = weigh_words(latent=latent).fit(counts[:30])
    expected, found = vectorizer.transform(new), weights.transform(counts[30:])
    if latent is None:
        assert_array_equal(found.toarray(), expected.toarray())
        known = vectorizer.get_feature_names_out()
        assert_array_equal(weights.get_feature_names_out(names), known)
    else:
        assert_allclose(found, expected, atol=1e-10)  # singular vectors of rows in other orders


def test_hashed_words_are_the_same_in_every_batch():
    texts, _ = make_texts(20)
    whole = make_vectorizer(hashed=True).transform(texts)
    parts = [make_vectorizer(hashed=True).transform(texts[i : i + 7]) for i in (0, 7, 14)]
    assert_array_equal(sp.vstack(parts).toarray(), whole.toarray())
    assert sp.issparse(whole)


def test_words_of_one_text_alone_are_nothing_to_learn_from():
    counts, _ = count_words(["one", "two", "three"])
    with pytest.raises(ValueError, match="no word is in 2 of the texts"):
        FrequentWords().fit(counts)
    assert FrequentWords(min_texts=1).fit(counts).get_support().all()


@parametrize_with_checks([FrequentWords(min_texts=1)])
def test_the_selector_follows_conventions(estimator, check):
    check(estimator)


def test_the_callers_counts_are_left_alone():
    counts, _ = count_words(make_texts(20)[0])
    before = counts.copy()
    weigh_words().fit_transform(counts)
    assert (counts != before).nnz == 0
    assert counts.dtype == np.float64
