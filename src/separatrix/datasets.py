"""Data with a known best subspace, and the data sets that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sklearn.datasets
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, softmax
from sklearn.utils import Bunch, check_random_state

from separatrix.files.bundled import BUNDLED, load_bundled


class DataSet(Bunch):
    """Rows, labels and a description; printed in a line."""

    def __repr__(self) -> str:
        """How many rows, features and classes there are."""
        rows, features = np.shape(self.data)[0], np.prod(np.shape(self.data)[1:], dtype=int)
        return f"DataSet({rows} rows, {features} features, {len(np.unique(self.target))} classes)"


def load(name: str) -> DataSet:
    """Load a data set that comes with scikit-learn.

    Parameters
    ----------
    name : str
        One of "breast_cancer", "digits", "iris", "wine".

    Returns
    -------
    DataSet
        A `Bunch` with ``data`` (n_samples, n_features), ``target`` (labels by name),
        ``feature_names`` and a description ``DESCR``.

    Examples
    --------
    >>> from separatrix import datasets
    >>> iris = datasets.load("iris")
    >>> iris, str(iris.target[0])
    (DataSet(150 rows, 4 features, 3 classes), 'setosa')
    """
    return DataSet(**load_bundled(name))


def fetch(name: str, *, version: int | str = "active", folder: str | None = None) -> Bunch:
    """Fetch a data set of openml.org, once: it is kept on disk.

    Nothing else in the package needs a network.

    Parameters
    ----------
    name : str
        Its name there, such as "glass".
    version : int or "active"
        Which version of it.
    folder : str, optional
        Where it is kept; scikit-learn's folder of data by default.

    Returns
    -------
    Bunch
        With ``data`` (a data frame), ``target`` (labels), ``feature_names`` and ``DESCR``.
    """
    try:
        bunch = sklearn.datasets.fetch_openml(
            name, version=version, data_home=folder, as_frame=True, parser="auto"
        )
    except OSError as error:
        raise OSError(
            f"{name!r} cannot be fetched from openml.org: {error}. Without a network there are "
            f"the bundled sets: {', '.join(sorted(BUNDLED))}"
        ) from error
    bunch.target = np.asarray(bunch.target)
    return bunch


def make_gaussian_classes(
    n_samples: int = 300,
    n_features: int = 10,
    n_classes: int = 3,
    *,
    separation: float = 3.0,
    condition: float = 10.0,
    weights: NDArray[np.floating] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Gaussian classes with one covariance, whose best subspace is known.

    The classes share the covariance Σ and have the means μ_c; all that separates them lies in the
    span of ``Σ⁻¹ (μ_c - μ)``, and the Gaussian rule with Σ is the best possible.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        Size of the data.
    separation : float
        Root mean squared distance of the means from their centre, in standard deviations.
    condition : float
        Ratio of the largest to the smallest eigenvalue of Σ.
    weights : array (n_classes,), optional
        Class probabilities; equal by default. Every class gets at least one sample.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target``, ``means``, ``covariance`` and ``components``, orthonormal rows
        that span the best subspace.

    Examples
    --------
    >>> from separatrix import datasets
    >>> bunch = datasets.make_gaussian_classes(random_state=0)
    >>> bunch.data.shape, bunch.components.shape
    ((300, 10), (2, 10))
    """
    rng = check_random_state(random_state)
    rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    spread = np.geomspace(1.0, condition, n_features)
    root = rotation * np.sqrt(spread)
    centres = rng.standard_normal((n_classes, n_features))
    centres -= centres.mean(axis=0)
    centres *= separation / np.sqrt((centres**2).sum(axis=1).mean())
    target = np.concatenate(
        [np.arange(n_classes), rng.choice(n_classes, max(n_samples - n_classes, 0), p=weights)]
    )[:n_samples]
    rng.shuffle(target)
    white = rng.standard_normal((n_samples, n_features)) + centres[target]
    inverse_root = rotation / np.sqrt(spread)
    best = np.linalg.svd(centres @ inverse_root.T, full_matrices=False)[2]
    return Bunch(
        data=white @ root.T,
        target=target,
        means=centres @ root.T,
        covariance=root @ root.T,
        components=best[: min(n_classes - 1, n_features)],
    )


def make_ringnorm(
    n_samples: int = 1000,
    n_features: int = 20,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Two Gaussian classes of which one lies inside the other.

    Class 0 has the covariance 4 I about the origin, class 1 the identity about a mean whose
    coordinates are ``2 / √n_features``. They differ mostly in size, which the class
    means do not show: the best rule is quadratic.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the data; the classes have the same number of samples, up to one.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (0 and 1), ``means``, ``covariances`` and ``bayes_predict``, the
        best possible rule.

    References
    ----------
    Breiman, Bias, variance, and arcing classifiers, technical report 460, University of
    California, Berkeley (1996).

    Examples
    --------
    >>> from separatrix import datasets
    >>> ring = datasets.make_ringnorm(400, random_state=0)
    >>> float((ring.bayes_predict(ring.data) == ring.target).mean()) > 0.95
    True
    """
    means = np.zeros((2, n_features))
    means[1] = 2 / np.sqrt(n_features)
    roots = np.stack([2 * np.eye(n_features), np.eye(n_features)])
    counts = [[n_samples - n_samples // 2], [n_samples // 2]]
    return _mixtures(counts, means, roots, check_random_state(random_state))


def make_pancakes(
    n_samples: int = 300,
    n_features: int = 50,
    *,
    gap: float = 4.0,
    thickness: float = 0.05,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Two parallel pancakes: the direction of least variance has all the information.

    Two Gaussian classes of unit variance in all directions but one, along which their standard
    deviation is `thickness` and their means are `gap` standard deviations apart. The axes are
    turned at random, so that no single feature separates the classes.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the data; the classes have the same number of samples, up to one.
    gap : float
        Distance of the means, in standard deviations.
    thickness : float
        Standard deviation along the direction that separates the classes.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (0 and 1), ``means``, ``covariances`` and ``bayes_predict``, the
        best possible rule.

    References
    ----------
    Rozza, doctoral thesis, Università degli Studi di Milano (2010), figure 4.1.

    Examples
    --------
    >>> from separatrix import datasets
    >>> pancakes = datasets.make_pancakes(random_state=0)
    >>> float((pancakes.bayes_predict(pancakes.data) == pancakes.target).mean()) > 0.95
    True
    """
    rng = check_random_state(random_state)
    axes = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    means = np.outer([-0.5, 0.5], gap * thickness * axes[:, -1])
    root = (axes * np.append(np.ones(n_features - 1), thickness)) @ axes.T
    counts = [[n_samples - n_samples // 2], [n_samples // 2]]
    return _mixtures(counts, means, np.stack([root, root]), rng)


def make_gaussian_pair(
    n_samples: int = 2000,
    n_features: int = 500,
    *,
    mean_scale: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Two Gaussian classes with random means and random, different covariances.

    Each class has a mean with coordinates uniform in (0, 1), times `mean_scale`, and a covariance
    with eigenvalues uniform in (0, 1) along random orthonormal axes.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the data; the classes have the same number of samples, up to one.
    mean_scale : float
        Smaller values bring the classes closer.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (0 and 1), ``means``, ``covariances`` and ``bayes_predict``, the
        best possible rule for these classes.

    References
    ----------
    Rozza, doctoral thesis, Università degli Studi di Milano (2010), sections 3.5 and 4.3.2.

    Examples
    --------
    >>> from separatrix import datasets
    >>> pair = datasets.make_gaussian_pair(100, 20, random_state=0)
    >>> float((pair.bayes_predict(pair.data) == pair.target).mean()) > 0.9
    True
    """
    counts = [[n_samples - n_samples // 2], [n_samples // 2]]
    return make_random_mixtures(
        counts, n_features, mean_scale=mean_scale, random_state=random_state
    )


def make_drifting_pair(
    n_samples: int = 4000,
    n_features: int = 20,
    *,
    turns: float = 1.0,
    separation: float = 3.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """A stream of two Gaussian classes whose means rotate about each other.

    Row t has the mean ``± separation / 2`` along a direction that turns in a plane, evenly, by
    `turns` full turns from the first row to the last. In that plane the classes have unit
    variance; outside it the features vary by up to three standard deviations and say nothing of
    the class. After half a turn the classes have changed places: a model of the first rows is then
    worse than nothing, while the best rule of the moment is as good as ever.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the data; at least two features.
    turns : float
        Full turns over the whole stream; 0 does not drift.
    separation : float
        Distance of the class means in standard deviations.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data`` and ``target`` (0 and 1) in the order of time, ``directions`` (n_samples,
        n_features) from the mean of class 0 to that of class 1 at each time, and ``bayes_error``,
        the smallest error possible, the same at all times.

    Examples
    --------
    >>> from separatrix import datasets
    >>> stream = datasets.make_drifting_pair(100, 5, turns=0.5, random_state=0)
    >>> stream.data.shape, round(stream.bayes_error, 3)
    ((100, 5), 0.067)
    """
    if n_features < 2:
        raise ValueError(f"n_features={n_features} must be at least 2: means turn in a plane")
    rng = check_random_state(random_state)
    axes = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    angles = 2 * np.pi * turns * np.linspace(0, 1, n_samples)
    directions = np.column_stack([np.cos(angles), np.sin(angles)]) @ axes[:2]
    target = rng.randint(2, size=n_samples)
    spread = np.concatenate([np.ones(2), np.linspace(1, 3, n_features)[2:]])
    data = (rng.standard_normal((n_samples, n_features)) * spread) @ axes
    data += separation * (target - 0.5)[:, None] * directions
    return Bunch(
        data=data,
        target=target,
        directions=directions,
        bayes_error=float(ndtr(-separation / 2)),
    )


def make_series(
    n_samples: int = 600,
    n_times: int = 60,
    n_classes: int = 3,
    *,
    onset: float = 0.3,
    separation: float = 6.0,
    memory: float = 0.8,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Gaussian series whose classes are the same up to some time, and part from there on.

    Around the mean of its class, a series is a stationary process in which each value keeps the
    share `memory` of the last one and has unit variance. The means are zero until `onset`; then
    each class follows a smooth curve of its own. Before, the classes cannot be distinguished, and
    what the first values say about the class and about the rest is known exactly.

    Parameters
    ----------
    n_samples, n_times, n_classes : int
        Size of the data. The classes are as frequent as can be.
    onset : float in [0, 1)
        Share of the series in which the classes do not differ.
    separation : float
        Average distance between two class means over the whole series, in standard deviations of
        the process: the square root of the mean of their squared Mahalanobis distances.
    memory : float in [0, 1)
        Correlation of neighbouring values.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (0, 1, …), ``means`` (n_classes, n_times), ``covariance``,
        ``onset``, the number of values that say nothing about the class, and ``posterior(X)``, the
        probabilities of the classes given series of which the rest is cut off or NaN.

    Examples
    --------
    >>> from separatrix import datasets
    >>> series = datasets.make_series(90, 40, onset=0.5, random_state=0)
    >>> series.data.shape, series.onset
    ((90, 40), 20)
    >>> series.posterior(series.data[:1, :20]).round(3)
    array([[0.333, 0.333, 0.333]])
    """
    if not (0 <= onset < 1 and 0 <= memory < 1):
        raise ValueError(f"onset={onset} and memory={memory} must be in [0, 1)")
    rng = check_random_state(random_state)
    start = int(onset * n_times)
    after = np.clip((np.arange(n_times) + 1 - start) / (n_times - start), 0, None)
    waves = np.sin(np.pi * np.outer(after, np.arange(1, 5)))  # zero up to the onset
    means = rng.standard_normal((n_classes, 4)) @ waves.T
    covariance = memory ** np.abs(np.subtract.outer(np.arange(n_times), np.arange(n_times)))
    root = np.linalg.cholesky(covariance)
    white = np.linalg.solve(root, means.T).T
    apart = ((white[:, None] - white) ** 2).sum(axis=2)[np.triu_indices(n_classes, 1)]
    means *= separation / np.sqrt(apart.mean())
    target = rng.permutation(np.arange(n_samples) % n_classes)
    data = means[target] + rng.standard_normal((n_samples, n_times)) @ root.T

    def posterior(X: ArrayLike) -> NDArray[Any]:
        """Probabilities of the classes given the leading values of some series."""
        rows = np.asarray(X, dtype=float)
        padded = np.full((len(rows), n_times), np.nan)
        padded[:, : rows.shape[1]] = rows
        known = np.logical_and.accumulate(np.isfinite(padded), axis=1)
        scores = np.empty((len(rows), n_classes))
        for c, mean in enumerate(means):
            rest = np.where(known, padded - mean, 0.0)
            # entry t of the whitened series depends on the first t values alone
            scores[:, c] = -0.5 * np.sum(np.linalg.solve(root, rest.T).T ** 2 * known, axis=1)
        return softmax(scores, axis=1)

    return Bunch(
        data=data,
        target=target,
        means=means,
        covariance=covariance,
        onset=start,
        posterior=posterior,
    )


def make_epochs(
    n_epochs: int = 400,
    n_channels: int = 8,
    *,
    rate: float = 64.0,
    rare: float = 0.2,
    separation: float = 3.0,
    memory: float = 0.8,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """A recording in which a rare picture is answered by one more wave, as in EEG (P300).

    Every second a picture is shown, and all channels answer by an early wave. After rare pictures
    there is a later one, around 0.35 s, strongest in the middle channels. The rest is Gaussian
    noise, correlated between neighbouring channels and over time. How well the best rule
    distinguishes the two kinds by one epoch is known.

    Parameters
    ----------
    n_epochs, n_channels : int
        Pictures and channels.
    rate : float
        Samples in a second.
    rare : float in (0, 1)
        Share of rare pictures.
    separation : float
        Length of the later wave in standard deviations of the noise (Mahalanobis).
    memory : float in [0, 1)
        Correlation of the noise of neighbouring samples.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``signal`` (n_channels, n_samples), ``triggers`` (n_epochs,), numbers of samples,
        ``target`` ("frequent" or "rare"), ``rate``, ``channels`` (names), ``start`` and ``stop``,
        the seconds after a trigger that hold the wave, ``pattern`` (n_channels, n_times), the wave
        there, ``filter``, the best weights of the values, and ``auc``, the area under the ROC
        curve that they have.

    Notes
    -----
    The difference of the class means is the pattern p, and the covariance C of an epoch is the
    same for both, so that the best rule is linear, ``C⁻¹ p``, and its area is
    Φ(``separation`` / √2).

    Examples
    --------
    >>> from separatrix import datasets
    >>> from separatrix.features.signals import cut_epochs
    >>> eeg = datasets.make_epochs(100, random_state=0)
    >>> X = cut_epochs(eeg.signal, eeg.triggers, eeg.rate, start=eeg.start, stop=eeg.stop)
    >>> X.shape, round(eeg.auc, 3)
    ((100, 8, 51), 0.983)
    """
    if not (0 < rare < 1 and 0 <= memory < 1):
        raise ValueError(f"rare={rare} must be in (0, 1) and memory={memory} in [0, 1)")
    rng = check_random_state(random_state)
    spacing, start, stop = round(rate), 0.0, 0.8
    times = np.arange(round(start * rate), round(stop * rate)) / rate
    places = np.arange(n_channels)
    middle = np.exp(-0.5 * ((places - (n_channels - 1) / 2) / max(1.0, n_channels / 4)) ** 2)
    pattern = np.outer(middle, np.exp(-0.5 * ((times - 0.35) / 0.06) ** 2))
    early = np.outer(1.0 - 0.5 * middle, np.exp(-0.5 * ((times - 0.12) / 0.03) ** 2))
    over_channels = 0.6 ** np.abs(np.subtract.outer(places, places))
    lags = np.abs(np.subtract.outer(np.arange(len(times)), np.arange(len(times))))
    over_times = memory**lags
    weights = np.linalg.solve(over_channels, np.linalg.solve(over_times, pattern.T).T)
    size = separation / np.sqrt(np.sum(weights * pattern))
    pattern, weights = size * pattern, size * weights
    is_rare = rng.permutation(n_epochs) < max(1, round(rare * n_epochs))
    triggers = spacing * (1 + np.arange(n_epochs))
    n_samples = spacing * (n_epochs + 2)
    white = rng.standard_normal((n_channels, n_samples))
    white[:, 1:] *= np.sqrt(1 - memory**2)  # stationary from the first sample on
    from scipy.signal import lfilter  # a quarter of a second that other data do not need

    noise = lfilter([1.0], [1.0, -memory], white, axis=1)
    signal = np.linalg.cholesky(over_channels) @ noise
    for trigger, late in zip(triggers, is_rare, strict=True):
        signal[:, trigger : trigger + len(times)] += 2 * early + (pattern if late else 0.0)
    return Bunch(
        signal=signal,
        triggers=triggers,
        target=np.where(is_rare, "rare", "frequent"),
        rate=rate,
        channels=np.array([f"C{i + 1}" for i in range(n_channels)]),
        start=start,
        stop=stop,
        times=times,
        pattern=pattern,
        filter=weights,
        auc=float(ndtr(separation / np.sqrt(2))),
    )


def make_random_mixtures(
    counts: Sequence[Sequence[int]] = ((500, 500, 500, 500), (500, 500, 500, 500)),
    n_features: int = 500,
    *,
    mean_scale: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Classes that are mixtures of Gaussians with random means and covariances.

    Parameters
    ----------
    counts : sequence of sequences of int
        For each class, how many samples each of its Gaussians has.
    n_features : int
    mean_scale : float
        Factor of the means, whose coordinates are uniform in (0, 1).
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (the number of the class), ``component`` (the number of the
        Gaussian), ``means``, ``covariances`` and ``bayes_predict``.

    References
    ----------
    Rozza, doctoral thesis, Università degli Studi di Milano (2010), section 5.5.1, second
    generator.

    Examples
    --------
    >>> from separatrix import datasets
    >>> bunch = datasets.make_random_mixtures([[30, 20], [50]], 10, random_state=0)
    >>> bunch.data.shape, int((bunch.target == 1).sum())
    ((100, 10), 50)
    """
    rng = check_random_state(random_state)
    n_gaussians = sum(len(of_class) for of_class in counts)
    means = mean_scale * rng.uniform(size=(n_gaussians, n_features))
    roots = np.empty((n_gaussians, n_features, n_features))
    for root in roots:
        axes = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
        root[:] = axes * np.sqrt(rng.uniform(size=n_features))
    return _mixtures(counts, means, roots, rng)


def make_gaussian_mixtures(
    n_samples: int = 500,
    n_features: int = 500,
    *,
    e: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Two classes of four round Gaussians each, arranged so that no hyperplane separates them.

    Parameters
    ----------
    n_samples : int
        Samples of each of the eight Gaussians.
    n_features : int
        Even; the means are constant on each half of the features.
    e : float
        Standard deviation of all Gaussians; 1, 2 and 3 in the thesis.
    random_state : int, RandomState or None
        Source of randomness.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (0 and 1), ``component`` (0 to 7), ``means``, ``covariances``
        and ``bayes_predict``.

    References
    ----------
    Rozza, doctoral thesis, Università degli Studi di Milano (2010), section 5.5.1, first
    generator.

    Examples
    --------
    >>> from separatrix import datasets
    >>> bunch = datasets.make_gaussian_mixtures(50, 100, e=2.0, random_state=0)
    >>> bunch.data.shape
    (400, 100)
    """
    if n_features % 2:
        raise ValueError(f"n_features={n_features} must be even: the means have two halves")
    halves = [(0, 0), (1, 0), (0.5, -1), (0.5, 1), (1, 1), (1, -1), (0, 1), (0, -1)]
    means = np.repeat(np.array(halves, dtype=float), n_features // 2, axis=1)
    roots = np.broadcast_to(e * np.eye(n_features), (8, n_features, n_features))
    rng = check_random_state(random_state)
    return _mixtures([[n_samples] * 4] * 2, means, roots, rng)


def _mixtures(
    counts: Sequence[Sequence[int]],
    means: NDArray[Any],
    roots: NDArray[Any],
    rng: np.random.RandomState,
) -> Bunch:
    """Shuffled samples of Gaussians given by means and square roots of covariances."""
    sizes = np.concatenate([np.asarray(of_class, dtype=int) for of_class in counts])
    class_of = np.repeat(np.arange(len(counts)), [len(of_class) for of_class in counts])
    component = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    data = means[component]
    for i, root in enumerate(roots):
        members = component == i
        data[members] += rng.standard_normal((sizes[i], root.shape[1])) @ root.T

    def bayes_predict(X: ArrayLike) -> NDArray[Any]:
        """The class of largest probability under the Gaussians the data were drawn from."""
        rows = np.asarray(X, dtype=float)
        scores = np.full((len(rows), len(counts)), -np.inf)
        for i, root in enumerate(roots):
            white = np.linalg.solve(root, (rows - means[i]).T)
            volume = np.linalg.slogdet(root)[1]
            density = np.log(sizes[i]) - 0.5 * np.sum(white**2, axis=0) - volume
            scores[:, class_of[i]] = np.logaddexp(scores[:, class_of[i]], density)
        return scores.argmax(axis=1)

    return Bunch(
        data=data,
        target=class_of[component],
        component=component,
        means=means,
        covariances=np.stack([root @ root.T for root in roots]),
        bayes_predict=bayes_predict,
    )
