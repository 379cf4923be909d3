"""Names of types in model files: all of them exist, and every fitted attribute is declared."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from separatrix.files.names import PART_TYPES, SCIKIT_LEARN, declared, find_name, find_type
from tests.discovery import TALL, all_estimators, name_of

NAMES = [*PART_TYPES, *(f"sklearn.{name}" for name in SCIKIT_LEARN), "LDG", "ClassMoments"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_leads_to_a_type_and_back(name):
    kind = find_type(name)
    assert kind is not None
    assert find_name(kind) == name


@pytest.mark.parametrize("name", ["datasets", "nothing", "sklearn.SVC", "sklearn", "", "os.path"])
def test_other_names_lead_nowhere(name):
    assert find_type(name) is None


@pytest.mark.parametrize("kind", [str, dict, pytest.Item, type(clone)])
def test_other_types_have_no_name(kind):
    assert find_name(kind) is None


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
@pytest.mark.filterwarnings("ignore")
def test_fitted_attributes_are_declared_in_the_body_of_the_class(estimator):
    model = clone(estimator).fit(*TALL)
    assert set(vars(model)) <= declared(type(model))


def test_settings_of_a_class_are_no_attributes():
    assert not any("allowed" in name for name in declared(find_type("LDG")))
