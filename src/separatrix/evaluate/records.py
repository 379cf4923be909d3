"""The plain records of a comparison, and their way to JSON and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

SCORES = (
    "accuracy",
    "balanced_accuracy",
    "macro_f",
    "weighted_f",
    "precision",
    "recall",
    "sensitivity",
    "specificity",
    "auc",
    "log_loss",
    "brier",
    "cost",
)
"""Names of the scores of a fold; sensitivity and specificity only where there are two classes."""

LOSS_SCORES = ("log_loss", "brier", "cost")
"""Scores where less is better."""


# Records -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class View:
    """Held-out rows in the first directions of a method.

    Attributes
    ----------
    coordinates : tuple of tuples of float
        One entry of one to three numbers for each test row of the split, in the order of
        ``Comparison.tests[split]``.
    axes : str
        "directions" of the method itself, or "principal axes" of the training rows where the
        method has none ("raw").
    """

    coordinates: tuple[tuple[float, ...], ...]
    axes: str = "directions"


@dataclass(frozen=True)
class Loadings:
    """How far one standard deviation of a feature moves a row along the first directions.

    Attributes
    ----------
    features : tuple of str
        Names of the features with the largest weights, in the order of the columns; all of them
        when there are few.
    weights : tuple of tuples of float
        For each of up to three directions a weight for each of these features. Directions are
        scaled to length one over all features, so that methods can be compared.
    n_features : int
        Number of all features.
    patterns : tuple of tuples of float
        How many standard deviations a feature changes when a row moves by one of its own along a
        direction and stays where it is along the others: Haufe's activation patterns. A weight
        may only serve to cancel a common part of other features; a pattern says what the direction
        measures.
    """

    features: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    n_features: int
    patterns: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Shuffled:
    """A method that was fitted to shuffled labels, on the rows of the same split.

    Attributes
    ----------
    coordinates : tuple of tuples of float
        As those of `View`.
    labels, predicted : tuple of int
        The shuffled class of each test row, and the class that the method predicts, as numbers in
        ``Comparison.classes``.
    """

    coordinates: tuple[tuple[float, ...], ...]
    labels: tuple[int, ...]
    predicted: tuple[int, ...]


@dataclass(frozen=True)
class Readout:
    """How a linear method places a row of the table and decides, without the method.

    Attributes
    ----------
    weights, offsets : tuple of tuples of float, tuple of float
        Coordinates of a row x are ``weights @ x + offsets``, in the directions of `View`.
    class_weights, class_offsets : tuple of tuples of float, tuple of float
        The class with the largest entry of ``class_weights @ x + class_offsets`` is predicted.
        Empty where the rule is not linear.
    """

    weights: tuple[tuple[float, ...], ...]
    offsets: tuple[float, ...]
    class_weights: tuple[tuple[float, ...], ...] = ()
    class_offsets: tuple[float, ...] = ()


@dataclass(frozen=True)
class Curves:
    """How the test rows of a split are ordered and how sure the rule is of them.

    Attributes
    ----------
    roc : tuple of float
        Share of the rows of a class that are found where the share of other rows that are taken
        for it is 0, 0.025, …, 1 (`evaluate.curves.FALSE_SHARES`); the mean over classes, each
        against the rest. Empty where the rule gives no degrees.
    calibration : tuple of tuples of float
        For each tenth of the probability of the predicted class: how many rows are there, their
        mean probability, and the share of them that is right (both 0 without rows). Empty where
        the rule gives no probabilities.
    """

    roc: tuple[float, ...] = ()
    calibration: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Fold:
    """One method on one split: everything was chosen and fitted on the training part.

    Attributes
    ----------
    method : str
        Name of the method.
    split : int
        Number of the split, from 0.
    status : "done", "failed" or "stopped"
        Whether there are scores; "stopped" is a fit that the time budget ended.
    reason : str
        Why there are none: type and message of the error, or the time budget. Empty when done.
    seconds : float
        Wall time of the fold as a whole, but for fits that only describe it. This is what a time
        budget counts.
    scores : dict
        ``accuracy``, ``balanced_accuracy`` (mean share of each class that is right), ``macro_f``
        and ``weighted_f`` (mean F of the classes, of equal weight and by their rows),
        ``precision`` and ``recall`` (means over classes). For two classes also ``sensitivity``
        and ``specificity`` (share of the second, the first class that is right). ``auc`` (area
        under the curve of one class against the rest, mean over classes) where the decision has
        degrees; ``log_loss`` and ``brier`` where it has probabilities; ``cost`` where costs were
        given. Classes without a test row do not count.
    fit_seconds : float
        Wall time of training: scaling, every choice, the fit, the decision.
    predict_seconds : float
        Wall time of scaling, projecting and classifying all test rows.
    cpu_seconds : float or None
        Processor time of both, of all threads together.
    chosen : dict
        Parameters that were chosen inside the training part, and their values.
    n_components : int or None
        Directions of the fitted subspace; None where there is none.
    n_rows : int
        Training rows that the method was fitted to.
    predicted : tuple of int
        The predicted class of each test row, as a number in ``Comparison.classes``.
    path : tuple of float
        Held-out accuracy with the first 1, 2, … directions, by the rule of the comparison; by
        three nearest neighbours where the rule is the method's own; with 2000 rows of each part at
        most. Empty where directions cannot be cut off.
    inner : float or None
        The score that ranks, larger being better, of the chosen settings in the folds within the
        training part. None where it was not needed.
    view : View or None
        Split 0 only.
    loadings : Loadings or None
        Linear methods only.
    shuffled : Shuffled or None
        Split 0 only, where the fit was quick.
    readout : Readout or None
        Split 0 only, of linear methods on features as they are or brought to equal spread.
    curves : Curves or None
        Where the rule gives degrees or probabilities.
    degrees : tuple of float
        Of two classes: how much speaks for the second, for each test row; the probability where
        there is one. Empty where the rule has none.
    warnings : tuple of str
        Warnings of the method while it was fitted, each once; and facts that could not be
        described or measured, and why.
    """

    method: str
    split: int
    status: str
    reason: str = ""
    seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    cpu_seconds: float | None = None
    chosen: dict[str, Any] = field(default_factory=dict)
    n_components: int | None = None
    n_rows: int | None = None
    predicted: tuple[int, ...] = field(default=(), repr=False)
    path: tuple[float, ...] = field(default=(), repr=False)
    inner: float | None = None
    view: View | None = field(default=None, repr=False)
    loadings: Loadings | None = field(default=None, repr=False)
    shuffled: Shuffled | None = field(default=None, repr=False)
    readout: Readout | None = field(default=None, repr=False)
    curves: Curves | None = field(default=None, repr=False)
    degrees: tuple[float, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """A score over the splits that were done.

    Attributes
    ----------
    mean, std : float
        Average and standard deviation (of the sample; 0 for one split) over splits.
    low, high : float
        Ends of the 95 % interval of the mean by the corrected resampled t distribution, between 0
        and 1. When only one split was done or all have the same score there is no such interval:
        that of the accuracy is then Clopper and Pearson's for the rows of one split, and for other
        scores both ends are the mean, which says nothing of how far it is off.
    """

    mean: float
    std: float
    low: float
    high: float


@dataclass(frozen=True)
class MethodRecord:
    """One method on all splits.

    Attributes
    ----------
    name : str
        As it was asked for; the class name for methods of the package.
    kind : "subspace", "classifier", "reference" or "given"
        Of this package; "reference" are raw data and methods of scikit-learn, "given" are
        estimators that the caller brought.
    description : str
        A sentence on how it works.
    estimator : str
        The estimator before anything was chosen.
    grid : dict
        The values that were tried for each parameter.
    decision : str
        The rule that classified the projected rows: "own", "3nn", or the name of the classifier.
    status : "done", "partial" or "failed"
        All splits, some, or none of them have scores.
    reason : str
        Why some have none; empty when all have.
    n_done : int
        Number of splits with scores.
    summary : dict of Summary
        For each score over the splits that were done.
    folds : tuple of Fold
        In the order of splits. Splits that were not tried because the time budget was used up have
        none.
    prepare : str
        What features went through first: "standard", "None" or a transformer as it is printed.
    then : str
        The classifier on top that was asked for: a name, or as it is printed; empty without one.
    given : str
        The estimator or pipeline that was asked for; empty where it was a name.
    wrapped : bool
        Whether `with_steps` put preparation and classifier around it.
    merges : bool
        Whether models of this method merge.
    """

    name: str
    kind: str
    description: str
    estimator: str
    grid: dict[str, list[Any]]
    decision: str
    status: str
    reason: str
    n_done: int
    summary: dict[str, Summary]
    folds: tuple[Fold, ...] = field(repr=False)
    prepare: str = "standard"
    then: str = ""
    given: str = ""
    wrapped: bool = False
    merges: bool = False

    @property
    def role(self) -> str:
        """Which reference this is, whatever it is called: "raw", "LDA", "PCA"; empty otherwise."""
        starts = ROLES.items() if self.kind == "reference" else ()
        return next((role for role, start in starts if self.estimator.startswith(start)), "")


ROLES = {
    "raw": ("FunctionTransformer(",),
    "LDA": ("LinearDiscriminantAnalysis(", "SpannedLDA("),
    "PCA": ("PCA(",),
}
"""References that are spoken of by themselves, and how their estimators are printed."""


@dataclass(frozen=True)
class Winner:
    """What always taking the method that is best within the training part would have given.

    Attributes
    ----------
    methods : tuple of str
        The method that was taken in each split: the one with the best ``Fold.inner``.
    splits : tuple of int
        Numbers of these splits.
    scores : tuple of dict
        Its scores on the test part of each.
    summary : dict of Summary
        Of these scores. No test row had a part in the choice of a method, so that they are what
        to expect of it.
    """

    methods: tuple[str, ...]
    splits: tuple[int, ...]
    scores: tuple[dict[str, float], ...]
    summary: dict[str, Summary]


@dataclass(frozen=True)
class Permutation:
    """Scores of a method with shuffled labels, and its real score.

    Attributes
    ----------
    method : str
        The method with the best mean score.
    score : str
        The score that ranks.
    splits : tuple of int
        Splits over which the mean is taken.
    value : float
        Mean score with the real labels.
    permuted : tuple of float
        Mean scores with shuffled labels, one for each time they were shuffled.
    p_value : float
        Share of shuffled labels that score at least as well, the real ones counted among them.
    """

    method: str
    score: str
    splits: tuple[int, ...]
    value: float
    permuted: tuple[float, ...]
    p_value: float


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods compared on the same splits of one data set.

    Attributes
    ----------
    classes : tuple
        The labels, sorted.
    class_counts : tuple of int
        Rows of each.
    feature_names : tuple of str
        Names of the columns; ``x0``, ``x1``, … where there were none.
    n_samples : int
        Rows.
    labels : tuple of int
        The class of each row, as a number in `classes`.
    tests : tuple of tuples of int
        Numbers of the test rows of each split; all others trained unless `trains` says which.
    settings : dict
        Settings that change the result: ``n_splits``, ``test_size``, ``cv`` (the splitter as
        printed; None where it is an array or the default), ``splitting`` ("random", "k-fold",
        "given", "test file" or "time"), ``folds`` (the k of k-fold), ``unit`` ("rows" or
        "groups"), ``score`` (the one that ranks), ``costs``, ``budget`` and ``random_state``.
    methods : tuple of MethodRecord
        In the order asked for, those that failed included.
    left_out : dict of str
        Estimators of the package that cannot be compared on labelled rows alone, and why. Only
        when all methods were asked for.
    data : str
        Fingerprint of rows and labels.
    versions : dict of str
        Of Python and the packages that computed this; several, with commas between, where folds in
        the file of results come from runs with other versions.
    seconds : float
        Wall time of all folds, also of those read from the file of results.
    best, advised : str or None
        Names of the method with the best mean score, and of the one to take (`advise`); None
        where no method has a score.
    notices : tuple of str
        Sentences on labels, columns and copied rows that are probably not meant as they are.
    trains : tuple of tuples of int
        Numbers of the training rows of each split, where some rows neither train nor test; empty
        otherwise.
    groups : tuple of int
        The group of each row, as a number in `group_names`; empty where rows are on their own.
    group_names : tuple
        The groups, sorted.
    winner : Winner or None
        Scores of always taking the method that is best within the training part; None where one
        method was compared.
    by_rows : dict of dict of Summary
        Where there are groups: what some of the methods seem to score when rows of a group fall
        on both sides of a split, by method and score.
    permutation : Permutation or None
        The best method with shuffled labels, once `permutation_test` was asked for.
    protocol : FoldRunner or None
        Rows and settings, with which methods are fitted again; None for records from a file.
    """

    classes: tuple[Any, ...]
    class_counts: tuple[int, ...]
    feature_names: tuple[str, ...]
    n_samples: int
    labels: tuple[int, ...]
    tests: tuple[tuple[int, ...], ...]
    settings: dict[str, Any]
    methods: tuple[MethodRecord, ...]
    left_out: dict[str, str]
    data: str
    versions: dict[str, str]
    seconds: float
    best: str | None = None
    advised: str | None = None
    notices: tuple[str, ...] = ()
    trains: tuple[tuple[int, ...], ...] = ()
    groups: tuple[int, ...] = ()
    group_names: tuple[Any, ...] = ()
    winner: Winner | None = None
    by_rows: dict[str, dict[str, Summary]] = field(default_factory=dict)
    permutation: Permutation | None = None
    protocol: Any = field(default=None, compare=False, metadata={"plain": False})

    @property
    def score(self) -> str:
        """The score that ranks."""
        return str(self.settings.get("score", "accuracy"))

    @property
    def test_share(self) -> float:
        """Share of the rows, or of the groups, of a split that are held out, mean over splits.

        Above ``test_size`` where classes are small.
        """
        shares = []
        for split, test in enumerate(self.tests):
            n_test = self._count_units(test)
            train = self.trains[split] if self.trains else None
            rest = self.n_samples - len(test) if not self.groups and train is None else None
            if rest is None:
                others = np.setdiff1d(np.arange(self.n_samples), test) if train is None else train
                rest = self._count_units(others)
            shares.append(n_test / (n_test + rest))
        return float(np.mean(shares))

    @property
    def n_test(self) -> int:
        """Test rows, or test groups, of the split that has the fewest."""
        return min(self._count_units(test) for test in self.tests)

    def _count_units(self, rows: Any) -> int:
        """Groups among these rows; the rows themselves where there are none."""
        numbers = np.asarray(rows, dtype=int)
        return len(np.unique(np.asarray(self.groups)[numbers])) if self.groups else len(numbers)

    # by name, since tables and pages are made of records and not the other way round
    def _repr_html_(self) -> str | None:
        """The report, as a notebook shows it; None, so that it shows the table, without Jinja2."""
        try:
            return str(import_module("separatrix.report").show(self))
        except ImportError:
            return None

    def __repr__(self) -> str:
        """A line for each method, best first."""
        return str(import_module("separatrix.evaluate.tables").write_text(self))

    def table(self) -> Any:
        """A pandas data frame with a row for each method, best first.

        Columns are ``status``, ``splits`` (those that were done), the mean of each score, the ends
        of its 95 % interval as ``<score>_low`` and ``<score>_high``, ``directions`` (the median
        over splits) and ``seconds`` (median time to train and to predict the test rows).
        """
        return import_module("separatrix.evaluate.tables").make_frame(self)

    def permutation_test(self, n: int = 99) -> Permutation:
        """Fit the best method again to labels that are shuffled n times, on the first splits."""
        return import_module("separatrix.evaluate.controls").permutation_test(self, n)

    def report(self, path: Any = None, **words: Any) -> Any:
        """The page about this comparison, written to a file where a path is given."""
        return import_module("separatrix.report").make_report(self, path, **words)

    def plot(self, method: str | None = None, *, ax: Any = None) -> Any:
        """Held-out rows in the first directions of a method, by default of the advised one."""
        return import_module("separatrix.plots").plot_projection(self, method=method, ax=ax)

    def __getitem__(self, name: str) -> MethodRecord:
        """The record of a method by its name."""
        for method in self.methods:
            if method.name == name:
                return method
        raise KeyError(f"{name!r} is not among {[m.name for m in self.methods]}")


@dataclass(frozen=True)
class Progress:
    """How far a comparison is.

    Attributes
    ----------
    done, total : int
        Folds that need no more work, those skipped or read from a file included; and all.
    elapsed : float
        Seconds since the start.
    remaining : float or None
        Estimate of the seconds to come, from the times of the folds so far; None before the
        first.
    running : tuple of str
        Methods being fitted now.
    fold : Fold or None
        The one that has just ended; None for a sign of life in between.
    by_method : dict of float
        Seconds that each method takes in all, as far as it has a fold.
    """

    done: int
    total: int
    elapsed: float
    remaining: float | None
    running: tuple[str, ...] = ()
    fold: Fold | None = None
    by_method: dict[str, float] = field(default_factory=dict)


def spelled_out(estimator: Any) -> str:
    """An estimator as it is printed, in full where scikit-learn would put dots."""
    try:
        return estimator.__repr__(N_CHAR_MAX=10**6)
    except TypeError:  # not scikit-learn's way to print
        return repr(estimator)


def spell_infinite(chosen: dict[str, Any]) -> dict[str, Any]:
    """Chosen parameters with "inf" for infinity, such as the γ of `LDG`: JSON has no such number.

    Examples
    --------
    >>> spell_infinite({"gamma": float("inf"), "n_neighbors": 7})
    {'gamma': 'inf', 'n_neighbors': 7}
    """
    return {
        name: str(value) if isinstance(value, float) and np.isinf(value) else value
        for name, value in chosen.items()
    }


# To JSON and back --------------------------------------------------------------------------------


def to_plain(record: Any) -> Any:
    """A record as dictionaries, lists, strings and numbers, which JSON can hold.

    Parameters
    ----------
    record : Comparison, or anything inside
        Also arrays, NumPy scalars and records of `rank_methods`. Numbers that are not finite
        become None.

    Examples
    --------
    >>> to_plain(View(((0.5, 2.0),)))
    {'coordinates': [[0.5, 2.0]], 'axes': 'directions'}
    """
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {
            f.name: to_plain(getattr(record, f.name))
            for f in dataclasses.fields(record)
            if f.metadata.get("plain", True)
        }
    if isinstance(record, dict):
        return {str(key): to_plain(value) for key, value in record.items()}
    if isinstance(record, np.ndarray):
        return to_plain(record.tolist())
    if isinstance(record, tuple | list):
        return [to_plain(value) for value in record]
    if isinstance(record, np.generic):
        return to_plain(record.item())
    if isinstance(record, float):
        return record if np.isfinite(record) else None
    if record is None or isinstance(record, bool | int | str):
        return record
    return repr(record)


def from_plain(kind: Any, plain: Any) -> Any:
    """The record that `to_plain` made plain.

    Parameters
    ----------
    kind : type
        Such as `Comparison` or `Fold`.
    plain : dict
        The result of `to_plain`.

    Examples
    --------
    >>> from_plain(View, to_plain(View(((0.5, 2.0),))))
    View(coordinates=((0.5, 2.0),), axes='directions')
    """
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        return kind(**{name: from_plain(hints[name], value) for name, value in plain.items()})
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        meant = [k for k in inner if k is not type(None)]
        return None if plain is None else from_plain(meant[0], plain)
    if origin is tuple:
        return tuple(from_plain(inner[0], value) for value in plain)
    if origin is dict:
        return {key: from_plain(inner[1], value) for key, value in plain.items()}
    return plain
