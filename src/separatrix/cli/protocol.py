"""How a comparison splits, scores and decides: the options, and what they make of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import click

from separatrix.cli.console import Console
from separatrix.cli.methods import check_methods, list_methods
from separatrix.cli.options import combine, complete_from
from separatrix.files.reading import Reading

FIRST_LOOK_SPLITS = 5
"""Splits of a quick comparison: fewer distinguish no two methods."""

FIRST_LOOK_ROWS = 1000
"""Rows of a quick comparison, drawn from each class by its share."""

SLOW_METHODS = (
    "DDAGClassifier",
    "KernelLDG",
    "KernelSupportVectorICA",
    "MarginMaximizingDiscriminant",
    "MixtureIPCAC",
    "NCA",
    "SparseLDG",
    "SupportVectorICA",
    "WithinSupportVectorDiscriminant",
)
"""Methods that a quick comparison leaves out unless they are named."""

SCORE_CHOICES = (
    "accuracy",
    "balanced_accuracy",
    "macro_f",
    "weighted_f",
    "precision",
    "recall",
    "sensitivity",
    "specificity",
    "auc",
    "log_loss",
    "brier",
    "cost",
)
"""The scores of `evaluate.records`, written out: help needs no numerics. A test compares."""

group_option = click.option("--group", metavar="COL",
                            help="Column of groups, such as patients: a group is never on both "
                            "sides.")  # fmt: skip
_judging_options = (
    click.option("--score", type=click.Choice(SCORE_CHOICES), metavar="NAME",
                 help="Score that chooses, ranks and advises.  [default: accuracy, "
                 "balanced_accuracy where classes are very unequal, cost with --costs]"),
    click.option("--costs", metavar="FILE", type=click.Path(),
                 help="Table of costs: a line for each right class, a column for each predicted."),
    click.option("--classifier", metavar="NAME", shell_complete=complete_from(list_methods),
                 help="Classifier on top of every subspace, such as LogisticRegression."),
)  # fmt: skip
tuning_options = combine(group_option, *_judging_options)
"""`--group`, `--score`, `--costs` and `--classifier`: how settings are chosen."""

TUNING = ("group", "score", "costs", "classifier")
"""Names of these."""

protocol_options = combine(
    group_option,
    click.option("--split", metavar="COL",
                 help="Column that names the split: train and test, or fold numbers."),
    click.option("--test", metavar="FILE", type=click.Path(),
                 help="A table of rows that test, once."),
    click.option("--time", metavar="COL",
                 help="Column of the times of rows: only the past trains."),
    click.option("--folds", type=click.IntRange(2), metavar="K",
                 help="K folds in place of random splits."),
    click.option("--rivals", type=click.Choice(["none", "basic", "all"]),
                 help="References that take part.  [default: basic; none with --methods]"),
    *_judging_options,
    click.option("--permutations", type=click.IntRange(0), default=0, metavar="N",
                 help="Shuffle the labels N times to measure the score of chance."),
    click.option("--quick", is_flag=True,
                 help="A first look: five splits, at most 1000 rows, no slow methods."),
)  # fmt: skip
"""`--group`, `--split`, `--test`, `--time` and other options of the protocol."""

NOT_FEATURES = ("group", "split", "time")
"""Options that name a column that is no feature."""


class Protocol(NamedTuple):
    """A table as `evaluate.compare` takes it.

    Attributes
    ----------
    table : Table
        Rows and labels; those of a test file come last.
    n_known : int
        Rows that are not of the test file.
    arguments : dict
        Of `evaluate.compare`.
    """

    table: Any
    n_known: int
    arguments: dict[str, Any]

    def split_rows(self, X: Any) -> tuple[Any, Any, dict[str, Any]]:
        """Prepared rows and labels that are compared on, and all arguments."""
        y, n = self.table.y, self.n_known
        if n == len(y):
            return X, y, self.arguments
        rows, new = (X.iloc[:n], X.iloc[n:]) if hasattr(X, "iloc") else (X[:n], X[n:])
        return rows, y[:n], {**self.arguments, "test": (new, y[n:])}


def named_columns(options: Mapping[str, Any]) -> list[str]:
    """Columns that the options of the protocol name, each once."""
    return list(dict.fromkeys(options[name] for name in NOT_FEATURES if options[name] is not None))


def check_ways(options: Mapping[str, Any]) -> None:
    """Raise where several options say how rows are split."""
    ways = [f"--{name}" for name in ("split", "test", "time", "folds") if options[name]]
    if len(ways) > 1:
        raise ValueError(f"{' and '.join(ways)} both say how rows are split: give one of them")


def read_protocol(
    console: Console,
    table: Any,
    reading: Reading,
    options: Mapping[str, Any],
    methods: list[str] | None,
    n_splits: int,
    seed: int,
) -> tuple[Protocol, list[str] | None]:
    """The arguments that the options mean for this table, and the methods that are compared.

    Parameters
    ----------
    console : Console
        For what is said of a quick comparison.
    table : Table
        As it was read, with the columns of `named_columns` kept.
    reading : Reading
        How it was read.
    options : mapping
        Those of the command.
    methods : list of str or None
        Methods asked for; None for all.
    n_splits, seed : int
        As they were asked for.
    """
    n_known = len(table.y)
    if options["quick"]:
        table, methods, n_splits = _look_quickly(console, table, methods, n_splits, seed)
        n_known = len(table.y)
    kept = table.kept
    arguments: dict[str, Any] = {
        **read_tuning(kept, options),
        "cv": _choose_splits(kept, options, n_splits),
    }
    if options["test"] is not None:
        table = _add_test_file(table, reading, options)
    return Protocol(table, n_known, arguments), methods


def read_tuning(kept: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `tuning_options` for a table of which these columns were kept."""
    return {
        "groups": _column(kept, options["group"]),
        "score": options["score"],
        "costs": None if options["costs"] is None else read_costs(options["costs"]),
    }


def read_classifier(decision: str, classifier: str | None) -> str | None:
    """The classifier on top that `--decision` and `--classifier` name; None where none is."""
    if classifier is None:
        return None if decision == "own" else decision
    if decision != "own":
        raise ValueError("--classifier and --decision both say how rows are classified: give one")
    return check_methods([classifier])[0]


def _choose_splits(kept: Any, options: Mapping[str, Any], n_splits: int) -> Any:
    """How rows are split, as `evaluate.compare` takes it."""
    from separatrix.evaluate import InOrder, RandomShares

    if options["test"] is not None:
        return None
    if options["folds"] is not None:
        return options["folds"]
    if options["split"] is not None:
        return _column(kept, options["split"])
    if options["time"] is not None:
        return InOrder(_column(kept, options["time"]), n_splits)
    return RandomShares(n_splits, test_size=options["test_size"])


def _column(kept: Any, name: str | None) -> Any:
    return None if name is None else kept[name].to_numpy()


def _look_quickly(
    console: Console, table: Any, methods: list[str] | None, n_splits: int, seed: int
) -> tuple[Any, list[str] | None, int]:
    """Fewer rows, methods and splits, and a note on what was left out."""
    import numpy as np

    from separatrix.evaluate.methods import contenders
    from separatrix.selection import draw_rows_by_class

    n_rows, said = len(table.y), []
    codes = np.unique(np.asarray(table.y).astype(str), return_inverse=True)[1]
    rows = draw_rows_by_class(codes, FIRST_LOOK_ROWS, seed)
    if len(rows) < n_rows:
        kept = None if table.kept is None else table.kept.iloc[rows]
        table = table._replace(X=table.X.iloc[rows], y=table.y[rows], kept=kept)
        said.append(f"{len(rows)} of {n_rows} rows")
    said.append(f"{min(n_splits, FIRST_LOOK_SPLITS)} splits")
    if methods is None:
        methods = [m.name for m in contenders(None, "none") if m.name not in SLOW_METHODS]
        methods += [m.name for m in contenders(None) if m.kind == "reference"
                    and m.name not in SLOW_METHODS]  # fmt: skip
        said.append(f"without {', '.join(SLOW_METHODS)}")
    console.note(f"--quick is a first look: {', '.join(said)}.")
    return table, methods, min(n_splits, FIRST_LOOK_SPLITS)


def read_costs(path: str) -> Any:
    """A table of costs with labels in its first line and its first column."""
    import pandas as pd

    from separatrix.files.formats import SUFFIXES
    from separatrix.files.lines import SEPARATORS

    form = SUFFIXES.get("." + path.rpartition(".")[2].lower(), "csv")
    return pd.read_csv(path, sep=SEPARATORS.get(form, ","), index_col=0)


def _add_test_file(table: Any, reading: Reading, options: Mapping[str, Any]) -> Any:
    """The table with the rows of the test file behind its own."""
    import pandas as pd

    from separatrix.evaluate.splits import check_test_columns, check_test_labels
    from separatrix.files.chunks import read_frame
    from separatrix.files.tables import make_table

    columns, path = list(table.X.columns), options["test"]
    reading = replace(reading, target=table.target)
    frame = read_frame(path, replace(reading, labels=None))
    # columns that are no features in the first file need not be in the second
    ids, ignore = ([n for n in names if n in frame.columns]
                   for names in (reading.ids, reading.ignore))  # fmt: skip
    new = make_table(frame, replace(reading, ids=ids, ignore=ignore))
    check_test_columns(columns, list(new.X.columns), f"--test {path}")
    check_test_labels(table.y, new.y, f"--test {path}")
    both = pd.concat([table.X, new.X[columns]], ignore_index=True)
    return table._replace(X=both, y=_join_labels(table.y, new.y))


def _join_labels(y: Any, y_new: Any) -> Any:
    import numpy as np

    return np.concatenate([np.asarray(y, dtype=object), np.asarray(y_new, dtype=object)])


# The time it takes -------------------------------------------------------------------------------

MIN_TOLD_SECONDS = 60.0
"""Seconds from which on it is said how long a comparison will take."""


def describe_cost(now: Any) -> str:
    """How long a comparison will take, and which methods take most, once each has a fold.

    Parameters
    ----------
    now : Progress
        After a fold.
    """
    from separatrix.evaluate.runner import describe_shares

    if now.remaining is None or now.elapsed + now.remaining < MIN_TOLD_SECONDS:
        return ""
    return (
        f"This will take {describe_shares(now)}. Shorter: --quick, --jobs -1, --budget SECONDS, "
        "or --methods A,B."
    )
