"""Steps that make numbers of tables with words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from separatrix import OnlineIPCAC, TruncatedIPCAC
from separatrix.files.preparation import count_texts, hash_words, preprocessing
from tests.files.model_files import assert_answers_alike, saved_and_loaded
from tests.texts import make_texts


def table(n=40):
    texts, kinds = make_texts(n)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"body": texts, "size": rng.standard_normal(n)})
    X["place"] = np.array(["here", "there", "far"])[np.arange(n) % 3]
    X["title"] = [text.partition(" ")[0] for text in make_texts(n, seed=1)[0]]
    return X, kinds


WAYS = {
    "words": {"text": ["body"]},
    "two texts": {"text": ["body", "title"]},
    "hashed": {"text": ["body"], "hashed": True},
    "latent": {"text": ["body"], "latent": 4},
    "hashed, latent": {"text": ["body"], "hashed": True, "latent": 4},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("others", [["size", "place"], ["size"], []], ids=len)
def test_counted_rows_give_what_the_steps_of_fit_give(way, others):
    X, _ = table()
    X = X[[*way["text"], *others]]
    how = {"categorical": "onehot", "scale": True, "missing": "refuse"}
    steps = preprocessing(X, **how, **way).fit(X[:30])
    rows, again, names = count_texts(X, **how, **way)
    assert sp.issparse(rows)
    assert len(names) == rows.shape[1]
    expected, found = steps.transform(X[30:]), again.fit(rows[:30]).transform(rows[30:])
    dense = [part.toarray() if sp.issparse(part) else part for part in (expected, found)]
    if "latent" in way:  # singular vectors of rows whose entries are in other orders
        assert_allclose(*dense, atol=1e-10)
    else:
        assert_array_equal(*dense)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_saved_model_of_words_answers_alike(way, tmp_path):
    X, y = table()
    X = X[[*way["text"], "size"]]
    model = make_pipeline(preprocessing(X, **way), TruncatedIPCAC()).fit(X[:30], y[:30])
    assert_answers_alike(model, saved_and_loaded(model, tmp_path), X)


def test_hashed_words_of_a_stream_need_no_rows():
    X, y = table()
    X = X[["size", "body"]]
    step = hash_words(X[:1], ["body"])
    assert_array_equal(step.transform(X[5:9]).toarray()[:, 0], X["size"][5:9])
    model = OnlineIPCAC()
    for i in range(0, 40, 10):
        model.partial_fit(step.transform(X[i : i + 10]), y[i : i + 10], classes=["ham", "spam"])
    new, kinds = make_texts(60, seed=5)
    fresh = pd.DataFrame({"size": 0.0, "body": new})
    assert np.mean(model.predict(step.transform(fresh)) == kinds) > 0.9
