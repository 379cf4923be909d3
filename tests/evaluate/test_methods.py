"""The methods that can be compared, by name."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA

import separatrix
from separatrix import FisherDiscriminant, KernelFisherDiscriminant, SupportVectorProjection
from separatrix.evaluate.comparison import compare
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
from tests.discovery import all_estimators, name_of
from tests.evaluate.comparing import CHEAP, Spy, X, Y, numbered

CLASSIFIERS = ("GradientBoosting", "LogisticRegression", "RBF-SVM", "ShrunkenCentroid")
NO_SUBSPACE = ("DDAGClassifier", "LocalQDA", *CLASSIFIERS)


def test_every_estimator_of_the_package_competes_or_is_left_out_with_a_reason():
    names = [m.name for m in contenders(None)]
    assert sorted([*names, *LEFT_OUT]) == sorted(
        [*(name_of(e) for e in all_estimators()), "3-NN", "PCA", "LDA", "NCA", *CLASSIFIERS]
    )
    assert all(m.description.endswith(".") for m in contenders(None))
    found = compare(None, X, Y, n_splits=1, memory=False)
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
    one = compare(Contender("mine", FisherDiscriminant()), X, Y, **CHEAP)
    many = compare({"mine": FisherDiscriminant(), "other": PCA(2)}, X, Y, **CHEAP)
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
