"""Data sets in the files in which they are published, written here as their publishers do."""

from __future__ import annotations

import gzip
import mailbox

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from separatrix.files.mails import message_text
from separatrix_papers import originals
from separatrix_papers.originals import MissingData, load_original, read_messages


def put(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_lines_of_values_with_the_label_last(tmp_path):
    put(tmp_path, "sonar.all-data", "0.1,0.2,R\n0.3,0.4,M\n\n")
    bunch = load_original("sonar", tmp_path)
    assert_array_equal(bunch.X, [[0.1, 0.2], [0.3, 0.4]])
    assert bunch.y.tolist() == ["R", "M"]


def test_missing_values_become_nan_and_whole_labels_integers(tmp_path):
    put(tmp_path, "uci/dermatology.data", "2,?,1\n0,35,3\n")
    bunch = load_original("dermatology", tmp_path)
    assert_array_equal(bunch.X, [[2, np.nan], [0, 35]])
    assert bunch.y.dtype.kind == "i"
    put(tmp_path, "processed.hungarian.data", "28,?,0\n29,120,1\n")
    bunch = load_original("heart_hungarian", tmp_path)
    assert_array_equal(bunch.X_m9, [[28, -9], [29, 120]])


def test_labels_are_named_and_may_come_first(tmp_path):
    put(tmp_path, "heart.dat", "70.0 1.0 2\n67.0 0.0 1\n")
    assert load_original("heart_statlog", tmp_path).y.tolist() == ["present", "absent"]
    put(tmp_path, "wine.data", "1,14.23,1.71\n3,13.2,1.78\n")
    bunch = load_original("wine", tmp_path)
    assert_array_equal(bunch.X, [[14.23, 1.71], [13.2, 1.78]])
    assert bunch.y.tolist() == [1, 3]
    head = "names\n\na,b\n\n\n"
    put(tmp_path, "segmentation.data", head + "SKY,1,2\n")
    put(tmp_path, "segmentation.test", head + "GRASS,3,4\n")
    bunch = load_original("image_segmentation", tmp_path)
    assert bunch.y.tolist() == ["sky", "grass"]
    assert_array_equal(bunch.X, [[1, 2], [3, 4]])
    put(tmp_path, "sat.trn", "92 115 3\n84 102 7\n")
    put(tmp_path, "sat.tst", "80 102 1\n")
    assert load_original("satimage", tmp_path).y.tolist() == [
        "grey soil",
        "very damp grey soil",
        "red soil",
    ]


def test_text_becomes_ranks(tmp_path):
    put(tmp_path, "german.data", "A11 6 A410 1\nA14 48 A43 2\nA12 12 A40 1\n")
    put(tmp_path, "german.data-numeric", " 1 6 4 1\n 2 48 2 2\n 4 12 4 1\n")
    bunch = load_original("german_credit", tmp_path)
    assert_array_equal(bunch.X, [[0, 6, 2], [2, 48, 1], [1, 12, 0]])
    assert_array_equal(bunch.X24, [[1, 6, 4], [2, 48, 2], [4, 12, 4]])
    assert bunch.X_str[0].tolist() == ["A11", "6", "A410"]


def test_sequences_of_letters(tmp_path):
    put(tmp_path, "splice.data", "EI,  ATRINS-1,   ACGT\nN, OTHER-2, TTDN\n")
    bunch = load_original("splice", tmp_path)
    assert_array_equal(bunch.X, [[1, 2, 3, 4], [4, 4, 5, 6]])
    assert_array_equal(bunch.X_onehot[0].reshape(4, 4), np.eye(4))
    assert bunch.X_onehot[1].sum() == 2
    assert bunch.y.tolist() == ["EI", "N"]


def test_sparse_rows_with_labels_in_a_file_of_their_own(tmp_path):
    put(tmp_path, "dexter_train.data", "3:7 20000:2\n1:5\n")
    put(tmp_path, "dexter_train.labels", "1\n-1\n")
    put(tmp_path, "dexter_valid.data", "2:9\n")
    put(tmp_path, "dexter_valid.labels", "-1\n")
    bunch = load_original("dexter", tmp_path)
    assert bunch.X.shape == (3, 20000)
    assert [bunch.X[0, 2], bunch.X[0, 19999], bunch.X[1, 0], bunch.X[2, 1]] == [7, 2, 5, 9]
    assert bunch.X.nnz == 4
    assert bunch.y.tolist() == [1, -1, -1]


def test_packed_files_with_a_split(tmp_path):
    (tmp_path / "zip.train.gz").write_bytes(gzip.compress(b"6.0000 -1.0 0.5 \n5.0000 1.0 0.0 \n"))
    put(tmp_path, "zip.test", "9 -1 0\n")
    bunch = load_original("usps", tmp_path)
    assert_array_equal(bunch.X_train, [[-1, 0.5], [1, 0]])
    assert bunch.y_train.tolist() == [6, 5]
    assert bunch.y_test.tolist() == [9]


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".tsv", "1\t0.5\t-1\t2\n2\t1\tNaN\t0\n"),
        (".txt", "  1.0000000e+00   5.0e-01  -1.0   2\n  2.0000000e+00  1 NaN 0\n"),
        ("", "1,0.5,-1,2\n2,1,NaN,0\n"),
        (".ts", "#about\n@problemName x\n@data\n0.5,-1,2:1\n1,?,0:2\n"),
        (
            ".arff",
            "@relation x\n@attribute a real\n@attribute b real\n@attribute c real\n"
            "@attribute t {1,2}\n@data\n0.5,-1,2,1\n1,?,0,2\n",
        ),
    ],
)
def test_series_of_every_version_of_the_archive(tmp_path, ending, text):
    for part in ("TRAIN", "TEST"):
        put(tmp_path, f"Waves/Waves_{part}{ending}", text)
    bunch = load_original("ucr_Waves", tmp_path)
    assert_array_equal(bunch.X_train, [[0.5, -1, 2], [1, np.nan, 0]])
    assert bunch.y_test.tolist() == [1, 2]
    assert bunch.y_test.dtype.kind == "i"


def test_series_of_unlike_lengths_end_with_nan(tmp_path):
    put(tmp_path, "a.ts", "@data\n1,2,3:up\n4:down\n")
    X, y = originals.read_series(tmp_path / "a.ts")
    assert_array_equal(X, [[1, 2, 3], [4, np.nan, np.nan]])
    assert y.tolist() == ["up", "down"]
    put(tmp_path, "b.ts", "@data\n1,2:3,4:up\n")
    with pytest.raises(ValueError, match="series of several dimensions"):
        originals.read_series(tmp_path / "b.ts")


def test_tables_serve_for_sets_without_files_of_their_own(tmp_path):
    put(tmp_path, "mine.arff", "@relation m\n@attribute w real\n@attribute h {low,high}\n"
        "@attribute kind {a,b}\n@data\n1.5,low,a\n2,high,b\n")  # fmt: skip
    bunch = load_original("mine", tmp_path)
    assert_array_equal(bunch.X, [[1.5, 0], [2, 1]])
    assert bunch.y.tolist() == ["a", "b"]
    put(tmp_path, "other.csv", "w,kind\n1,x\n2,y\n")
    assert load_original("other", tmp_path).y.tolist() == ["x", "y"]


def test_e_mails_of_folders_maildirs_and_mboxes(tmp_path):
    corpus = tmp_path / "spamassassin"
    put(corpus, "easy_ham/0001.abc", "Subject: hello\n\nsee you")
    put(corpus, "easy_ham/cmds", "mv a b")
    put(corpus, "hard_ham/0001.abc", "Subject: list\n\nweekly")
    box = mailbox.mbox(corpus / "spam.mbox")
    box.add(b"Subject: buy\n\ncheap\n")
    box.add(b"Subject: win\n\nmoney\n")
    box.close()
    folder = mailbox.Maildir(corpus / "spam_2")
    folder.add(b"Subject: click\n\nhere\n")
    bunch = load_original("spamassassin", tmp_path)
    assert bunch.y.tolist() == ["ham", "ham", "spam", "spam", "spam"]
    texts = [message_text(message) for message in bunch.messages]
    assert texts == ["hello\nsee you", "list\nweekly", "buy\ncheap", "win\nmoney", "click\nhere"]
    with pytest.raises(ValueError, match="needs e-mails of two kinds"):
        read_messages(corpus / "spam_2")


def test_text_of_mails_that_break_rules():
    both = (
        b"Subject: =?utf-8?q?gr=C3=BC=C3=9Fe?=\nMIME-Version: 1.0\n"
        b"Content-Type: multipart/alternative; boundary=x\n\n"
        b"--x\nContent-Type: text/plain\n\nplain words\n"
        b"--x\nContent-Type: text/html\n\n<p>html</p>\n--x--\n"
    )
    assert message_text(both) == "grüße\nplain words"
    odd = b"Subject: odd\nContent-Type: text/plain; charset=no-such\n\nwords \xff here"
    assert message_text(odd).startswith("odd\nwords")
    assert message_text(b"") == ""


def test_arrays_are_found_first_and_put_together(tmp_path):
    put(tmp_path, "sonar.all-data", "0.1,0.2,R\n0.3,0.4,M\n")
    np.savez(tmp_path / "sonar.npz", X=np.eye(3, dtype="f4"), y=[0, 1, 1])
    assert load_original("sonar", tmp_path).X.shape == (3, 3)
    assert load_original("sonar", tmp_path).X.dtype == float
    X = sp.random_array((4, 6), density=0.5, random_state=0, format="csr")
    np.savez(
        tmp_path / "a.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=[1]
    )
    assert_array_equal(load_original("a", tmp_path).X.toarray(), X.toarray())
    data = np.frombuffer(b"onethree", dtype="u1")
    np.savez(tmp_path / "b.npz", data=data, offsets=[0, 3, 8], y=["ham", "spam"])
    assert load_original("b", tmp_path).messages == [b"one", b"three"]


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingData, match=r"'sonar' is needed.*sonar.npz, or sonar.all-data as"):
        load_original("sonar", tmp_path)
    with pytest.raises(MissingData, match=r"Waves_TRAIN.tsv and Waves_TEST.tsv as published"):
        load_original("ucr_Waves", None)
    assert load_original("wine", tmp_path).X.shape == (178, 13)
    put(tmp_path, "ionosphere.data", "1,2,g\n1,b\n")
    with pytest.raises(ValueError, match="row 2 has 2 values, the first one has 3"):
        load_original("ionosphere", tmp_path)
    put(tmp_path, "ionosphere.data", "\n")
    with pytest.raises(ValueError, match="has no values with labels"):
        load_original("ionosphere", tmp_path)


def test_files_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "sonar.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"'sonar' in .* cannot be read: it is damaged"):
        originals.load_original("sonar", tmp_path)
    for part in ("TRAIN", "TEST"):
        (tmp_path / f"GunPoint_{part}.tsv").write_text("1\t0.5\tx\n2\t0.5\t1\n")
    with pytest.raises(ValueError, match=r"'ucr_GunPoint' in .* cannot be read: could not"):
        originals.load_original("ucr_GunPoint", tmp_path)


def test_sparse_rows_without_values_keep_their_labels(tmp_path):
    (tmp_path / "rows").write_text("3:2\n\n1:1\n")
    (tmp_path / "labels").write_text("1\n-1\n1\n")
    found = originals.read_sparse([tmp_path / "rows", tmp_path / "labels"], n_features=4)
    assert found.X.toarray().tolist() == [[0, 0, 2, 0], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert found.y.tolist() == [1, -1, 1]
    (tmp_path / "labels").write_text("1\n-1\n")
    with pytest.raises(ValueError, match=r"rows has 3 rows, .*labels 2 labels"):
        originals.read_sparse([tmp_path / "rows", tmp_path / "labels"], n_features=4)
