"""Models of older formats, brought to today's form."""

from __future__ import annotations

import pytest

from separatrix import EarlyClassifier, FisherDiscriminant
from separatrix.files import migrations
from separatrix.files.models import MODEL_FORMAT, OLDEST_FORMAT, pack_file
from tests.discovery import TALL
from tests.files.model_files import assert_rejected


def test_every_format_before_this_one_has_a_migration():
    assert list(migrations.MIGRATIONS) == list(range(OLDEST_FORMAT, MODEL_FORMAT))


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
