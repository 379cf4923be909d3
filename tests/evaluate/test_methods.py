"""The methods that can be compared, by name."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import separatrix
from separatrix import (
    LDG,
    FisherDiscriminant,
    GroupedDiscriminant,
    KernelFisherDiscriminant,
    LocalFisherDiscriminant,
    QuadraticDiscriminant,
    SupportVectorProjection,
)
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.fold import Job
from separatrix.evaluate.methods import (
    GRIDS,
    LEFT_OUT,
    N_LANDMARKS,
    Contender,
    contenders,
    limit_groups,
    method_classes,
    settings_by_size,
)
from separatrix.evaluate.splits import RandomShares
from separatrix.kernels import RBF
from tests.discovery import all_estimators, name_of
from tests.evaluate.comparing import CHEAP, Spy, X, Y, numbered, parts

CLASSIFIERS = ("GradientBoosting", "LogisticRegression", "RBF-SVM", "ShrunkenCentroid")
NO_SUBSPACE = ("DDAGClassifier", "LocalQDA", *CLASSIFIERS)


def test_every_estimator_of_the_package_competes_or_is_left_out_with_a_reason():
    names = [m.name for m in contenders(None)]
    assert sorted([*names, *LEFT_OUT]) == sorted(
        [*(name_of(e) for e in all_estimators()), "3-NN", "PCA", "LDA", "NCA", *CLASSIFIERS]
    )
    assert all(m.description.endswith(".") for m in contenders(None))
    found = compare(None, X, Y, cv=RandomShares(1))
    assert [m.name for m in found.methods] == names
    assert {m.name: m.reason for m in found.methods if m.status != "done"} == {}
    assert found.left_out == LEFT_OUT
    for method in found.methods:
        (fold,) = method.folds
        assert fold.scores["accuracy"] > 0.6
        assert (fold.view is None) == (method.name in NO_SUBSPACE)
        assert bool(fold.path) == (fold.n_components is not None and has_path(method.name))
        assert set(",".join(method.grid).split(",")) - {""} <= set(fold.chosen)
    linear = {m.name for m in found.methods if m.folds[0].loadings is not None}
    assert linear == {n for n in names if "Kernel" not in n and n not in (*NO_SUBSPACE, "3-NN")}


def has_path(name):
    return name == "PCA" or "n_components" in {
        p
        for m in contenders(None)
        if m.name == name and m.kind != "reference"
        for p in m.estimator.get_params()
    }


def test_a_new_public_estimator_competes_without_being_listed(monkeypatch):
    class Newcomer(FisherDiscriminant):
        """A direction that nobody knew. More of it."""

    monkeypatch.setattr(separatrix, "Newcomer", Newcomer, raising=False)
    monkeypatch.setattr(separatrix, "__all__", [*separatrix.__all__, "Newcomer"])
    (found,) = contenders(["Newcomer"])
    assert found.kind == "classifier"
    assert found.choose_dimension
    assert dict(found.grid)["shrinkage"] == GRIDS["*"]["shrinkage"]


def test_only_the_method_asked_for_is_constructed(monkeypatch):
    constructed = []
    for cls in method_classes().values():

        def construct(self, *args, _init=cls.__init__, **params):
            constructed.append(type(self).__name__)
            _init(self, *args, **params)

        construct.__signature__ = inspect.signature(cls.__init__)
        monkeypatch.setattr(cls, "__init__", construct)
    contenders(["LDG"])
    contenders(["PCA"])
    assert constructed == ["LDG", "PCA"]


def test_methods_that_are_none_are_refused_by_name():
    with pytest.raises(ValueError, match=r"'LDGX' is not a method: did you mean 'LDG'\? It must"):
        compare("LDGX", X, Y)
    with pytest.raises(ValueError, match="'zzz' is not a method: it must be one of DDAG"):
        compare("zzz", X, Y)
    with pytest.raises(ValueError, match="TransferLDG cannot be compared: it needs rows of two"):
        compare(["TransferLDG"], X, Y)
    with pytest.raises(ValueError, match="two methods are called 'PCA'"):
        compare(["PCA", PCA(2)], X, Y)
    with pytest.raises(ValueError, match="methods is empty"):
        compare([], X, Y)
    with pytest.raises(TypeError, match=r"is a class: give an estimator, FisherDiscriminant\(\)"):
        compare([FisherDiscriminant], X, Y)
    with pytest.raises(TypeError, match="3 is not a method: give a name, an estimator, or a pair"):
        compare([3], X, Y)


def test_one_contender_and_a_dictionary_are_methods():
    one = compare(Contender("mine", FisherDiscriminant(shrinkage=None)), X, Y, **CHEAP)
    many = compare({"mine": FisherDiscriminant(shrinkage=None), "other": PCA(2)}, X, Y, **CHEAP)
    assert [m.name for m in one.methods] == ["mine"]
    assert [m.name for m in many.methods] == ["mine", "other"]
    assert one["mine"].summary == many["mine"].summary
    with pytest.raises(TypeError, match="methods=5 must be None for all, or a list"):
        compare(5, X, Y)


def test_large_training_parts_use_landmarks_and_some_methods_fewer_rows():
    by_name = {m.name: m for m in contenders(None)}
    kernel = by_name["KernelFisherDiscriminant"]
    assert settings_by_size(kernel, 1000, 5, 3) == {}
    assert settings_by_size(kernel, 1001, 5, 3) == {"n_landmarks": N_LANDMARKS}
    assert settings_by_size(by_name["SupportVectorProjection"], 1001, 5, 3) == {}
    assert settings_by_size(by_name["RBF-SVM"], 1001, 5, 3) == {}
    assert settings_by_size(by_name["PCA"], 100, 500, 3) == {"n_components": 40}
    assert settings_by_size(by_name["PCA"], 30, 500, 3) == {"n_components": 15}
    assert settings_by_size(by_name["NCA"], 100, 500, 9) == {"n_components": 8}
    assert settings_by_size(Contender("k", KernelFisherDiscriminant()), 5000, 5, 3) == {}
    Spy.seen.clear()
    y = np.arange(60) % 2
    (method,) = compare([Contender("spy", Spy(), most_rows=20)], numbered(), y, **CHEAP).methods
    assert [len(rows) for _, rows in Spy.seen] == [20, 20]
    assert [fold.n_rows for fold in method.folds] == [20, 20]


@pytest.mark.parametrize("n_features", [1, 3])
def test_there_are_no_more_groups_than_features(n_features):
    (method,) = compare(["GroupedDiscriminant"], X[:, :n_features], Y, **CHEAP).methods
    assert (method.status, method.reason) == ("done", "")
    assert all(fold.chosen["groups"] <= n_features for fold in method.folds)
    (contender,) = contenders(["GroupedDiscriminant"])
    assert limit_groups(contender, 3)["groups"] == (2, 3)
    assert limit_groups(replace(contender, kind="given"), 3)["groups"] == (2, 4)


def test_linear_margins_have_no_kernel_width_to_choose():
    by_name = {m.name: m for m in contenders(None)}
    assert "kernel__gamma" not in by_name["SupportVectorProjection"].grid
    assert "kernel__gamma" in by_name["KernelSupportVectorICA"].grid
    assert SupportVectorProjection().kernel is None


# Pipelines ---------------------------------------------------------------------------------------


def test_a_pipeline_is_tuned_like_the_name_of_its_method():
    noisy = X + 2 * np.random.default_rng(2).normal(size=X.shape)
    for name, estimator in (("LDG", LDG()), ("QuadraticDiscriminant", QuadraticDiscriminant())):
        pipeline = make_pipeline(StandardScaler(), estimator)
        both = compare([name, ("same", pipeline)], noisy, Y, **CHEAP)
        for one, other in zip(both[name].folds, both["same"].folds, strict=True):
            assert (one.chosen, one.predicted) == (other.chosen, other.predicted)


def test_settings_that_a_pipeline_makes_are_kept_and_the_rest_is_tuned():
    method = QuadraticDiscriminant(pooling=0.5)
    (contender,) = contenders([make_pipeline(MinMaxScaler(), method)])
    assert "pooling" not in contender.grid
    assert {"shrinkage", "diagonal"} <= set(contender.grid)
    assert isinstance(contender.prepare, MinMaxScaler)
    assert contender.estimator.pooling == 0.5
    (contender,) = contenders([make_pipeline(LocalFisherDiscriminant(2), LogisticRegression())])
    assert not contender.choose_dimension
    assert contender.prepare is None
    assert contender.then.grid == {"C": (1.0, 0.1, 0.01, 10.0)}
    (contender,) = contenders([KernelFisherDiscriminant(kernel=RBF(0.5))])
    assert contender.grid == {}
    (contender,) = contenders([make_pipeline(KernelFisherDiscriminant(kernel=RBF(0.5)))])
    assert "kernel__gamma" not in contender.grid
    assert "ridge" in contender.grid


def test_a_pipeline_prepares_and_classifies_by_its_own_steps():
    noisy = X + 2 * np.random.default_rng(2).normal(size=X.shape)
    pipeline = make_pipeline(MinMaxScaler(), LDG(2, gamma=0.5), KNeighborsClassifier())
    (found,) = compare([pipeline], noisy, Y, **CHEAP).methods
    assert (found.name, found.decision) == ("LDG", "KNeighborsClassifier")
    for fold in found.folds:
        train, test = parts(Y, fold.split)
        seed = Job(contenders(["LDG"])[0], fold.split, 0).seed
        model = make_pipeline(
            MinMaxScaler(), LDG(2, gamma=0.5, random_state=seed), KNeighborsClassifier()
        )
        expected = model.fit(noisy[train], Y[train]).predict(noisy[test])
        assert np.array_equal(fold.predicted, expected)


def test_other_pipelines_are_fitted_as_they_are_given():
    pipeline = make_pipeline(PCA(2), LogisticRegression())
    (contender,) = contenders([pipeline])
    assert (contender.name, contender.grid, contender.prepare) == ("Pipeline", {}, None)
    (found,) = compare([pipeline], X, Y, **CHEAP).methods
    for fold in found.folds:
        train, test = parts(Y, fold.split)
        expected = clone(pipeline).fit(X[train], Y[train]).predict(X[test])
        assert np.array_equal(fold.predicted, expected)


def test_epochs_have_channels_and_times():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    epochs = rng.normal(size=(60, 3, 4)) + y[:, None, None]
    methods = ["LDA", GroupedDiscriminant(groups="channels")]
    found = compare(methods, epochs, y, **CHEAP)
    assert found.feature_names[:5] == ("c0@0", "c0@1", "c0@2", "c0@3", "c1@0")
    flat = compare(["LDA"], epochs.reshape(60, 12), y, **CHEAP)
    assert found["LDA"].folds[0].predicted == flat["LDA"].folds[0].predicted
    assert found["GroupedDiscriminant"].reason == ""
    new = (epochs[:9], y[:9])
    assert len(compare(["LDA"], epochs, y, test=new).tests[0]) == 9
