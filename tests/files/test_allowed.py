"""Types that files may name: all are known to do nothing when they are made."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.base import BaseEstimator

from separatrix.files.allowed import (
    PLAIN_TYPES,
    SCIKIT_LEARN_TYPES,
    find_allowed,
    find_scikit_learn_type,
)
from separatrix.files.names import find_type, full_name, type_paths
from tests.discovery import all_estimators

LISTED = {
    kind
    for kind in [
        *map(find_type, type_paths()),
        *map(find_scikit_learn_type, SCIKIT_LEARN_TYPES),
    ]
    if kind not in (None, tuple)
}
RECORDS = {kind for kind in LISTED if issubclass(kind, tuple)}


def test_the_types_allowed_are_known_to_do_nothing_when_they_are_made():
    for kind in RECORDS:
        assert kind.__bases__ == (tuple,)
        assert kind.__new__.__module__ == f"namedtuple_{kind.__name__}"
    for kind in LISTED - RECORDS:
        assert kind.__new__ is object.__new__
        assert kind.__reduce__ is object.__reduce__
        assert not hasattr(kind, "__del__")
        setter = getattr(kind, "__setstate__", None)
        assert setter is None or setter is BaseEstimator.__setstate__
    assert {type(e) for e in all_estimators()} <= LISTED
    plain = {kind for kinds in PLAIN_TYPES.values() for kind in kinds.values()}
    packages = {kind.__module__.split(".")[0] for kind in LISTED | plain}
    assert packages == {"separatrix", "sklearn", "numpy", "scipy", "builtins"}


@pytest.mark.parametrize("kind", sorted(LISTED, key=full_name), ids=full_name)
def test_a_type_is_found_by_its_name_of_today_for_one_kind_of_node_alone(kind):
    found = {loader: find_allowed(loader, full_name(kind)) for loader in PLAIN_TYPES}
    own = "TupleNode" if kind in RECORDS else "ObjectNode"
    assert found == {**dict.fromkeys(PLAIN_TYPES), own: kind}


@pytest.mark.parametrize(
    "name",
    [
        "sklearn.StandardScaler",
        "sklearn.preprocessing.StandardScaler",  # its home is a private module
        "sklearn.ensemble._forest.RandomForestClassifier",
        "separatrix.FisherDiscriminant",
        "separatrix.files.models.Stored",
        "separatrix.elsewhere.LinearRule",
        "os.LinearRule",
        "StandardScaler",
        "",
    ],
)
def test_a_name_that_is_not_exactly_that_of_a_listed_type_finds_nothing(name):
    assert find_allowed("ObjectNode", name) is None
    assert find_allowed("TupleNode", name) is None


PROGRAM = """
import sys
from separatrix.files.allowed import find_allowed
for loader in ("ObjectNode", "TupleNode", "ListNode", "TypeNode"):
    for name in sys.argv[1:]:
        assert find_allowed(loader, name) is None
print(*{name.rpartition(".")[0] for name in sys.argv[1:]}.intersection(sys.modules))
"""


def test_a_module_that_a_file_names_is_not_imported():
    names = ["this.LDG", "sklearn.ensemble.PCA", "separatrix.papers.FisherDiscriminant"]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []
