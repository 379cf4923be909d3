"""Classifiers read as coordinates and functions decide as they do themselves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from separatrix import (
    IPCAC,
    LDG,
    FisherDiscriminant,
    GroupedDiscriminant,
    KernelFisherDiscriminant,
    KernelLDG,
    LocalQDA,
    QuadraticDiscriminant,
)
from separatrix.early.discriminants import (
    nearest_functions,
    read_rule,
)
from tests.early.data import X, y

FAR = 3 * X + 100
"""Rows with an offset that takes two digits from products."""

OTHERS = 100 + 5 * np.random.default_rng(0).normal(size=(400, X.shape[1]))

EXACT = [
    LinearSVC(),
    LogisticRegression(),
    LinearDiscriminantAnalysis(),
    RidgeClassifier(),
    RidgeClassifierCV(),
    SGDClassifier(random_state=0),
    Perceptron(),
    GaussianNB(),
    NearestCentroid(),
    KNeighborsClassifier(1),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    FisherDiscriminant(shrinkage=None),
    FisherDiscriminant(rule="quadratic"),
    GroupedDiscriminant(rule="quadratic"),
    QuadraticDiscriminant(),
    QuadraticDiscriminant(diagonal=True),
    IPCAC(),
    GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2),
    RandomizedSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1.0]},
        n_iter=2,
        cv=2,
    ),
    make_pipeline(StandardScaler(), LinearSVC()),
    make_pipeline(StandardScaler(with_mean=False), "passthrough", GaussianNB()),
    make_pipeline(MinMaxScaler(), PCA(3), LogisticRegression()),
    make_pipeline(RobustScaler(), PCA(3, whiten=True), QuadraticDiscriminantAnalysis()),
    make_pipeline(MaxAbsScaler(), TruncatedSVD(3), RidgeClassifier()),
    make_pipeline(SimpleImputer(), SelectKBest(k=4), VarianceThreshold(), GaussianNB()),
    make_pipeline(StandardScaler(), LDG(2), KNeighborsClassifier(1)),
    make_pipeline(LinearDiscriminantAnalysis(), NearestCentroid()),
]

SAMPLED = [
    OneVsRestClassifier(LinearSVC()),
    NearestCentroid(priors=[0.05, 0.15, 0.8]),
    SVC(),
    KNeighborsClassifier(3),
    KNeighborsClassifier(1, metric="manhattan"),
    NearestCentroid(metric="manhattan"),
    RandomForestClassifier(5, random_state=0),
    CalibratedClassifierCV(LinearSVC(), cv=2),
    KernelFisherDiscriminant(),
    DummyClassifier(),
    make_pipeline(Normalizer(), LinearSVC()),
    make_pipeline(FunctionTransformer(np.sqrt), LinearSVC()),
    make_pipeline(MinMaxScaler(clip=True), LinearSVC()),
    make_pipeline(KernelLDG(), LinearSVC()),
]


def name(estimator):
    return " ".join(str(estimator).split())[:60]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("estimator", EXACT, ids=name)
def test_the_largest_function_is_the_prediction_far_from_the_training_rows(estimator, n_classes):
    fitted = estimator.fit(FAR[y < n_classes], y[y < n_classes])
    rule = read_rule(fitted, FAR[y < n_classes])
    assert rule is not None
    assert_array_equal(fitted.classes_[rule.classify(OTHERS)], fitted.predict(OTHERS))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", SAMPLED, ids=name)
def test_rules_without_such_functions_are_not_read(estimator):
    assert read_rule(estimator.fit(FAR, y), FAR) is None


@pytest.mark.filterwarnings("ignore")
def test_a_linear_kernel_decides_by_one_function_only_between_two_classes():
    two = y < 2
    fitted = SVC(kernel="linear").fit(X[two], y[two])
    assert_array_equal(read_rule(fitted, X[two]).classify(X), fitted.predict(X))
    assert read_rule(SVC(kernel="linear").fit(X, y), X) is None


def test_a_local_rule_is_read_with_its_coordinates():
    fitted = make_pipeline(StandardScaler(), PCA(2), LocalQDA(5)).fit(FAR, y)
    rule = read_rule(fitted, FAR)
    assert rule.discriminants is fitted[-1]
    assert_allclose(rule.coordinates(OTHERS), fitted[:-1].transform(OTHERS), atol=1e-9)


def test_a_classifier_that_predicts_otherwise_is_not_read():
    class Contrary(LogisticRegression):
        def predict(self, rows):
            return self.classes_[(np.searchsorted(self.classes_, super().predict(rows)) + 1) % 3]

    assert read_rule(Contrary().fit(X, y), X) is None


def test_the_nearest_point_has_the_largest_function():
    points = np.random.default_rng(0).normal(size=(20, 3)) + 1e6
    rows = np.random.default_rng(1).normal(size=(50, 3)) + 1e6
    distances = np.linalg.norm(rows[:, None] - points, axis=2)
    assert_array_equal(nearest_functions(points).classify(rows), distances.argmin(axis=1))
