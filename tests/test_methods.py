"""Names and aliases of methods."""

from __future__ import annotations

import pytest

import separatrix
from separatrix import methods


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lda", "FisherDiscriminant"),
        ("LDG", "LDG"),
        ("k-ldg", "KernelLDG"),
        ("PLS-DA", "PartialLeastSquaresDiscriminant"),
        ("pls_da", "PartialLeastSquaresDiscriminant"),
        ("MMDA", "MarginMaximizingDiscriminant"),
        ("wsvda", "WithinSupportVectorDiscriminant"),
        ("k-tipcac", "KernelIPCAC"),
        ("svm+ica", "SupportVectorICA"),
        ("fisherdiscriminant", "FisherDiscriminant"),
    ],
)
def test_methods_are_found_by_any_of_their_names(name, expected):
    assert methods.find(name) is getattr(separatrix, expected)


def test_an_alias_means_one_method_and_aliases_are_of_public_names():
    named = [alias for names in methods.OTHER_NAMES.values() for alias in names.split()]
    assert len(named) == len(set(named))
    assert set(methods.OTHER_NAMES) <= set(separatrix.__all__)
    own = {name.lower() for name in separatrix.__all__}
    assert not own & set(named)


@pytest.mark.parametrize(("name", "words"), [("wsvd", "did you mean 'wsvda'"), ("qqq", "not a")])
def test_unknown_names_are_refused_with_the_nearest(name, words):
    with pytest.raises(ValueError, match=words):
        methods.find(name)
