"""Data, estimators and checks that tests of comparisons share."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.preprocessing import StandardScaler

from separatrix import FisherDiscriminant
from separatrix.evaluate.splits import RandomShares
from separatrix.selection import random_splits
from tests.discovery import labelled

X, Y = labelled(90, 6)


X2, Y2 = labelled(80, 5, 2)


CHEAP = {"cv": RandomShares(2)}


def parts(y, split=0, test_size=0.3, random_state=0):
    codes = np.unique(y, return_inverse=True)[1]
    return random_splits(codes, split + 1, test_size, random_state)[split]


def by_hand(estimator, X, y, rule=None, split=0, scaler=StandardScaler):
    """Prediction of the test rows of a split with nothing but scikit-learn."""
    train, test = parts(y, split)
    scale = scaler().fit(X[train])
    known, new = scale.transform(X[train]), scale.transform(X[test])
    model = clone(estimator).fit(known, y[train])
    if rule is None:
        return model.predict(new)
    return rule.fit(model.transform(known), y[train]).predict(model.transform(new))


def without_times(comparison):
    """The records but for what a clock says."""
    methods = []
    for m in comparison.methods:
        folds = [
            replace(
                f,
                seconds=0.0,
                fit_seconds=None,
                predict_seconds=None,
                cpu_seconds=None,
                shuffled=None,  # of quick fits only
            )
            for f in m.folds
        ]
        methods.append(replace(m, folds=tuple(folds)))
    return replace(comparison, methods=tuple(methods), seconds=0.0, advised=None)


class Spy(TransformerMixin, BaseEstimator):
    """Keeps the first column, which numbers the rows, of all that it is fitted to."""

    seen: list = []  # noqa: RUF012

    def __init__(self, a=0, b=0):
        self.a = a
        self.b = b

    def fit(self, X, y=None):
        self.seen.append((self.get_params(), X[:, 0].astype(int).tolist()))
        return self

    def transform(self, X):
        return X


def named(X, names="abcdef"):
    return pd.DataFrame(X, columns=list(names))


def numbered(n=60):
    return np.column_stack([np.arange(n), np.random.default_rng(0).normal(size=n)])


class Hungry(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        np.ones(2_000_000)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Wider(TransformerMixin, BaseEstimator):
    """Squares beside the features, without names."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.hstack([X, X**2])


class Broken(ClassifierMixin, BaseEstimator):
    """Fails in the splits it is told to."""

    fits = 0

    def __init__(self, last_good=0):
        self.last_good = last_good

    def fit(self, X, y):
        Broken.fits += 1
        if Broken.fits > self.last_good:
            raise RuntimeError("this\nis too much")
        self.classes_ = np.unique(y)
        warnings.warn("that was close", stacklevel=2)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Counted(FisherDiscriminant):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None, **splitting):
        Counted.fits += 1
        return super().fit(X, y, sample_weight, **splitting)
