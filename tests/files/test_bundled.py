"""Data sets that come with scikit-learn."""

from __future__ import annotations

import pytest

from separatrix.files.bundled import BUNDLED, load_bundled


@pytest.mark.parametrize("name", BUNDLED)
def test_labels_are_names(name):
    bunch = load_bundled(name)
    assert len(bunch.target) == len(bunch.data)
    assert set(bunch.target) == set(bunch.target_names)


def test_other_names_are_answered_by_the_list():
    with pytest.raises(ValueError, match="no bundled data set 'whine': there are breast_cancer, "):
        load_bundled("whine")
