"""Features of proteins have known values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.features.proteins import (
    PROPERTIES,
    RESIDUES,
    composition,
    dipeptides,
    encode_residues,
    name_protein_features,
    protein_features,
    pseudo_composition,
)


def test_shares_are_counted_and_sum_to_one():
    codes = encode_residues("AACA")
    assert composition(codes)[:2].tolist() == [0.75, 0.25]
    found = dict(zip(name_protein_features(), protein_features(["AACA"])[0], strict=True))
    assert (found["AA"], found["AC"], found["CA"], found["CC"]) == (1 / 3, 1 / 3, 1 / 3, 0)
    sequence = "".join(np.random.default_rng(0).choice(list(RESIDUES), 300))
    codes = encode_residues(sequence)
    assert_allclose([composition(codes).sum(), dipeptides(codes).sum()], 1)
    assert_array_equal(encode_residues(sequence.lower()), codes)


def test_distant_correlations_are_those_of_the_definition():
    sequence = "MKVLAAGDE"
    table = {name: np.array(values) for name, values in PROPERTIES.items()}
    units = [(h - h.mean()) / h.std() for h in table.values()]
    for k in (1, 3):
        pairs = [(RESIDUES.index(a), RESIDUES.index(b)) for a, b in zip(sequence, sequence[k:])]  # noqa: B905
        expected = np.mean([np.mean([(h[b] - h[a]) ** 2 for h in units]) for a, b in pairs])
        assert_allclose(pseudo_composition(encode_residues(sequence))[k - 1], expected)
    assert_array_equal(pseudo_composition(encode_residues("MKV"))[2:], 0)


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_table_has_a_value_for_each_residue(name):
    assert len(PROPERTIES[name]) == 20
    by_letter = dict(zip(RESIDUES, PROPERTIES[name], strict=True))
    extremes = {"hydrophobicity": "IR", "hydrophilicity": "DW", "mass": "WG"}[name]
    assert by_letter[extremes[0]] == max(PROPERTIES[name])
    assert by_letter[extremes[1]] == min(PROPERTIES[name])


def test_unknown_residues_are_named():
    with pytest.raises(ValueError, match="residue 'X' at place 3 is none of the twenty"):
        encode_residues("MKX")
    with pytest.raises(ValueError, match="no residues"):
        encode_residues("")
