"""Tables in files: the same rows from every format, and faults told by name."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline

from separatrix import FisherDiscriminant, datasets
from separatrix.files.preparation import encode_text, preprocessing, unseen_values
from separatrix.files.tables import check_label_column, find_row_numbers, read_table, same_features
from tests.files.tree_tables import FRAME, written


def test_columns_are_chosen_by_name(tmp_path):
    path = written(tmp_path, "csv")
    table = read_table(path, target="count", ignore=["kind"], keep=["kind", "count"])
    assert table.X.columns.tolist() == ["size"]
    assert table.y.tolist() == ["1", "2", "3", "5"]
    assert_array_equal(table.kept, FRAME[["kind", "count"]])
    assert table.kept["count"].dtype.kind == "i"


def test_labels_may_be_absent(tmp_path):
    path = written(tmp_path, "csv")
    assert read_table(path, labelled=None, target="kind").y.tolist() == FRAME["kind"].tolist()
    absent = read_table(path, labelled=None, target="other")
    assert absent.y is None
    assert absent.X.columns.tolist() == ["size", "count", "kind"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, 2], ["1", "2"]),
        ([1.0, 2.0], ["1", "2"]),
        ([True, False], ["True", "False"]),
        (["1", "x"], ["1", "x"]),
    ],
)
def test_labels_are_text(given, expected):
    text = pd.DataFrame({"a": [1, 2], "y": given}).to_csv(index=False).encode()
    assert read_table(io.BytesIO(text)).y.tolist() == expected


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("a,b\n", {}, "there are no rows in the table"),
        ("a,b\n1,x\n", {"target": "B"}, "no column 'B': did you mean 'b'"),
        ("a,kind\n1,x\n", {"target": "kinds"}, "did you mean 'kind'"),
        ("a,b\n1,x\n", {"ignore": ["zz"]}, "no column 'zz'; there are a, b"),
        ("a,b\n1,x\n", {"ignore": ["a,b"]}, "'a,b': repeat the option for each of 'a' and 'b'"),
        ("a,b\n1,x\n2,\n", {}, "'b' has no label in 1 of 2 rows, first in row 2"),
        ("a,b\n1,.5\n2,.7\n", {}, "'b' holds numbers such as 0.5, not classes"),
        ("1,2\n3,4\n", {}, "first line has numbers in place of names.*--no-header"),
        ("a;b\n1;x\n", {}, r"one name, 'a;b': is it separated by ';'\? Give --sep"),
        ("a,b\n1,x\n2,y,z\n", {}, "the table: line 3 has 3 values, but those before have 2"),
    ],
)
def test_faults_of_a_table_are_told(text, options, message):
    with pytest.raises(ValueError, match=message):
        read_table(io.BytesIO(text.encode()), **options)


# Features ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            {"a": ["x", "y", "x"]},
            {},
            r"1 of 1 columns are not numbers: 'a' \(2 values such as 'x'",
        ),
        (
            {"a": [*map(str, range(20)), "n.n."]},
            {},
            r"\(numbers except one that is 'n.n.': correct it, or leave the cell empty "
            r"for a gap\)\Z",
        ),
        (
            {"a": ["p1", "p2", "p2"]},
            {},
            r"leave them out: --id COL if it names the rows, in `compare` --group COL if several",
        ),
        ({"a": ["x", "y", "z"]}, {"categorical": "onehot"}, "'a' has another value in each of 3"),
        (
            {"a": [1.0, None, 2.0], "b": [None, 1.0, None]},
            {},
            "in 3 of 3 rows: 'a' 1, 'b' 2. Fill",
        ),
        ({"a": [None, None], "b": [1.0, 2.0]}, {"missing": "mean"}, "'a' is empty: leave it out"),
        ({"a": [1.0, np.inf]}, {"missing": "mean"}, "'a' has 1 infinite values"),
        (
            {"a": pd.to_datetime(["2020-01-01"] * 3)},
            {},
            r"dates such as '2020-01-01': leave them out \(--ignore a\)[^.]*\Z",
        ),
    ],
)
def test_features_no_method_can_take_are_told_with_remedies(columns, options, message):
    frame = pd.DataFrame(columns)
    if len(frame) == 2 and "b" in frame:
        frame = frame.astype(float)
    with pytest.raises(ValueError, match=message):
        preprocessing(frame, **options)


def mixed():
    return pd.DataFrame(
        {
            "a": [1.0, 2.0, np.nan, 5.0, 2.5, 7.0],
            "kind": ["x", "y", "x", None, "z", "x"],
            "b": [2.0, 1.0, 0.0, 1.0, 3.0, 2.0],
        }
    )


def test_steps_learn_from_training_rows_alone():
    X = mixed()
    steps = preprocessing(X, categorical="onehot", missing="median").fit(X[:5])
    Z = steps.transform(X)
    assert steps.get_feature_names_out().tolist() == ["a", "b", "kind_x", "kind_y", "kind_z"]
    filled = X["a"][:5].fillna(X["a"][:5].median())
    assert_allclose(Z[:5, 0], (filled - filled.mean()) / filled.std(ddof=0))
    assert_allclose(Z[5, 0], (7 - filled.mean()) / filled.std(ddof=0))
    assert Z[3, 2:].tolist() == [1, 0, 0]
    X.loc[5, "kind"] = "new"
    assert steps.transform(X)[5, 2:].tolist() == [0, 0, 0]


def test_steps_that_do_nothing_are_left_out():
    X = mixed()[["b"]]
    assert preprocessing(X, scale=False) is None
    assert type(preprocessing(X)).__name__ == "StandardScaler"
    assert type(preprocessing(X, scale=False, missing="mean")).__name__ == "SimpleImputer"


def test_rows_without_text_become_what_rows_with_text_become():
    """A comparison prepares its rows as a fit does, by the training part alone."""
    X = mixed()
    how = {"categorical": "onehot", "missing": "median"}
    rows, steps = encode_text(X, **how)
    assert rows["kind"].tolist()[:3] == [0, 1, 0]
    assert np.isnan(rows["kind"][3])
    by_name = preprocessing(X, **how).fit(X[:5])
    steps.fit(rows.to_numpy()[:5])
    assert_array_equal(steps.transform(rows.to_numpy()), by_name.transform(X))
    assert_array_equal(
        steps.get_feature_names_out(rows.columns), ["a", "b", "kind_x", "kind_y", "kind_z"]
    )
    fewer = encode_text(X, **how).steps.fit(rows.to_numpy()[:4])
    assert fewer.transform(rows.to_numpy())[4, 2:].tolist() == [0, 0]


def test_values_that_a_model_has_not_seen_are_counted():
    X = mixed()
    model = make_pipeline(preprocessing(X, categorical="onehot", missing="median")).fit(X)
    assert unseen_values(model, X) == {}
    X.loc[[1, 4], "kind"] = ["new", "newer"]
    (strange,) = unseen_values(model, X).items()
    assert strange[0] == "kind"
    assert strange[1].tolist() == ["new", "newer"]
    assert unseen_values(FisherDiscriminant(shrinkage=None), X) == {}


def test_columns_of_a_model_are_found_by_name():
    X = mixed()
    found = same_features(X[["kind", "b", "a"]].assign(more=1.0), ["a", "b"])
    assert found.columns.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"2 columns, of which 1 is missing here: 'aa'. Is 'a'"):
        same_features(X, ["aa", "b"])
    with pytest.raises(ValueError, match="'kind' holds numbers in the model; here: 3 values"):
        same_features(X, ["a", "kind"])
    for names in (["1", "2", "3"], ["1", "2", "red"]):
        with pytest.raises(
            ValueError, match="numbers in place of names: give the columns the nam"
        ):
            same_features(X.set_axis(names, axis=1), ["a"])


def test_labels_of_one_class_or_of_no_class_are_refused():
    with pytest.raises(ValueError, match="'y' has only the label 'a': nothing is"):
        check_label_column(np.array(["a", "a"]), "y")
    with pytest.raises(ValueError, match="another label in each of 3 rows"):
        check_label_column(np.array(["a", "b", "c"]), "y")
    check_label_column(np.array(["a", "b", "a"]), "y")


def test_columns_that_count_rows_are_noticed():
    frame = pd.DataFrame({"id": np.arange(7.0, 19.0), "a": np.ones(12), "b": np.r_[:6.0, :6.0]})
    assert find_row_numbers(frame) == ["id"]


# Fetching ------------------------------------------------------------------------------------


def test_fetching_without_a_network_says_so(monkeypatch):
    import sklearn.datasets

    def unreachable(*_, **__):
        raise OSError("Name or service not known")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    with pytest.raises(OSError, match=r"'glass' cannot be fetched from openml.org: .*bundled"):
        datasets.fetch("glass")


def test_a_fetched_set_is_like_a_bundled_one(monkeypatch):
    import sklearn.datasets
    from sklearn.utils import Bunch

    asked = {}

    def local(name, **options):
        asked.update(options, name=name)
        frame = FRAME[["size", "count"]]
        return Bunch(data=frame, target=FRAME["kind"], feature_names=list(frame), DESCR="trees")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", local)
    bunch = datasets.fetch("trees", folder="somewhere")
    assert asked["name"] == "trees"
    assert asked["data_home"] == "somewhere"
    assert bunch.data.shape == (4, 2)
    assert bunch.target.tolist() == FRAME["kind"].tolist()
    model = make_pipeline(FisherDiscriminant(shrinkage=None)).fit(bunch.data, bunch.target)
    assert model.score(bunch.data, bunch.target) >= 0.5
