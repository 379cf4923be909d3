"""Proteins in FASTA files."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix.features.proteins import protein_features
from separatrix.files.fasta import is_protein_source, iter_proteins
from separatrix.files.mails import is_mail_source
from separatrix.files.tables import read_table


def test_entries_with_labels_in_headers(tmp_path):
    path = tmp_path / "p.fasta"
    path.write_text(">sp|P1|nucleus\nMKV\nLA*\n\n>P2 | cytoplasm; nucleus\nMMM\n")
    found = list(iter_proteins(path))
    assert [tuple(p) for p in found] == [
        ("sp|P1", "nucleus", "MKVLA"),
        ("P2", "cytoplasm; nucleus", "MMM"),
    ]
    table = read_table(path, keep=["name"])
    assert table.kept["name"].tolist() == ["sp|P1", "P2"]
    assert table.target == "kind"
    np.testing.assert_array_equal(table.X.to_numpy(), protein_features(["MKVLA", "MMM"]))


def test_a_file_for_each_class(tmp_path):
    (tmp_path / "nucleus.fasta").write_text(">a\nMKV\n>b\nMKL\n")
    (tmp_path / "golgi.fa").write_text(">c\nMMM\n")
    assert is_protein_source(tmp_path)
    assert not is_mail_source(tmp_path)
    assert read_table(tmp_path).y.tolist() == ["golgi", "nucleus", "nucleus"]


def test_unknown_residues_are_named_or_left_out(tmp_path):
    path = tmp_path / "p.fasta"
    path.write_text(">a|x\nMKV\n>b|y\nMXV\n>c|y\nMAV\n")
    with pytest.raises(ValueError, match="protein 'b': residue 'X' at place 2"):
        read_table(path)
    table = read_table(path, skip_bad=True)
    assert (table.y.tolist(), table.skipped) == (["x", "y"], ("b",))
    path.write_text("MKV\n")
    with pytest.raises(ValueError, match="line 1 comes before the first header"):
        read_table(path)
    path.write_text("")
    with pytest.raises(ValueError, match="has no proteins"):
        read_table(path)
