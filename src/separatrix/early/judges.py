"""Judges: how reliable a guess about an incomplete row is found to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from separatrix.base.parameters import (
    Allowed,
    check_parameters,
    one_of,
    real_number,
    whole_number,
)

MIN_SHRINKAGE = 1e-8
"""Below it the covariance of rows that are fewer than features is numerically singular."""


class AnyJudge(BaseEstimator):
    """The parameters of a judge, and the model of the missing values that it uses."""

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {}
    conditional: str = "gaussian"
    regularization: str | float = "auto"

    def check(self) -> None:
        """Raise for a parameter that has no meaning."""
        check_parameters(self, self._allowed_parameters)


class ModelJudge(AnyJudge):
    """Judges by the linear or quadratic functions of which the classifier takes the largest.

    Parameters
    ----------
    region : "ideal", "ellipsoid", "box", "chebyshev" or "diagonal"
        "ideal" is the probability that the guess stands: exact for a linear rule of two classes,
        a bound by the sum over all rivals for more, and by the mean and variance of differences
        for quadratic rules. The others are the sets of Parrish's thesis, about the expected row:
        the reliability is the measure of the largest set on which the guess stands. They leave
        room for errors of the model and decide later. "diagonal" takes missing values as
        independent and has less than its nominal measure where they are not: it warns.
    conditional : "gaussian" or "mixture"
        One normal model of all rows, or one for each class, weighted by its probability given the
        observed features.
    regularization : "auto" or float in [1e-8, 1]
        α in ``Σ = (1 - α) S + α diag(S)``, S the covariance of the training rows; of each class
        for "mixture", with the diagonal of their average. "auto" takes the α under which training
        rows that are held out are most likely.

    Examples
    --------
    >>> ModelJudge(region="box")
    ModelJudge(region='box')
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "region": (one_of("ideal", "ellipsoid", "box", "chebyshev", "diagonal"),),
        "conditional": (one_of("gaussian", "mixture"),),
        "regularization": (one_of("auto"), real_number(MIN_SHRINKAGE, 1)),
    }

    def __init__(
        self,
        region: str = "ideal",
        conditional: str = "gaussian",
        regularization: str | float = "auto",
    ) -> None:
        self.region = region
        self.conditional = conditional
        self.regularization = regularization


class SampledJudge(AnyJudge):
    """Judges by the share of the completions of a row, drawn from a model, that agree.

    For any classifier. Without calibration it states too much where training rows are few.

    Parameters
    ----------
    n_draws : int
        Completions of a row; 0.2 of them where these agree in less than 0.7.
    n_checkpoints : int
        Number of equidistant times at which series are judged.

    Examples
    --------
    >>> SampledJudge(n_draws=50)
    SampledJudge(n_draws=50)
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_draws": (whole_number(2),),
        "n_checkpoints": (whole_number(1),),
    }

    def __init__(self, n_draws: int = 200, n_checkpoints: int = 20) -> None:
        self.n_draws = n_draws
        self.n_checkpoints = n_checkpoints


class PrefixJudge(AnyJudge):
    """Judges by the confidence of one classifier for each of some lengths, on the values so far.

    Any pipeline, also of classifiers of series. The confidence is no probability that the complete
    decision agrees, so that this judge has to be calibrated.

    Parameters
    ----------
    n_checkpoints : int
        Number of equidistant lengths.

    Examples
    --------
    >>> PrefixJudge()
    PrefixJudge()
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_checkpoints": (whole_number(1),)
    }

    def __init__(self, n_checkpoints: int = 20) -> None:
        self.n_checkpoints = n_checkpoints


JUDGES = {"model": ModelJudge, "sampled": SampledJudge, "prefix": PrefixJudge}
"""Judges by name."""


def settle_judge(judge: Any) -> AnyJudge | None:
    """The judge that a parameter names or is, checked; None for "auto"."""
    if isinstance(judge, AnyJudge):
        judge.check()
        return judge
    if isinstance(judge, str) and judge in JUDGES:
        return JUDGES[judge]()
    if isinstance(judge, str) and judge == "auto":
        return None
    raise ValueError(
        f"judge={judge!r} is not valid: it must be 'auto', 'model', 'sampled', 'prefix', or "
        "early.ModelJudge(...), early.SampledJudge(...) or early.PrefixJudge(...)"
    )
