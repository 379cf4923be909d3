"""Decisions before the end on series of the UCR archive, beside what else could be taken.

``python -m benchmarks.early_table DIR`` reads the files ``ucr_*.npz`` in DIR, puts the training
and test part of each set together, and draws training rows anew (at most 300, at most half). A
share of 0.3 of these calibrates, or 300 rows more with ``--more``. Printed are means of the draws:

- right: accuracy of the decisions, and of complete rows;
- used: share of the values; harmonic: mean of right and not used;
- agree: decisions as on complete rows; stated: mean of their reliability, at 0.8, 0.9 and 0.95;
- short: share of 100 recalibrations whose agreement over all test rows is below 0.9.

``--rivals`` adds a fixed time, the rule of Ringel et al., and ECTS and TEASER of aeon if it is
installed. ``--rare`` measures a rare class, ``--time`` the promise up to each time, ``--solvers``
(with cvxpy) the least value of a quadratic over an ellipsoid, as figure 5.5 of Parrish's thesis.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA
from separatrix.early import PrefixJudge, Promise
from separatrix.early.calibration import (
    ScorePaths,
    decided_codes,
    halting_times,
    tabulate_promises,
)
from separatrix.early.stream import follow_paths
from separatrix.evaluate.early import harmonic_mean
from separatrix.features import RandomConvolutions
from separatrix.linalg import Array, boundary_distance

SETS = ("CBF,ECGFiveDays,GunPoint,ItalyPowerDemand,MedicalImages,MoteStrain,"
        "SonyAIBORobotSurface2,SyntheticControl,Trace,TwoPatterns")  # fmt: skip
MAX_TRAINING, MAX_TEST, SHARE, N_CHECKPOINTS = 300, 1000, 0.3, 20
LEVELS = (0.8, 0.9, 0.95)


def ridge() -> Any:
    return make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)))


MODELS: dict[str, Callable[[], EarlyClassifier]] = {
    "Fisher, model": lambda: EarlyClassifier(FisherDiscriminant(shrinkage=None)),
    "LocalQDA, sampled": lambda: EarlyClassifier(LocalQDA()),
    "convolutions + Fisher": lambda: EarlyClassifier(
        make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)),
        features=RandomConvolutions(),
    ),
    "convolutions + ridge": lambda: EarlyClassifier(ridge(), features=RandomConvolutions()),
}


class Split(NamedTuple):
    """Series to learn from, and to be judged by."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    X_more: Array
    y_more: Array


class Answers(NamedTuple):
    """Labels, shares of the values used, labels of complete series, and stated reliabilities."""

    label: Array
    used: Array
    complete: Array
    stated: Array | None = None


def draw_split(path: Path, seed: int) -> Split:
    data = np.load(path)
    X = np.vstack([data["X_train"], data["X_test"]]).astype(np.float64)
    y = np.concatenate([data["y_train"], data["y_test"]])
    n = min(MAX_TRAINING, len(y) // 2)
    parts = train_test_split(X, y, train_size=n, random_state=seed, stratify=y)
    more = min(MAX_TRAINING, len(parts[3]) // 2)
    rest = parts[1][more:][:MAX_TEST], parts[3][more:][:MAX_TEST]
    return Split(parts[0], parts[2], *rest, parts[1][:more], parts[3][:more])


def decide(model: EarlyClassifier, split: Split, tau: float) -> Answers:
    early = model.decide_early(split.X_test, reliability=tau)
    used = early.n_observed / split.X.shape[1]
    return Answers(early.label, used, model.predict(split.X_test), early.reliability)


def share_short(model: EarlyClassifier, split: Split, tau: float, n: int) -> float:
    """Recalibrations by n rows drawn from the test rows, judged by all of these."""
    codes, scores = follow_paths(model._score, split.X_test)
    complete = model._classify(split.X_test)
    paths, rng, short = ScorePaths(codes, scores, complete, complete), np.random.default_rng(0), 0
    for _ in range(100):
        drawn = paths.of_rows(rng.choice(len(complete), size=n))
        table = tabulate_promises(drawn, Promise(), "probability", len(model.classes_))
        halted = halting_times(scores, table.cutoffs_at(tau, 1))
        short += np.mean(decided_codes(paths, halted)[:, 0] == complete) < tau
    return short / 100


# Rivals ------------------------------------------------------------------------------------------


def at_fixed_time(split: Split, share: float) -> Answers:
    """All series at one time, by the features that win here."""
    t = max(1, round(share * split.X.shape[1]))
    rule = make_pipeline(RandomConvolutions(), ridge())
    label = clone(rule).fit(split.X[:, :t], split.y).predict(split.X_test[:, :t])
    complete = rule.fit(split.X, split.y).predict(split.X_test)
    return Answers(label, np.full(len(label), share), complete)


def by_gap(split: Split, condition: str | None) -> Answers:
    """Ringel et al.: the accuracy gap is at most 0.1, over all series or up to each time."""
    promise = Promise(SHARE, "probability", condition=condition, loss="gap")
    model = EarlyClassifier(
        ridge(), features=RandomConvolutions(), judge=PrefixJudge(), calibration=promise
    )
    return decide(model.fit(split.X, split.y), split, 0.9)


def by_aeon(split: Split, name: str) -> Answers:
    from aeon.classification import early_classification

    if name == "TEASER":
        model = early_classification.TEASER(random_state=0).fit(split.X[:, None], split.y)
        label, _ = model.predict(split.X_test[:, None])
        points = np.asarray(model._classification_points)
        when = points[np.asarray(model.get_state_info())[:, 0]]
        complete = model.estimators_[-1].predict(split.X_test[:, None])
        return Answers(label, when / split.X.shape[1], complete)
    model = early_classification.ProbabilityThresholdEarlyClassifier(random_state=0)
    model.fit(split.X[:, None], split.y)
    label, _ = model.predict(split.X_test[:, None])
    points = np.asarray(model._classification_points)
    when = points[np.asarray(model.get_state_info())[:, 0]]
    return Answers(label, when / split.X.shape[1], label)


def by_neighbours(split: Split) -> Answers:
    """ECTS without clusters, as in the reproduction of the thesis."""
    from separatrix_papers.ldg.early import ECTS

    answers = ECTS().fit(split.X, split.y).decide(split.X_test)
    return Answers(answers.label, answers.time / split.X.shape[1], answers.complete)


RIVALS: dict[str, Callable[[Split], Answers]] = {
    "fixed time 0.2": lambda split: at_fixed_time(split, 0.2),
    "fixed time 0.4": lambda split: at_fixed_time(split, 0.4),
    "fixed time 0.6": lambda split: at_fixed_time(split, 0.6),
    "gap ≤ 0.1": lambda split: by_gap(split, None),
    "gap ≤ 0.1 at each time": lambda split: by_gap(split, "time"),
    "ECTS": by_neighbours,
    "TEASER": lambda split: by_aeon(split, "TEASER"),
    "threshold (aeon)": lambda split: by_aeon(split, "threshold"),
}


# Tables ------------------------------------------------------------------------------------------


def row(answers: Answers, split: Split) -> list[float]:
    """Right, right when complete, used, harmonic mean, agreement."""
    right = float(np.mean(answers.label == split.y_test))
    used = float(answers.used.mean())
    complete = float(np.mean(answers.complete == split.y_test))
    agree = float(np.mean(answers.label == answers.complete))
    return [right, complete, used, harmonic_mean(right, 1 - used), agree]


def show(name: str, title: str, values: Any) -> None:
    print(f"{name:<22}{title:<24}" + "".join(f"{value:>9.3f}" for value in values), flush=True)


def measure(
    folder: Path, sets: list[str], titles: list[str], n_draws: int, rivals: bool, more: bool
) -> None:
    heads = ["right", "complete", "used", "harmonic", "agree", "short"]
    heads += [f"{kind} {tau}" for tau in LEVELS for kind in ("agr.", "gap")] + ["CPU s"]
    print(f"{'set':<22}{'method':<24}" + "".join(f"{head:>9}" for head in heads))
    means: dict[str, list[Any]] = {}
    for name in sets:
        splits = [draw_split(folder / f"ucr_{name}.npz", seed) for seed in range(n_draws)]
        for title in titles:
            rows = []
            for split in splits:
                start = time.process_time()
                calibration = Promise(None) if more else SHARE
                model = MODELS[title]().set_params(calibration=calibration)
                model.fit(split.X, split.y)
                if more:
                    model.calibrate(split.X_more)
                answers = decide(model, split, 0.9)
                spent = time.process_time() - start
                values = [*row(answers, split)]
                values.append(share_short(model, split, 0.9, min(90, len(split.y_test) // 2)))
                for tau in LEVELS:
                    other = decide(model, split, tau)
                    agree = float(np.mean(other.label == other.complete))
                    assert other.stated is not None
                    values += [agree, float(other.stated.mean()) - agree]
                rows.append([*values, spent])
            mean = np.mean(rows, axis=0)
            means.setdefault(title, []).append(mean)
            show(name, title, mean)
        for title, decide_so in RIVALS.items() if rivals else ():
            try:
                rows = [row(decide_so(split), split) for split in splits]
            except Exception as error:  # aeon is not installed, or refuses a set
                print(f"{name:<22}{title:<24}{type(error).__name__}: {str(error)[:60]}")
                continue
            mean = np.mean(rows, axis=0)
            means.setdefault(title, []).append(mean)
            show(name, title, mean)
    for title, rows in means.items():
        show(f"mean of {len(rows)}", title, np.mean(rows, axis=0))
    cells = np.array([
        abs(mean[k]) for title in titles for mean in means[title] for k in (7, 9, 11)
    ])  # fmt: skip
    print(f"stated within 0.04 of the agreement: {np.mean(cells <= 0.04):.2f} of {len(cells)}")


def measure_rare(n_draws: int) -> None:
    """Drifting walks of which 7 % show a defect late: recall, beside that of complete rows."""
    print(f"{'condition':<12}{'used':>8}{'recall':>8}{'complete':>10}")
    for condition in (None, "class"):
        rows = []
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            y = (rng.random(3000) < 0.07).astype(int)
            X = rng.standard_normal((3000, 60)).cumsum(axis=1) / 4
            X[:, 30:45] += 2.5 * y[:, None]
            promise = Promise(0.5, condition=condition)
            model = EarlyClassifier(FisherDiscriminant(shrinkage=None), calibration=promise)
            model.fit(X[:1000], y[:1000])
            early, complete = model.decide_early(X[1000:]), model.predict(X[1000:])
            rare = y[1000:] == 1
            rows.append([early.time.mean() / 60, np.mean(early.label[rare] == 1),
                         np.mean(complete[rare] == 1)])  # fmt: skip
        used, recall, at_end = np.mean(rows, axis=0)
        print(f"{condition!s:<12}{used:>8.3f}{recall:>8.3f}{at_end:>10.3f}")


def measure_time(folder: Path, sets: list[str], n_draws: int) -> None:
    """Share used at 0.9, agreement, and the least agreement up to any time (30 rows or more)."""
    print(f"{'set':<22}{'used':>8}{'agree':>8}{'least':>8}")
    everything = []
    for name in sets:
        rows = []
        for seed in range(n_draws):
            split = draw_split(folder / f"ucr_{name}.npz", seed)
            model = EarlyClassifier(
                ridge(), features=RandomConvolutions(), calibration=Promise(0.5, condition="time")
            ).fit(split.X, split.y)
            answers = decide(model, split, 0.9)
            same = (answers.label == answers.complete)[np.argsort(answers.used, kind="stable")]
            so_far = np.cumsum(same) / np.arange(1, len(same) + 1)
            rows.append([answers.used.mean(), same.mean(), so_far[30:].min()])
        everything.append(np.mean(rows, axis=0))
        print(f"{name:<22}" + "".join(f"{value:>8.3f}" for value in everything[-1]), flush=True)
    print(f"{'mean':<22}" + "".join(f"{value:>8.3f}" for value in np.mean(everything, axis=0)))


def measure_solvers(n_draws: int) -> None:
    """Milliseconds for each problem, and how far from 0 the least value is on our ellipsoid.

    The distance to the boundary says which ellipsoid has the least value 0: the semidefinite
    program must find 0 there, and gradient descent nothing below.
    """
    import cvxpy as cp

    print(f"{'values':<8}{'exact':>10}{'program':>10}{'descent':>10}{'off':>12}{'off':>12}")
    for d in (10, 20, 40):
        rows = []
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            A, slope, gap = rng.standard_normal((d, d)), rng.standard_normal(d), 3.0
            Q, clock = (A + A.T) / np.sqrt(8 * d), [time.process_time()]
            evals, V = np.linalg.eigh(Q)
            squared = float(boundary_distance(evals[None], slope[None] @ V, np.array([gap]))[0])
            clock.append(time.process_time())
            # [[X, z], [z, 1]] of the relaxation, which has no gap here
            M = cp.Variable((d + 1, d + 1), PSD=True)
            value = cp.trace(Q @ M[:d, :d]) + slope @ M[:d, d] + gap
            fits = [M[d, d] == 1, cp.trace(M[:d, :d]) <= squared]
            program = float(cp.Problem(cp.Minimize(value), fits).solve(solver="CLARABEL"))
            clock.append(time.process_time())
            z, step = -1e-3 * slope, 0.5 / abs(evals).max()
            for _ in range(1000):
                z = z - step * (2 * Q @ z + slope)
                z *= min(1.0, np.sqrt(squared) / np.linalg.norm(z))
            clock.append(time.process_time())
            descent = float(z @ Q @ z + slope @ z + gap)
            rows.append([*(1000 * np.diff(clock)), abs(program), abs(descent)])
        times, off = np.median(rows, axis=0)[:3], np.max(rows, axis=0)[3:]
        print(
            f"{d:<8}" + "".join(f"{t:>10.2f}" for t in times) + "".join(f"{e:>12.1e}" for e in off)
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.early_table")
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files are")
    parser.add_argument("--sets", default=SETS, help="names of sets, with commas between")
    parser.add_argument("--models", default=";".join(MODELS), help="with ; between")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--rivals", action="store_true")
    parser.add_argument("--more", action="store_true", help="300 rows that only calibrate")
    parser.add_argument("--rare", action="store_true", help="a rare class, in place of the table")
    parser.add_argument("--time", action="store_true", help='condition="time", in its place')
    parser.add_argument("--solvers", action="store_true", help="figure 5.5, in its place")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")  # series normalised over their length; small sets
    if asked.rare:
        measure_rare(asked.draws)
    elif asked.solvers:
        measure_solvers(asked.draws)
    elif asked.time:
        measure_time(asked.folder, asked.sets.split(","), asked.draws)
    else:
        titles = [title for title in asked.models.split(";") if title]
        measure(asked.folder, asked.sets.split(","), titles, asked.draws, asked.rivals, asked.more)


if __name__ == "__main__":
    main()
