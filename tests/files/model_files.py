"""Model files for tests: models to write, and files with any content and a right checksum."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from separatrix import (
    OnlineIPCAC,
    load,
    save,
)
from separatrix.files import model as models
from tests.discovery import labelled

NAMES = np.array(["ash", "birch", "cedar"])


def saved_and_loaded(model, tmp_path):
    save(model, tmp_path / "a.model")
    return load(tmp_path / "a.model")


def assert_answers_alike(a, b, X):
    for ask in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(a, ask):
            assert_array_equal(getattr(a, ask)(X), getattr(b, ask)(X), strict=True)
    if hasattr(a, "get_feature_names_out") and not hasattr(a, "steps"):
        assert_array_equal(a.get_feature_names_out(), b.get_feature_names_out())


def mixed_table():
    X, y = labelled(60, 3)
    table = pd.DataFrame(X, columns=list("abc"))
    table["kind"] = np.array(["u", "v", "w"])[np.arange(60) % 3]
    table.loc[4, "a"] = np.nan
    return table, y


def around(model):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    kinds = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = ColumnTransformer([("numbers", numbers, list("abc")), ("kinds", kinds, ["kind"])])
    return make_pipeline(columns, model)


def pipeline_file():
    """The bytes of a file with a pipeline around a model with a window."""
    table, y = mixed_table()
    return models.pack_file(around(OnlineIPCAC(window=20)).fit(table, NAMES[y]), {"a": 1})


def assert_rejected(tmp_path, content, message):
    path = tmp_path / "bad.model"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def unpacked(content):
    """The header and the other entries of a model file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(entries.pop("model.json")), entries


def packed(header, entries, compression=zipfile.ZIP_STORED):
    """A file with any content and the right checksum: everyone can compute it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        archive.writestr("model.json", text, zipfile.ZIP_STORED)
        for name, content in entries.items():
            archive.writestr(name, content)
        archive.comment = b"separatrix model %06d %s" % (models.MODEL_FORMAT, b"0" * 64)
    return signed(out.getvalue())


def signed(content):
    """The same bytes with the checksum made right, where there is one."""
    return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()


def rewritten(model, change=None, *, entries=None):
    """A file of a model with its header changed, and entries added or replaced."""
    header, parts = unpacked(models.pack_file(model, {}))
    if change is not None:
        header = change(header) or header
    return packed(header, {**parts, **(entries or {})})


def planted(bad, name="n_components"):
    """Put a node in the place of an attribute."""

    def change(header):
        [attributes] = header["model"].values()
        attributes[name] = bad

    return change
