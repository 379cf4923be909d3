"""Names in model files: code may move, a file stays readable."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import separatrix
from separatrix import EarlyClassifier, FisherDiscriminant, OnlineIPCAC, load
from separatrix.decision.linear import LinearRule
from separatrix.files import names
from tests.discovery import TALL, WIDE, all_estimators
from tests.files.model_files import (
    archive_of,
    assert_rejected,
    node,
    planted,
    rewritten,
    saved_and_loaded,
    wrapped,
)


@pytest.fixture(autouse=True)
def types_looked_up_again():
    """Tables that a test changes are read again, there and after it."""
    clear()
    yield
    clear()


def clear():
    for table in (names.type_paths, names._find, names._names_by_class):
        table.cache_clear()


def schema_of(model):
    with zipfile.ZipFile(io.BytesIO(archive_of(model))) as entries:
        return json.loads(entries.read("schema.json"))


def own_names(schema):
    """Modules and names of the types of this package in a schema."""
    found = {(node["__module__"], node["__class__"]) for node in names.nodes(schema)}
    return {(module, name) for module, name in found if module.startswith("separatrix")}


def varied_models():
    """Models that hold the parts of the table: with windows, few axes, sparse rows, choices."""
    sparse = sp.csr_array(WIDE[0] * (np.abs(WIDE[0]) > 1))
    yield FisherDiscriminant(window=30).fit(*TALL)
    yield FisherDiscriminant("auto").fit(*TALL)
    yield FisherDiscriminant().fit(sparse, WIDE[1])
    yield OnlineIPCAC(rank=2).fit(TALL[0], TALL[1] > 0)
    yield EarlyClassifier(FisherDiscriminant()).fit(*WIDE)
    yield EarlyClassifier(FisherDiscriminant(), calibration=0.5).fit(*TALL)
    for score in ("sampled", "prefix"):
        yield EarlyClassifier(FisherDiscriminant(), score=score, n_draws=5).fit(*TALL)
    yield from (estimator.fit(*TALL) for estimator in all_estimators())


@pytest.mark.filterwarnings("ignore")
def test_files_name_types_without_their_modules_and_the_table_has_no_other():
    """A part that is missing in `names.PART_TYPES` is named by the error of `save`."""
    found = set().union(*(own_names(schema_of(model)) for model in varied_models()))
    assert {module for module, _ in found} == {"separatrix"}
    written = {name for _, name in found}
    # see tests of tables with text given as numbers, references
    elsewhere = {"ValueNames", "WindowRows", "SpannedLDA"}
    # and those of spectra and of several labels
    elsewhere |= {"Detrend", "SpectrumDerivative", "StandardNormalVariate", "SeveralLabels"}
    # and of kernels: those that are no default
    elsewhere |= {"LeftOut", "Laplacian", "Linear", "Polynomial", "Precomputed"}
    assert set(names.PART_TYPES) - written == elsewhere
    assert set(separatrix.CONTENTS) & written == {type(e).__name__ for e in all_estimators()} | {
        "ClassMoments"
    }


def test_every_name_is_that_of_a_type_as_of_format_1():
    types = {name: names.find_type(name) for name in names.PART_TYPES}
    assert None not in types.values()
    for name, fields in names.FORMAT_1_FIELDS.items():
        assert len(set(fields.split())) == len(fields.split())
        assert issubclass(types[name], tuple)


def test_a_part_without_a_name_cannot_be_saved(tmp_path, monkeypatch):
    monkeypatch.delitem(names.PART_TYPES, "LinearRule")
    with pytest.raises(ValueError, match=r"rule.*LinearRule, for which files have no name.*PART"):
        saved_and_loaded(FisherDiscriminant().fit(*TALL), tmp_path)


def move(monkeypatch, kind, module):
    """Pretend that a type is defined elsewhere."""
    home = ModuleType(module)
    setattr(home, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, module, home)
    monkeypatch.setattr(kind, "__module__", module)


def anonymous(schema):
    """The schema without the numbers of objects, which differ from run to run."""
    if isinstance(schema, dict):
        skipped = ("__id__", "file")
        return {k: anonymous(v) for k, v in schema.items() if k not in skipped}
    return [anonymous(v) for v in schema] if isinstance(schema, list) else schema


def test_moving_code_changes_no_file_and_breaks_none(tmp_path, monkeypatch):
    model = FisherDiscriminant().fit(*TALL)
    separatrix.save(model, tmp_path / "before.model")
    before = anonymous(schema_of(model))
    expected = model.predict_proba(TALL[0])
    move(monkeypatch, LinearRule, "separatrix.elsewhere")
    monkeypatch.setitem(names.PART_TYPES, "LinearRule", "elsewhere.LinearRule")
    move(monkeypatch, FisherDiscriminant, "separatrix.far.away")
    monkeypatch.setitem(separatrix.CONTENTS, "FisherDiscriminant", "far.away")
    clear()
    assert (load(tmp_path / "before.model").predict_proba(TALL[0]) == expected).all()
    assert anonymous(schema_of(model)) == before


class Turned(NamedTuple):
    """A rule with its fields in another order."""

    unit_length: object
    intercept: object
    coef: object


class Longer(NamedTuple):
    """A rule with a field that files do not have yet."""

    coef: object
    intercept: object
    unit_length: object
    origin: object = "default"


class Fewer(NamedTuple):
    """A rule with another field."""

    weights: object


@pytest.mark.usefixtures("unasked")
def test_fields_in_another_order_are_found_by_name(tmp_path, monkeypatch):
    model = FisherDiscriminant().fit(*TALL)
    separatrix.save(model, tmp_path / "a.model")
    move(monkeypatch, Turned, "separatrix.elsewhere")
    monkeypatch.setitem(names.PART_TYPES, "LinearRule", "elsewhere.Turned")
    clear()
    rule = next(v for v in vars(load(tmp_path / "a.model")).values() if isinstance(v, Turned))
    assert np.ndim(rule.coef) == 2


@pytest.mark.usefixtures("unasked")
def test_new_fields_at_the_end_take_their_defaults(tmp_path, monkeypatch):
    separatrix.save(FisherDiscriminant().fit(*TALL), tmp_path / "a.model")
    move(monkeypatch, Longer, "separatrix.elsewhere")
    monkeypatch.setitem(names.PART_TYPES, "LinearRule", "elsewhere.Longer")
    clear()
    rule = next(v for v in vars(load(tmp_path / "a.model")).values() if isinstance(v, Longer))
    assert rule.origin == "default"
    assert np.ndim(rule.coef) == 2


def test_fields_that_are_no_more_are_named(tmp_path, monkeypatch):
    content = wrapped(archive_of(FisherDiscriminant().fit(*TALL)))
    move(monkeypatch, Fewer, "separatrix.elsewhere")
    monkeypatch.setitem(names.PART_TYPES, "LinearRule", "elsewhere.Fewer")
    clear()
    message = "LinearRule has the fields coef, intercept, unit_length, but in this version weights"
    assert_rejected(tmp_path, content, message)


@pytest.mark.usefixtures("unasked")
def test_a_record_that_is_no_more_is_read_as_a_tuple(tmp_path, monkeypatch):
    model = FisherDiscriminant().fit(*TALL)
    separatrix.save(model, tmp_path / "a.model")
    monkeypatch.setitem(names.PART_TYPES, "LinearRule", "builtins.tuple")
    clear()
    again = load(tmp_path / "a.model")
    assert any(type(value) is tuple and len(value) == 3 for value in vars(again).values())


@pytest.mark.parametrize("name", ["separatrix.os", "separatrix.cli.console.Console"])
def test_a_name_outside_the_table_is_not_imported(name, tmp_path):
    bad = node("ObjectNode", name, content=node("DictNode", "builtins.dict", 2, content={}))
    content = wrapped(rewritten(FisherDiscriminant(), planted(bad)))
    assert_rejected(tmp_path, content, "rejected.*files have no name")
