"""One comparison: checked data, the keys of its jobs, folds that are known, the clock, records."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from separatrix.evaluate.checkpoint import ResultsFile, exact, key_of
from separatrix.evaluate.fold import Data, Job, decision_of
from separatrix.evaluate.methods import Contender
from separatrix.evaluate.ranking import mean_interval
from separatrix.evaluate.records import Fold, MethodRecord, Progress, Summary, spelled_out
from separatrix.evaluate.workers import may_work_again, run_jobs
from separatrix.moments.checks import encode_labels, refuse_lazy_frame, refuse_nonfinite_rows


def labelled_data(
    X: Any, y: ArrayLike, feature_names: Iterable[str] | None, *, gaps: bool = False
) -> tuple[Data, np.ndarray]:
    """Checked rows with the names of their features, and the classes; maybe with gaps."""
    refuse_lazy_frame(X, "compare")
    if feature_names is None and hasattr(X, "columns"):
        feature_names = X.columns
    rows = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
    )
    names = [f"x{j}" for j in range(rows.shape[1])]
    if feature_names is not None:
        names = [str(name) for name in feature_names]
    if len(names) != rows.shape[1]:
        raise ValueError(
            f"feature_names has {len(names)} names, but X has {rows.shape[1]} features"
        )
    if not gaps:
        refuse_nonfinite_rows(rows, np.array(names, dtype=object))
    labels = column_or_1d(y)
    refuse_missing_labels(labels)
    check_classification_targets(labels)
    if len(labels) != rows.shape[0]:
        raise ValueError(f"X has {rows.shape[0]} rows, but y has {len(labels)} labels")
    classes, codes = encode_labels(labels, rows.shape[0])
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}: two or more are needed")
    if np.bincount(codes).max() < 2:
        raise ValueError("every row has a class of its own: none can be held out")
    return Data(rows, codes, len(classes), tuple(names)), classes


def refuse_missing_labels(labels: np.ndarray) -> None:
    """Say which labels are None, NaN or another sign for a gap."""
    if labels.dtype.kind not in "Of":
        return
    missing = [
        i
        for i, label in enumerate(labels)
        if label is None
        or (isinstance(label, float) and math.isnan(label))
        or type(label).__name__ in ("NAType", "NaTType")
    ]
    if missing:
        raise ValueError(
            f"y has no label for {len(missing)} of {len(labels)} rows (first: row {missing[0]}): "
            "leave these rows out"
        )


def fingerprint(data: Data, classes: np.ndarray) -> str:
    """A short text that other rows, labels or names of features do not have."""
    parts = [data.X.data, data.X.indices, data.X.indptr] if sp.issparse(data.X) else [data.X]
    digest = hashlib.sha256(repr((data.X.shape, data.feature_names, classes.tolist())).encode())
    for part in [*parts, data.codes.astype(np.int64)]:
        digest.update(str(part.dtype).encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:20]


def scale_name(scale: Any) -> str | None:
    """What scales columns, as text."""
    return scale if scale is None or isinstance(scale, str) else spelled_out(scale)


def job_key(job: Job) -> str:
    """A short text that only this fold of this method with these settings has, on any data."""
    contender = job.contender
    parts = {
        "version": version("separatrix"),
        "estimator": exact(contender.estimator),
        "grid": exact(dict(contender.grid)),
        "contender": dataclasses.replace(contender, estimator=None, description="", grid={}),
        "scale": exact(job.scale),
        "rest": (job.split, job.test_size, job.decision, job.random_state, job.memory),
    }
    return key_of(parts)


Place = tuple[str, int]
"""Name of a method and number of a split."""


def place(job: Job) -> Place:
    """The method and the split of a job."""
    return job.contender.name, job.split


def versions_of(folds: list[Fold], keys: dict[Place, str], file: ResultsFile) -> dict[str, str]:
    """What computed the folds; several versions of a package where they are of several runs."""
    used: dict[str, dict[str, None]] = {name: {} for name in file.versions}
    for fold in folds:
        for name, which in file.versions_of[keys[fold.method, fold.split]].items():
            used.setdefault(name, {})[which] = None
    return {name: ", ".join(found) or file.versions[name] for name, found in used.items()}


def all_folds(
    jobs: list[Job],
    keys: dict[Place, str],
    data: Data,
    file: ResultsFile | None,
    n_jobs: int | None,
    time_budget: float | None,
    progress: Callable[[Progress], None] | None,
    client: Any,
) -> list[Fold]:
    """The folds of all jobs that were tried, by split: from the file, or run now."""
    known = {} if file is None else _known_folds(keys, file, time_budget)
    spent = _seconds_by_method(known.values())
    todo = [job for job in jobs if place(job) not in known]
    if file is not None:
        file.refuse_more(len(todo))
    at_once = n_jobs if client is None else max(1, len(client.nthreads()))
    clock = Clock(todo, len(jobs), known.values(), at_once)
    tell = progress or (lambda _: None)
    tell(clock.now())
    events = run_jobs(
        todo, data, n_jobs=n_jobs, time_budget=time_budget, spent=spent, client=client
    )
    with closing(events):  # whatever happens here, workers do not outlive it
        for event in events:
            if isinstance(event, list):
                tell(clock.now(event))
                continue
            job, fold = event
            if fold is not None:
                known[place(job)] = fold
                if file is not None:
                    file.keep(keys[place(job)], fold)
            clock.ended(job, fold)
            tell(clock.now(fold=fold))
    return [known[place(job)] for job in jobs if place(job) in known]


def _known_folds(
    keys: dict[Place, str], file: ResultsFile, time_budget: float | None
) -> dict[Place, Fold]:
    """Folds of the file; one that was stopped counts as long as the budget is no larger now.

    Those that failed for what may pass are tried again.
    """
    found = {place: file.folds[key] for place, key in keys.items() if key in file.folds}
    known = {place: fold for place, fold in found.items() if not may_work_again(fold)}
    limit = math.inf if time_budget is None else time_budget
    spent = _seconds_by_method(known.values())
    return {
        place: fold
        for place, fold in known.items()
        if fold.status != "stopped" or spent[fold.method] >= limit
    }


def _seconds_by_method(folds: Iterable[Fold]) -> dict[str, float]:
    spent: dict[str, float] = {}
    for fold in folds:
        spent[fold.method] = spent.get(fold.method, 0.0) + fold.seconds
    return spent


class Clock:
    """How far a comparison is, and how long it will take by what folds took so far."""

    def __init__(
        self, todo: list[Job], total: int, known: Iterable[Fold], n_jobs: int | None
    ) -> None:
        self.start = time.monotonic()
        self.total = total
        self.todo = Counter(job.contender.name for job in todo)
        self.seconds: dict[str, list[float]] = {}
        self.workers = effective_n_jobs(n_jobs)
        for fold in known:
            self.seconds.setdefault(fold.method, []).append(fold.seconds)

    def ended(self, job: Job, fold: Fold | None) -> None:
        """Count a job that needs no more work."""
        self.todo[job.contender.name] -= 1
        if fold is not None:
            self.seconds.setdefault(fold.method, []).append(fold.seconds)

    def now(self, running: Iterable[Job] = (), fold: Fold | None = None) -> Progress:
        """The state of things."""
        return Progress(
            done=self.total - sum(self.todo.values()),
            total=self.total,
            elapsed=time.monotonic() - self.start,
            remaining=self._remaining(),
            running=tuple(job.contender.name for job in running),
            fold=fold,
        )

    def _remaining(self) -> float | None:
        """Mean seconds of each method, of all of them where it has none yet."""
        means = {name: float(np.mean(seconds)) for name, seconds in self.seconds.items()}
        if not means:
            return None
        typical = float(np.mean(list(means.values())))
        left = sum(n * means.get(name, typical) for name, n in self.todo.items())
        return left / self.workers


def method_record(
    contender: Contender, folds: list[Fold], decision: str, tests: list[Any], n_samples: int
) -> MethodRecord:
    """What the folds of a method come to."""
    done = [fold for fold in folds if fold.status == "done"]
    reason = next((fold.reason for fold in folds if fold.status != "done"), "")
    if not reason and len(folds) < len(tests):
        reason = "time budget"
    names = dict.fromkeys(name for fold in done for name in fold.scores)
    share = len(tests[0]) / n_samples
    return MethodRecord(
        name=contender.name,
        kind=contender.kind,
        description=contender.description,
        estimator=spelled_out(contender.estimator),
        grid={name: list(values) for name, values in contender.grid.items()},
        decision=decision_of(contender, decision),
        status="done" if len(done) == len(tests) else "partial" if done else "failed",
        reason=reason and f"{reason}; {len(done)} of {len(tests)} splits done",
        n_done=len(done),
        summary={
            name: Summary(
                *mean_interval(
                    [f.scores[name] for f in done if name in f.scores],
                    share,
                    min(map(len, tests)) if name == "accuracy" else None,
                )
            )
            for name in names
        },
        folds=tuple(folds),
    )
