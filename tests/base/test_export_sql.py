"""A model as a query gives the scores and the predictions of the model, in three engines."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import FisherDiscriminant, export
from tests.base.living import shuffled
from tests.moments.databases import ENGINES, connect_to, fill, running_postgres


@pytest.fixture(scope="module")
def postgres():
    with running_postgres() as address:
        yield address


@pytest.fixture(params=ENGINES)
def engine(request):
    address = request.getfixturevalue("postgres") if request.param == "postgresql" else None
    opened = connect_to(request.param, address)
    yield request.param, opened
    opened.close()


def run(engine, model, frame, folder, table="rows"):
    """Rows with their scores, as the query of a model gives them."""
    name, connection = engine
    frame = frame.assign(number=np.arange(len(frame)))
    fill(connection, table, frame)
    export(model, folder / "model.sql", dialect=name, table=table)
    cursor = connection.cursor()
    cursor.execute((folder / "model.sql").read_text(encoding="utf-8"))
    columns = [column[0] for column in cursor.description]
    rows = pd.DataFrame(cursor.fetchall(), columns=columns).sort_values("number")
    return rows.reset_index(drop=True)


def rows_and_labels(n_classes, d=5):
    X, y = shuffled(150, d, n_classes)
    names = ['a"; DROP TABLE rows; --', "b", "größe", "d e", "select"]
    names += [f"x{i}" for i in range(d - 5)]
    X[:, 0] += 1e4
    return pd.DataFrame(X, columns=names), np.array(["ash", "o'hare", "cedar"])[y]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_scores_and_predictions_are_those_of_the_model(engine, n_classes, scaled, tmp_path):
    X, y = rows_and_labels(n_classes)
    model = FisherDiscriminant(shrinkage=None)
    model = (make_pipeline(StandardScaler(), model) if scaled else model).fit(X, y)
    found = run(engine, model, X, tmp_path, table='my "rows"')
    assert_array_equal(found["prediction"], model.predict(X))
    scores = found[[f"score_{label}" for label in model.classes_]].to_numpy()
    scores = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
    expected = model.decision_function(X)
    assert_allclose(scores, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("labels", [[0, 1], [1.0, 2.0], [False, True]])
def test_labels_that_are_no_text(engine, labels, tmp_path):
    X, y = rows_and_labels(2)
    y = np.array(labels)[(y == "ash").astype(int)]
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    found = run(engine, model, X, tmp_path)["prediction"]
    assert_array_equal(found.astype(float), model.predict(X).astype(float))


def test_gaps_are_filled_as_by_the_model_or_have_no_prediction(engine, tmp_path):
    X, y = rows_and_labels(3)
    plain = FisherDiscriminant(shrinkage=None).fit(X, y)
    holes = X.astype(object).mask(np.random.default_rng(0).random(X.shape) < 0.1, None)
    filling = make_pipeline(
        SimpleImputer(), StandardScaler(), FisherDiscriminant(shrinkage=None)
    ).fit(X, y)
    fill(engine[1], "numbers", X.iloc[:1])  # of these types
    numbers = holes.astype(float).where(holes.notna(), None)
    export(filling, tmp_path / "filling.sql", dialect=engine[0], table="numbers")
    connection = engine[1]
    cursor = connection.cursor()
    mark = "%s" if engine[0] == "postgresql" else "?"
    cursor.execute("DELETE FROM numbers")
    rows = [
        tuple(None if pd.isna(v) else float(v) for v in row)
        for row in numbers.itertuples(index=False)
    ]
    cursor.executemany(f"INSERT INTO numbers VALUES ({', '.join([mark] * 5)})", rows)
    cursor.execute((tmp_path / "filling.sql").read_text(encoding="utf-8"))
    found = pd.DataFrame(cursor.fetchall(), columns=[c[0] for c in cursor.description])
    expected = filling.predict(found[X.columns].astype(float))
    assert_array_equal(found["prediction"], expected)
    export(plain, tmp_path / "plain.sql", dialect=engine[0], table="numbers")
    cursor.execute((tmp_path / "plain.sql").read_text(encoding="utf-8"))
    found = pd.DataFrame(cursor.fetchall(), columns=[c[0] for c in cursor.description])
    gap = found[X.columns].isna().any(axis=1)
    assert found["prediction"][gap].isna().all()
    assert 10 < gap.sum() < 140
    assert_array_equal(found["prediction"][~gap], plain.predict(found[X.columns][~gap]))


def test_not_a_number_is_a_gap(engine, tmp_path):
    X, y = rows_and_labels(2)
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    X.iloc[0, 1] = np.nan
    found = run(engine, model, X, tmp_path)["prediction"]
    assert found.isna()[0]
    assert not found[1:].isna().any()


def test_text_in_a_column_of_sqlite_is_a_gap(tmp_path):
    X, y = rows_and_labels(2)
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    connection = sqlite3.connect(":memory:")
    fill(connection, "rows", X)
    connection.execute("UPDATE rows SET b = '12a' WHERE rowid = 1")
    export(model, tmp_path / "a.sql", dialect="sqlite")
    found = pd.read_sql((tmp_path / "a.sql").read_text("utf-8"), connection)["prediction"]
    connection.close()
    assert found.isna()[0]
    assert_array_equal(found[1:], model.predict(X)[1:])


def test_many_features(tmp_path):
    X, y = rows_and_labels(2, d=1500)
    model = FisherDiscriminant(shrinkage=0.1).fit(X, y)
    duckdb = pytest.importorskip("duckdb").connect()
    duckdb.register("wide", X)
    export(model, tmp_path / "a.sql", table="wide")
    found = duckdb.execute((tmp_path / "a.sql").read_text("utf-8")).df()["prediction"]
    assert_array_equal(found, model.predict(X))
    duckdb.close()


def test_what_only_a_query_can_do(tmp_path):
    X, y = rows_and_labels(2)
    model = make_pipeline(SimpleImputer(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    with pytest.raises(ValueError, match="fills gaps before its linear part"):
        export(model, tmp_path / "a.json")
    with pytest.raises(ValueError, match="dialect='oracle' is not valid"):
        export(model, tmp_path / "a.sql", dialect="oracle")
