"""Values that a parameter may have, and the words for those it may not."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from separatrix.base.parameters import (
    YES_OR_NO,
    array_like,
    check_parameters,
    one_of,
    real_number,
    whole_number,
)

CASES = {
    "one of": (one_of(None, "auto"), [None, "auto"], ["best", 0, np.ones(2)]),
    "whole": (whole_number(1), [1, np.int64(7)], [0, 1.0, True, "1", None]),
    "real": (real_number(0, 1), [0, 1, 0.5, np.float32(0.5)], [-0.1, 1.1, True, np.nan, "a"]),
    "open": (real_number(0, open_low=True), [1e-9, 1e9], [0, -1]),
    "array": (array_like(), [[1, 2], np.ones(2)], ["ab", 3, None]),
    "flag": (YES_OR_NO, [True, np.bool_(False)], [0, 1, None]),
}
every_case = pytest.mark.parametrize(("allowed", "good", "bad"), CASES.values(), ids=CASES)


@every_case
def test_a_value_is_allowed_or_not(allowed, good, bad):
    assert all(allowed.test(value) for value in good)
    assert not any(allowed.test(value) for value in bad)


@every_case
def test_examples_are_allowed(allowed, good, bad):
    assert all(allowed.test(value) for value in allowed.examples)


def test_the_error_has_the_name_the_value_and_the_remedy():
    class Method(BaseEstimator):
        def __init__(self, depth=3):
            self.depth = depth

    allowed = {"depth": (one_of(None, "auto"), whole_number(1))}
    check_parameters(Method("auto"), allowed)
    with pytest.raises(ValueError, match="depth=0 is not valid for Method") as e:
        check_parameters(Method(0), allowed)
    assert str(e.value).endswith("None or 'auto', or a whole number of at least 1")
