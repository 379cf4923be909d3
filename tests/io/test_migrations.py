"""Models of older formats, brought to today's form."""

from __future__ import annotations

import pytest

from separatrix import EarlyClassifier, FisherDiscriminant, load, save
from separatrix.io import migrations
from separatrix.io.models import MODEL_FORMAT, OLDEST_FORMAT, pack_file
from tests.discovery import TALL
from tests.io.model_files import DATA, assert_rejected


def test_every_format_before_this_one_has_a_migration():
    assert list(migrations.MIGRATIONS) == list(range(OLDEST_FORMAT, MODEL_FORMAT))


@pytest.mark.usefixtures("unasked")
def test_a_migration_sees_every_part_of_older_files_and_none_of_new_ones(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setitem(migrations.MIGRATIONS, 1, lambda part: seen.append(type(part).__name__))
    load(DATA / "format1_parts.model")
    assert {"FisherDiscriminant", "SlidingWindow", "ClassMoments", "LocalQDA", "LDG"} <= set(seen)
    assert "StandardScaler" not in seen
    seen.clear()
    save(FisherDiscriminant().fit(*TALL), tmp_path / "a.model")
    load(tmp_path / "a.model")
    assert seen == []


@pytest.mark.usefixtures("unasked")
def test_a_migration_changes_the_model(monkeypatch):
    def rename(part):
        if isinstance(part, FisherDiscriminant) and "components_" in vars(part):
            vars(part)["_former"] = vars(part).pop("components_")

    monkeypatch.setitem(migrations.MIGRATIONS, 1, rename)
    assert "_former" in vars(load(DATA / "format1_parts.model")["window"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("estimator"), "EarlyClassifier lacks estimator, parameters of"),
        (lambda state: state.update(power=2), "EarlyClassifier has power, which is no parameter"),
    ],
    ids=["missing", "unknown"],
)
def test_other_parameters_than_those_of_this_version_are_named(change, message, tmp_path):
    model = EarlyClassifier(FisherDiscriminant()).fit(*TALL)
    change(vars(model))
    assert_rejected(tmp_path, pack_file(model, {}), message)
