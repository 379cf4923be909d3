"""Tables and model files that are damaged or hostile: an error in words, or an answer."""

from __future__ import annotations

import copy
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

import separatrix
from separatrix import load
from separatrix.cli.program import program
from separatrix.files import model as models
from separatrix.files.columns import check_features
from separatrix.files.tables import read_table
from tests.files.model_files import rewritten, signed, unpacked
from tests.fuzz.checks import FindingError, observed, require

# Tables --------------------------------------------------------------------------------------

CELLS = (
    *("0", "1", "-2.5", "1e3", "7", "3.25", "12", "0.5"),
    *("", "NA", "nan", "inf", "-inf", "1e400", "0x1F", "1_000", "1,5", "--1", "٣", "true"),
    *('"', '""', '"a,b"', '"a\nb"', "'", " ", "\t", "\x00", "\ufeff", "é", "ash", "2024-01-02"),
)
LABELS = ("oak", "ash", "oak", "ash", "1", "", "NA", " oak", "Oak", "naïve", "?")
FORMATS = ("csv", "tsv", "csv.gz", "npz", "npy", "arff", "parquet")


def draw_table(random: Random) -> tuple[str, bytes]:
    """A format and the bytes of a table, odd or damaged more often than not."""
    form = random.choice(FORMATS)
    content = TABLE_MAKERS[form](random)
    if random.random() < 0.5:
        content = damage(random, content)
    return form, content


def damage(random: Random, content: bytes) -> bytes:
    """Cut, replaced, inserted, repeated or turned bytes."""
    changed = bytearray(content)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(changed) + 1)
        match random.choice(["cut", "replace", "insert", "repeat", "drop"]):
            case "cut":
                del changed[at:]
            case "replace" if at < len(changed):
                changed[at] = random.randrange(256)
            case "insert":
                changed[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, 9)))
            case "repeat":
                changed[at:at] = changed[at : at + random.randint(1, 40)]
            case "drop":
                del changed[at : at + random.randint(1, 20)]
    return bytes(changed)


def draw_lines(random: Random, sep: str) -> bytes:
    n, d = random.randint(0, 8), random.randint(0, 4)
    names = [random.choice(["a", "b", "c", "size", "", "a", "1", "é"]) for _ in range(d)]
    odd = random.random() < 0.4  # otherwise numbers, as in most tables
    rows = [
        [random.choice(CELLS if odd else CELLS[:8]) for _ in range(d)] + [random.choice(LABELS)]
        for _ in range(n)
    ]
    if not odd:
        names = [f"v{i}" for i in range(d)]
    lines = [sep.join(row) for row in [[*names, "kind"], *rows]]
    if random.random() < 0.1:
        lines.insert(random.randrange(len(lines) + 1), random.choice(["", sep, "x", sep * 9]))
    end = random.choice(["\n", "\n", "\r\n", "\r"])
    encoding = random.choice(["utf-8"] * 6 + ["utf-16", "utf-8-sig", "latin-1"])
    text = end.join(lines) + random.choice([end, ""])
    return text.encode(encoding, errors="replace")


def draw_arrays(random: Random) -> bytes:
    n, d = random.randint(0, 6), random.randint(0, 4)
    kinds: list[Any] = [np.ones, np.zeros, lambda s: np.full(s, np.nan), lambda s: np.full(s, 1j)]
    kinds += [lambda s: np.full(s, "x"), lambda s: np.ones((*s, 2)), lambda s: np.ones(s, bool)]
    arrays = {
        random.choice(["X", "X", "data", "Z"]): random.choice(kinds[:1] * 3 + kinds)((n, d)),
        random.choice(["y", "y", "target"]): random.choice(
            [np.arange(n) % 2, np.array(["a", "b"] * n)[:n], np.ones((n, 2)), np.arange(n + 1)]
        ),
    }
    if random.random() < 0.2:
        arrays["feature_names"] = np.array(["a"] * random.randint(0, 4))
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def draw_array(random: Random) -> bytes:
    file = io.BytesIO()
    shape = random.choice([(4, 3), (4,), (2, 2, 2), (0, 3), ()])
    np.save(file, random.choice([np.ones(shape), np.full(shape, "x"), np.ones(shape, "f2")]))
    return file.getvalue()


def draw_arff(random: Random) -> bytes:
    kinds = ["numeric", "REAL", "{oak,ash}", "string", "integer", "date", "{", "'a b' numeric"]
    heads = [f"@attribute v{i} {random.choice(kinds[:1] * 4 + kinds)}" for i in range(3)]
    rows = [",".join(random.choice([*CELLS[:8], "?", "oak"]) for _ in range(3)) + ",oak"
            for _ in range(4)]  # fmt: skip
    lines = ["@relation trees", *heads, "@attribute kind {oak,ash}", "@data", *rows]
    if random.random() < 0.2:
        del lines[random.randrange(len(lines))]
    return ("\n".join(lines) + "\n").encode()


def draw_parquet(random: Random) -> bytes:
    columns: list[list[Any]] = [[1.0, 2, 3], [1, None, 3], ["a", "b", None], [b"x", b"y", b"z"]]
    columns += [[[1], [2], [3]], [True, False, None], [pd.Timestamp("2024-01-02")] * 3]
    frame = pd.DataFrame({f"v{i}": random.choice(columns) for i in range(2)})
    frame["kind"] = random.choice(columns[:3])
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue()


TABLE_MAKERS: dict[str, Any] = {
    "csv": lambda random: draw_lines(random, ","),
    "tsv": lambda random: draw_lines(random, "\t"),
    "csv.gz": lambda random: gzip.compress(draw_lines(random, ",")),
    "npz": draw_arrays,
    "npy": draw_array,
    "arff": draw_arff,
    "parquet": draw_parquet,
}


def check_table(form: str, content: bytes, folder: Path) -> bool:
    """Raise a `FindingError`, or say whether the table was accepted."""
    path = folder / f"table.{form}"
    path.write_bytes(content)
    with observed("read"):
        try:
            table = read_table(path)
        except (ValueError, ImportError) as error:
            require(len(str(error)) > 15, "an error without words", repr(error))
            return False
    require(table.y is None or len(table.X) == len(table.y), "rows and labels differ in number")
    with observed("check"):
        try:
            check_features(table.X)
        except ValueError as error:
            require(len(str(error)) > 15, "an error without words", repr(error))
            return False
    X = table.X.to_numpy(float)
    require(np.isfinite(X).all(), "values that are not finite pass the check", X)
    check_command(path)
    return True


def check_command(path: Path) -> None:
    """A command ends in an answer or in words about the data, never in a fault of the program."""
    from click.testing import CliRunner

    done = CliRunner().invoke(program, ["fit", str(path), "-m", "FisherDiscriminant",
                                        "-o", str(path.parent / "a.model"), "-q"])  # fmt: skip
    require(done.exit_code in (0, 1), f"fit ends with {done.exit_code}", done.output)


# Model files ---------------------------------------------------------------------------------

JUNK = (
    *(None, True, -1, 0, 10**30, 1.5, float("nan"), "", "x", "../../etc/passwd", "__class__"),
    *(
        [],
        {},
        [[]],
        {"os.system": {}},
        {"array": 0},
        {"tuple": []},
        "os.system",
        "numpy",
        "float64",
        "|O",
    ),
    "<U9999999",
)
ROWS = np.random.RandomState(0).standard_normal((40, 4)).round(3)
KINDS = np.arange(40) % 3
ROWS[:, 0] += 2 * KINDS


def fitted_models() -> list[Any]:
    """One model of each kind whose file has parts of its own."""
    of = separatrix
    made = [
        of.FisherDiscriminant(keep_moments="by class"),
        of.WithRejection(of.FisherDiscriminant(), level=0.1),
        of.QuadraticDiscriminant(),
        of.QuadraticDiscriminant(diagonal=True),
        of.PartialLeastSquaresDiscriminant(n_components="auto"),
        of.ClassEraser(),
        of.OnlineIPCAC(window=9),
        of.KernelFisherDiscriminant(),
        of.LDG(gamma=0.6, n_neighbors=4),
        of.LocalQDA(),
        of.MixtureIPCAC(random_state=0),
        of.SupportVectorProjection(random_state=0),
        of.DDAGClassifier(of.IPCAC()),
        of.EarlyClassifier(of.QuadraticDiscriminant()),
    ]
    return [model.fit(ROWS, KINDS) for model in made]


def draw_model_file(random: Random, known: list[Any]) -> tuple[Any, bytes]:
    """A model and a file that was made of it by cutting, turning, splicing or rewriting."""
    model = random.choice(known)
    match random.choice(["damaged", "signed", "spliced", "header", "header", "header"]):
        case "damaged":
            return model, damage(random, models.pack_file(model, {}))
        case "signed":  # everyone can compute the checksum
            return model, signed(damage(random, models.pack_file(model, {})[:-200]) + tail(model))
        case "spliced":
            one, other = (models.pack_file(m, {}) for m in (model, random.choice(known)))
            at = random.randrange(min(len(one), len(other)) - 200)
            return model, signed(one[:at] + other[at:])
        case _:
            return model, rewritten(model, lambda header: rewrite(random, header["model"]))


def tail(model: Any) -> bytes:
    """The last bytes of a file: the end of the directory, and the checksum."""
    return models.pack_file(model, {})[-200:]


def rewrite(random: Random, tree: Any) -> None:
    """Remove, copy or replace parts of a header."""
    for _ in range(random.randint(1, 2)):
        if not tree:
            return
        *path, last = random.choice(list(places(tree)))
        home = tree
        for key in path:
            home = home[key]
        match random.choice(["remove", "copy", "junk", "junk"]):
            case "remove":
                del home[last]
            case "copy":
                part = tree
                for key in random.choice(list(places(tree))):
                    part = part[key]
                home[last] = copy.deepcopy(part)
            case _:
                home[last] = random.choice(JUNK)


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = part.items() if isinstance(part, dict) else []
    items = enumerate(part) if isinstance(part, list) else items
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def check_model_file(model: Any, content: bytes, folder: Path) -> bool:
    """Raise a `FindingError`, or say whether the file was accepted.

    Numbers may be nonsense in a file that somebody signed, and an answer an error in words; an
    attribute that is not there, or is of another kind, was to be found when the file was read.
    """
    path = folder / "a.model"
    path.write_bytes(content)
    with observed("load"):
        try:
            found = load(path)
        except ValueError as error:
            require(str(path) in str(error), "an error does not name the file", repr(error))
            return False
    for ask in ("transform", "predict", "predict_proba"):
        if hasattr(type(found), ask):
            try:
                getattr(found, ask)(ROWS)
            except NotFittedError:
                return True
            except (AttributeError, TypeError, KeyError, IndexError, NameError) as error:
                raise FindingError(
                    f"{type(found).__name__}.{ask} of a file: {type(error).__name__}: "
                    f"{str(error)[:60]}",
                    json.dumps(unpacked(content)[0])[:4000],
                ) from error
            except Exception:
                return True  # numbers that do not fit have their error in words
    return True
