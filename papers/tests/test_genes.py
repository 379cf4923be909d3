"""Gene expression has samples in columns in its files, and in rows here."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import Bunch

from separatrix_papers import originals
from separatrix_papers.originals import load_original

TRAIN, TEST = np.arange(6.0).reshape(3, 2), np.array([[7.0, 8.0, 9.0], [1.0, 2.0, 3.0]]).T


def test_cancers_of_the_book_are_turned(tmp_path):
    for end, X, y in (("train", TRAIN, "1 2 14"), ("test", TEST, "2 3\n1")):
        np.savetxt(tmp_path / f"14cancer.x{end}", X.T)
        (tmp_path / f"14cancer.y{end}").write_text(y)
    found = load_original("gcm", tmp_path)
    np.testing.assert_array_equal(found.X_train, TRAIN)
    np.testing.assert_array_equal(found.X_test, TEST)
    assert found.y_train.tolist() == [1, 2, 14]
    assert found.y_test.tolist() == [2, 3, 1]
    (tmp_path / "14cancer.ytest").write_text("2 3")
    with pytest.raises(ValueError, match=r"has 3 samples, .*14cancer.ytest 2 labels"):
        load_original("gcm", tmp_path)


def test_cancers_of_the_institute_have_a_call_beside_each_value(tmp_path):
    for end, X, y in (("Training", TRAIN, "0 1 13"), ("Test", TEST, "1 2 0")):
        lines = [
            "Description\tAccession\ta\t\tb\t\tc\t",
            "\tscale\t\tscale\t\tscale",
            str(X.shape[1]),
        ]
        for j, gene in enumerate(X.T):
            pairs = "\t".join(f"{value:g}\tP" for value in gene)
            lines.append(f"gene {j}\tg{j}\t{pairs}")
        (tmp_path / f"GCM_{end}.res").write_text("\n".join(lines) + "\n")
        (tmp_path / f"GCM_{end}.cls").write_text(f"3 14 1\n# a b c\n{y}\n")
    found = load_original("gcm", tmp_path)
    np.testing.assert_array_equal(found.X_train, TRAIN)
    np.testing.assert_array_equal(found.X_test, TEST)
    assert found.y_train.tolist() == [0, 1, 13]


def test_cell_lines_and_phonemes_are_read_as_published(tmp_path):
    (tmp_path / "nci.data.csv").write_text('"","1","2","3"\n"1",0,2,4\n"2",1,3,5\n')
    (tmp_path / "nci.label.txt").write_text("CNS\nRENAL \nCNS\n")
    found = load_original("nci60", tmp_path)
    np.testing.assert_array_equal(found.X, TRAIN)
    assert found.y.tolist() == ["CNS", "RENAL", "CNS"]
    heading = "row.names,x.1,x.2,g,speaker\n"
    (tmp_path / "phoneme.data").write_text(heading + "1,0.5,2,sh,train.a\n2,1,-3,iy,train.b\n")
    found = load_original("phoneme", tmp_path)
    assert found.X.tolist() == [[0.5, 2.0], [1.0, -3.0]]
    assert found.y.tolist() == ["sh", "iy"]


def test_news_come_from_the_folder_into_which_they_were_fetched(tmp_path, monkeypatch):
    asked = []

    def fetch_rcv1(**options):
        asked.append(options)
        target = sp.csr_array(np.array([[1, 0], [0, 1], [1, 1]]))
        return Bunch(data=sp.csr_array(TRAIN), target=target, target_names=np.array(["A", "CCAT"]))

    monkeypatch.setattr(originals, "fetch_rcv1", fetch_rcv1)
    (tmp_path / "RCV1").mkdir()
    found = load_original("rcv1_ccat", tmp_path)
    np.testing.assert_array_equal(found.X.toarray(), TRAIN)
    assert found.y.tolist() == [-1, 1, 1]
    assert [o["download_if_missing"] for o in asked] == [False]
    assert [o["data_home"] for o in asked] == [str(tmp_path)]
