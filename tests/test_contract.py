"""Public names and parameters that users may rely on: none disappears or changes its default."""

from __future__ import annotations

import inspect

import pytest

import separatrix
from separatrix import datasets, evaluate, plots, testing
from separatrix.cli.program import program
from separatrix.evaluate.records import SCORES
from separatrix.evaluate.splits import RandomShares

ANY = object()
"""A default that is not promised."""

THRESHOLD = {"threshold": "auto", "balance": "auto"}
NORMALS = {"redundancy": 0.0, "multiclass": "ovr"}

PARAMETERS = {
    "IPCAC": THRESHOLD,
    "TruncatedIPCAC": {"n_whitened": "auto", **THRESHOLD},
    "OnlineIPCAC": {"n_whitened": "auto", "window": None, "decay": None, **THRESHOLD},
    "KernelIPCAC": {"kernel": "rbf", "truncate": False, "ridge": "auto", **THRESHOLD},
    "MixtureIPCAC": {"merge": "auto", "em": "auto", "node": "auto", "priors": None},
    "FisherDiscriminant": {"shrinkage": "auto", "covariance": None, "rule": "linear"},
    "GroupedDiscriminant": {"rule": "linear"},
    "SupportVectorProjection": NORMALS,
    "SupportVectorICA": {**NORMALS, "ica": None},
    "KernelSupportVectorICA": {**NORMALS, "kernel": "rbf", "ica": None},
    "EarlyClassifier": {
        "reliability": 0.9,
        "judge": "auto",
        "calibration": None,
        "reducer": None,
        "n_channels": 1,
        "features": None,
    },
    "WithRejection": {"level": 0.05, "rejected": None},
    "QuadraticDiscriminant": {"pooling": 0.0, "shrinkage": 0.0, "priors": None},
    "PartialLeastSquaresDiscriminant": {"n_components": "auto"},
    "HeteroscedasticDiscriminant": {"n_components": None, "shrinkage": "auto", "priors": None},
    "ClassEraser": {},
    "merge": {"without": (), "epsilon": None},
    "export": {"model": ANY, "path": ANY},
}

FUNCTIONS = [
    (
        evaluate.compare,
        {
            "cv": None,
            "groups": None,
            "test": None,
            "score": None,
            "costs": None,
            "rivals": None,
            "n_jobs": None,
            "budget": None,
            "results": None,
            "progress": True,
            "random_state": 0,
        },
    ),
    (testing.check_mergeable, {"random_state": 0}),
    (separatrix.EarlyClassifier.decide_early, {"lengths": None}),
    (separatrix.EarlyClassifier.calibrate, {"y": None, "groups": None}),
    *((getattr(plots, f"plot_{name}"), {}) for name in ("roc", "calibration", "patterns")),
]

MARGIN_CLASSES = (
    "MarginMaximizingDiscriminant",
    "WithinSupportVectorDiscriminant",
    "SupportVectorProjection",
    "SupportVectorICA",
    "KernelSupportVectorICA",
)

METHODS = {
    "DDAGClassifier": ("decision_function",),
    "MixtureIPCAC": ("decision_function", "predict_proba"),
    "GroupedDiscriminant": ("predict",),
    **dict.fromkeys(MARGIN_CLASSES, ("decision_function", "predict")),
}


MOMENT_MODELS = (
    "FisherDiscriminant",
    "IPCAC",
    "TruncatedIPCAC",
    "OnlineIPCAC",
    "QuadraticDiscriminant",
    "PartialLeastSquaresDiscriminant",
    "HeteroscedasticDiscriminant",
)

OPTIONS = {
    "compare": "--group --split --test --time --rivals --score --classifier --permutations --text",
    "fit": "--text --labels",
    "forget": "--output --certificate",
    "merge": "--without --output",
    "early": "--calibrate --confidence --channels",
    "stream": "--open-classes --drift",
}


def check_parameters(function, promised):
    found = inspect.signature(function).parameters
    for name, default in promised.items():
        assert name in found, f"{function.__name__} has no parameter {name}"
        if default is not ANY:
            assert found[name].default == default, f"{function.__name__}({name}=)"


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_as_promised(name):
    assert name in separatrix.__all__
    check_parameters(getattr(separatrix, name), PARAMETERS[name])


@pytest.mark.parametrize(("function", "promised"), FUNCTIONS)
def test_functions_are_as_promised(function, promised):
    check_parameters(function, promised)


@pytest.mark.parametrize("name", METHODS)
def test_classes_decide_as_promised(name):
    for method in METHODS[name]:
        assert callable(getattr(getattr(separatrix, name), method))


@pytest.mark.parametrize("name", MOMENT_MODELS)
def test_moment_models_live(name):
    model = getattr(separatrix, name)
    check_parameters(model.partial_fit, {"classes": None})
    check_parameters(model.forget, {"sample_weight": None})
    assert callable(model.novelty)
    assert callable(model.novelty_pvalue)
    iris = datasets.load("iris")
    two = iris.target != 0
    fitted = model().partial_fit(iris.data[two], iris.target[two], classes="open")
    assert fitted.patterns_.shape[-1] == iris.data.shape[1]


def test_a_comparison_tells_what_is_promised():
    iris = datasets.load("iris")
    found = evaluate.compare(["LDA", "IPCAC"], iris.data, iris.target, cv=RandomShares(2))
    assert {found.advised, found.best} <= {"LDA", "IPCAC"}
    assert "<" in found._repr_html_()
    assert "accuracy" in found.winner.summary


def test_scores_are_known_by_the_promised_names():
    shares = "accuracy balanced_accuracy macro_f weighted_f precision recall"
    others = "auc log_loss brier cost"
    assert not {*shares.split(), *others.split()} - set(SCORES)


@pytest.mark.parametrize("command", OPTIONS)
def test_options_are_as_promised(command):
    known = {option for each in program.commands[command].params for option in each.opts}
    assert set(OPTIONS[command].split()) <= known
