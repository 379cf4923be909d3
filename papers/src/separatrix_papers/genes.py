"""Tables of gene expression and of phonemes in the files in which they are published.

Genes are in rows there, and samples in columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch


def read_gene_columns(paths: Sequence[Path]) -> Bunch:
    """Training and test part of the book "The elements of statistical learning" (14 cancers).

    Parameters
    ----------
    paths : list of four paths
        Expression and labels to learn from, then to test on; values are separated by white space.
    """
    parts = {}
    for end, (values, labels) in zip(("train", "test"), (paths[:2], paths[2:]), strict=True):
        parts[f"X_{end}"] = np.loadtxt(values, ndmin=2).T
        parts[f"y_{end}"] = np.array(labels.read_text("utf-8").split(), dtype=float).astype(int)
        _check_counts(values, len(parts[f"X_{end}"]), labels, len(parts[f"y_{end}"]))
    return Bunch(**parts)


def read_res_files(paths: Sequence[Path]) -> Bunch:
    """Training and test part as the Broad Institute gives them: ``.res`` and ``.cls`` files.

    A line of a ``.res`` file has a description, a name, and a value and a call for each sample;
    three lines are in front. The last line of a ``.cls`` file has the classes as whole numbers.
    """
    parts = {}
    for end, (values, labels) in zip(("train", "test"), (paths[:2], paths[2:]), strict=True):
        lines = values.read_text("utf-8", errors="replace").splitlines()[3:]
        rows = [line.split("\t")[2::2] for line in lines if line.strip()]
        parts[f"X_{end}"] = np.array([[float(v) for v in row if v.strip()] for row in rows]).T
        last = [line for line in labels.read_text("utf-8").splitlines() if line.strip()][-1]
        parts[f"y_{end}"] = np.array([int(label) for label in last.split()])
        _check_counts(values, len(parts[f"X_{end}"]), labels, len(parts[f"y_{end}"]))
    return Bunch(**parts)


def read_cell_lines(paths: Sequence[Path]) -> Bunch:
    """The NCI microarrays: a table of genes with a heading and names, and a label in each line."""
    lines = paths[0].read_text("utf-8").splitlines()[1:]
    X = np.array([[float(v) for v in line.split(",")[1:]] for line in lines if line.strip()]).T
    y = np.array(
        [word.strip() for word in paths[1].read_text("utf-8").splitlines() if word.strip()]
    )
    _check_counts(paths[0], len(X), paths[1], len(y))
    return Bunch(X=X, y=y)


def read_phonemes(paths: Sequence[Path]) -> Bunch:
    """Log-periodograms: a heading, a number of the row, 256 values, the phoneme, the speaker."""
    rows = [line.split(",") for line in paths[0].read_text("utf-8").splitlines()[1:] if line]
    X = np.array([[float(value) for value in row[1:-2]] for row in rows])
    return Bunch(X=X, y=np.array([row[-2].strip().strip('"') for row in rows]))


def _check_counts(values: Path, n_samples: int, labels: Path, n_labels: int) -> None:
    if n_samples != n_labels:
        raise ValueError(f"{values} has {n_samples} samples, {labels} {n_labels} labels")
