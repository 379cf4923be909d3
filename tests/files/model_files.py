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
from separatrix.files import models
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


def wrapped(archive):
    """A file with the right checksum around any archive: everyone can compute it."""
    return signed(json.dumps({"versions": {}, "notes": {}}).encode() + b"\n" + archive)


def signed(content):
    title = f"separatrix model {models.MODEL_FORMAT} {len(content)}".encode()
    return title + b" %s\n" % hashlib.sha256(title + content).hexdigest().encode() + content


def archive_of(model):
    return models.pack_file(model, {}).split(b"\n", 2)[2]


def rewritten(model, change=None, *, entries=None, compression=zipfile.ZIP_STORED):
    """The archive of a model with its schema changed and entries added or replaced."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive_of(model))) as old,
        zipfile.ZipFile(out, "w", compression) as new,
    ):
        parts = {name: old.read(name) for name in old.namelist()}
        schema = json.loads(parts["schema.json"])
        if change is not None:
            schema = change(schema) or schema
        parts["schema.json"] = json.dumps(schema).encode()
        for name, content in {**parts, **(entries or {})}.items():
            new.writestr(name, content)
    return out.getvalue()


FREE = 10**6
"""Objects of models in tests have lower numbers: a node of a test is none of them."""


def node(loader, name, identity=1, **more):
    module, _, kind = name.rpartition(".")
    return {
        "__loader__": loader,
        "__module__": module,
        "__class__": kind,
        "__id__": FREE + identity if isinstance(identity, int) else identity,
        **more,
    }


def planted(bad):
    """Put a node in the place of a parameter."""

    def change(schema):
        schema["content"]["content"]["n_components"] = bad

    return change
