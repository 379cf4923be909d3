"""Finished folds in a file, and their keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from separatrix import FisherDiscriminant, KernelFisherDiscriminant
from separatrix.evaluate.checkpoint import data_key, job_key
from separatrix.evaluate.comparison import check_data, compare
from separatrix.evaluate.fold import Job
from separatrix.evaluate.methods import Contender, contenders
from separatrix.evaluate.splits import RandomShares
from tests.evaluate.comparing import CHEAP, Counted, Wider, X, Y, named, without_times


@pytest.mark.parametrize(
    "change", [{"random_state": 1}, {"cv": RandomShares(2, test_size=0.4)}],
    ids=str,
)  # fmt: skip
def test_results_with_other_settings_are_not_taken(tmp_path, change):
    path = tmp_path / "folds.jsonl"
    compare([Counted()], X, Y, **CHEAP, results=path)
    Counted.fits = 0
    how = {**CHEAP, **change}
    found = compare([Counted()], X, Y, **how, results=path)
    assert Counted.fits == 2
    assert without_times(found) == without_times(compare([Counted()], X, Y, **how))
    near = np.array([0.2, 0.4, 0.4])
    other = near + np.array([1e-12, 0, 0])
    for params in ({"n_components": 1}, {"priors": near}, {"priors": other}):
        Counted.fits = 0
        compare([("Counted", Counted(**params))], X, Y, **how, results=path)
        assert Counted.fits == 2


def power(base, x=2):
    return base**x


def key(*, estimator=None, scale=None, grid=None, test=(1, 2), **more):
    """The key of a job that differs from others in what is given."""
    estimator = estimator or FisherDiscriminant(shrinkage=None)
    contender = Contender("k", estimator, grid=grid or {}, prepare=scale, **more)
    return job_key(Job(contender, 0, 0), np.array(test))


def test_scaling_and_functions_are_known_by_their_content():
    """Arrays in full, functions by name and code: never by where they lie in memory."""
    edges = np.arange(2000.0)
    almost = edges.copy()
    almost[1000] += 1e-9
    scales = [
        None,
        FunctionTransformer(np.subtract, kw_args={"x2": edges}),
        FunctionTransformer(np.subtract, kw_args={"x2": almost}),
        make_pipeline(FunctionTransformer(power)),
        FunctionTransformer(partial(power, x=3)),
        FunctionTransformer(partial(power, x=4)),
        FunctionTransformer(lambda X: X + 1),
        FunctionTransformer(lambda X: X + 2),
        *[FunctionTransformer(lambda X, shift=shift: X + shift) for shift in (1, 2)],
        *[FunctionTransformer(closed) for closed in map(adding, (1, 2))],
        FunctionTransformer(Wider().transform),
        MinMaxScaler,
        MinMaxScaler(),
        *[FunctionTransformer(kw_args={"a": {one}}) for one in ("a", "b")],
        *[FunctionTransformer(kw_args={"a": Unpicklable(one)}) for one in (1, 2)],
    ]
    assert len({key(scale=scale) for scale in scales}) == len(scales)
    again = FunctionTransformer(np.subtract, kw_args={"x2": edges.copy()})
    assert key(scale=scales[1]) == key(scale=again)
    made = (KernelFisherDiscriminant(kernel=lambda x, y: (x @ y) ** power) for _ in range(2))
    one, two = (key(estimator=estimator) for estimator in made)
    assert one == two
    seeds = [np.random.RandomState(0), np.random.RandomState(0), np.random.RandomState(1)]
    one, two, other = (key(estimator=PCA(random_state=seed)) for seed in seeds)
    assert one == two != other
    held = [key(scale=FunctionTransformer(kw_args={"a": Unpicklable(1)})) for _ in range(2)]
    assert held[0] == held[1]

    def calls_itself(n):
        return calls_itself(n - 1)

    functions = (FunctionTransformer(calls_itself) for _ in range(2))
    assert len({key(scale=scale) for scale in functions}) == 1


def adding(shift):
    return lambda X: X + shift


class Unpicklable:
    """Holds a function without a name."""

    def __init__(self, shift):
        self.shift = shift
        self.function = lambda X: X + 1


def test_a_key_names_the_method_its_grid_and_the_test_rows():
    keys = [
        key(),
        key(test=(1, 3)),
        key(estimator=FisherDiscriminant(1)),
        key(estimator=FisherDiscriminant(1.0)),
        key(grid={"shrinkage": (None, 0.1), "n_components": (1, 2)}),
        key(grid={"n_components": (1, 2), "shrinkage": (None, 0.1)}),  # chosen in another order
        key(choose_dimension=True),
        key(most_rows=5),
        key(kind="subspace"),
        key(in_units=("C",)),
    ]
    assert len(set(keys)) == len(keys)
    assert key(description="told otherwise") == key()
    assert key(estimator=FisherDiscriminant(shrinkage=None).fit(X, Y)) == key()


SETS = """
import numpy as np
from functools import partial
from sklearn.preprocessing import FunctionTransformer
from separatrix.evaluate.checkpoint import data_key, job_key
from separatrix.evaluate.comparison import check_data
from separatrix.evaluate.fold import Job
from separatrix.evaluate.methods import with_steps
from separatrix.kernels import RBF

def keep(X, names=frozenset("abcdef")):
    return X if names & {"a", "b", "c", "d", "e"} else -X

scale = FunctionTransformer(partial(keep, names={"a", "b", "c", (1, "d")}), kw_args=dict(b=1, a=2))
for contender in with_steps(None, prepare=scale):
    print(job_key(Job(contender, 1, 0), np.arange(5)))
print(data_key(check_data(np.arange(12.0).reshape(6, 2), list("aabbcc"), ["one", "two"])))
"""


def test_keys_are_the_same_in_every_run():
    said = {
        subprocess.run(
            [sys.executable, "-c", SETS],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    (keys,) = said
    assert len(set(keys.split())) == len(contenders(None)) + 1


@pytest.mark.parametrize("rows", [X, X[:, :1], sp.csr_array(X)], ids=["dense", "column", "sparse"])
def test_the_layout_of_an_array_is_not_in_the_key_of_the_data(rows):
    names = [f"x{j}" for j in range(rows.shape[1])]
    keys = {data_key(check_data(rows, Y, None))}
    if not sp.issparse(rows):
        for same in (np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]):
            keys.add(data_key(check_data(same, Y, None)))
        keys.add(data_key(check_data(pd.DataFrame(rows, columns=names), Y, None)))
    assert len(keys) == 1
    changed = rows.copy()
    changed[3, 0] += 1e-9
    for x, y, n in [(changed, Y, names), (rows, Y[::-1], names), (rows, Y, [*names[:-1], "y"])]:
        assert data_key(check_data(x, y, n)) not in keys


def test_versions_are_kept_with_folds(tmp_path):
    path = tmp_path / "folds.jsonl"
    found = compare([Counted()], X, Y, **CHEAP, results=path)
    assert found.versions["numpy"] == np.__version__
    head, line, last = path.read_text().splitlines()
    entry = json.loads(line)
    assert entry["versions"] == found.versions
    entry["versions"]["numpy"] = "1.0"
    path.write_text("\n".join([head, json.dumps(entry), last]) + "\n")
    again = compare([Counted()], X, Y, **CHEAP, results=path)
    assert again.versions == found.versions | {"numpy": f"1.0, {np.__version__}"}
    assert compare([Counted()], X, Y, **CHEAP).versions == found.versions


def test_two_comparisons_do_not_write_to_one_file(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "folds.jsonl"
    refused = []

    def second(state):
        if state.done == 1 and not refused:
            with pytest.raises(ValueError, match="being written by another comparison") as error:
                compare(["raw"], X, Y, **CHEAP, results=path)
            refused.append(error)

    compare(["raw"], X, Y, **CHEAP, results=path, progress=second)
    assert refused
    assert compare(["raw"], X, Y, **CHEAP, results=path).methods[0].n_done == 2


def test_files_of_other_data_or_other_kinds_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "folds.jsonl"
    compare(["raw"], named(X), Y, **CHEAP, results=path)
    content = path.read_bytes()
    swapped = Y.copy()
    swapped[:2] = swapped[1::-1]
    for x, y, names in [(X + 1e-9, Y, "abcdef"), (X, swapped, "abcdef"), (X, Y, "uvwxyz")]:
        with pytest.raises(ValueError, match="results of other data"):
            compare(["raw"], named(x, names), y, **CHEAP, results=path)
    assert path.read_bytes() == content
    for text in (b"my diary", b"my diary\n", b'{"separatrix": 1}\n', content[1:]):
        path.write_bytes(text)
        with pytest.raises(ValueError, match="is not a file of results"):
            compare(["raw"], named(X), Y, **CHEAP, results=path)
        assert path.read_bytes() == text
    for other in (1, 9):  # the first form had other keys
        path.write_bytes(content.replace(b'"format":5', b'"format":%d' % other))
        with pytest.raises(ValueError, match=f"has format {other}, of another version"):
            compare(["raw"], named(X), Y, **CHEAP, results=path)
    lines = content.splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1][:30] + b"\n", lines[2]]))
    with pytest.raises(ValueError, match=r"line 2 of .* is damaged"):
        compare(["raw"], named(X), Y, **CHEAP, results=path)
    path.write_bytes(lines[0][:9])  # cut off before anything was done
    assert compare(["raw"], named(X), Y, **CHEAP, results=path).methods[0].n_done == 2


def test_a_file_that_may_only_be_read_is_read(tmp_path, monkeypatch):
    path = tmp_path / "folds.jsonl"
    before = compare(["raw"], X, Y, **CHEAP, results=path)
    content = path.read_bytes() + b'{"cut off'
    path.write_bytes(content)
    may = type(path).open

    def refuse(self, mode="r", **options):
        if "a" in mode or "w" in mode:
            raise PermissionError(13, "Permission denied", str(self))
        return may(self, mode, **options)

    monkeypatch.setattr(type(path), "open", refuse)
    assert without_times(compare(["raw"], X, Y, **CHEAP, results=path)) == without_times(before)
    with pytest.raises(PermissionError, match="may not be written to, and 1 of the folds"):
        compare(["raw"], X, Y, cv=RandomShares(3), results=path)
    assert path.read_bytes() == content
    with pytest.raises(PermissionError):
        compare(["raw"], X, Y, **CHEAP, results=tmp_path / "new")
