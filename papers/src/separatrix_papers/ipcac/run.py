"""Runs of the tables of the IPCAC thesis: pieces, and what each gives. Nothing is judged here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from separatrix_papers.figures import Figure, Piece
from separatrix_papers.ipcac import curved, linear
from separatrix_papers.tables import read_tables

REPEATS_BY_ROW: dict[str, dict[str, int]] = {
    "table3.1": {
        "Synth 1 as described": 20,
        "Synth 1, 2000 features, means x 0.25": 8,
        "Synth 2 as described": 20,
        "Synth 2, 2000 features, means x 0.12": 8,
    },
    "table3.2": {"Experiment 1": 4, "Experiment 2": 2},
    "table3.3": {"Experiment 1": 20, "Experiment 2": 20},
    "section4.1": {"pancakes": 20},
    "figure4.2": {"means x 0.01": 60, "means x 0.12": 60, "means x 0.25": 60},
    "section4.3": dict.fromkeys(linear.ANGLES, 4),
    "table4.2": {
        "Hungarian": 100,
        "Hungarian, d = 4": 100,
        "SpamAssassin": 30,
        "Synth 1 as described": 2,
        "Synth 1, means x 0.25": 8,
        "Synth 2 as described": 2,
        "Synth 2, means x 0.12": 8,
    },
    "table4.3": {
        "SpamAssassin": 30,
        "Synth 1 as described": 2,
        "Synth 1, means x 0.25": 8,
        "Synth 2 as described": 2,
        "Synth 2, means x 0.12": 8,
    },
    "table4.4": {"Hungarian": 100, "Reuters": 1},
    "figure4.3": {
        "Hungarian": 50,
        "SpamAssassin": 10,
        "Synth 1, means x 0.25": 3,
        "Synth 2, means x 0.12": 3,
    },
    "table4.5": {
        "Synth 1 as described": 2,
        "Synth 1, means x 0.09": 10,
        "Synth 2 as described": 4,
        "Synth 2, means x 0.009": 4,
    },
    "table4.6": {"EEG": 10, "Drawn": 10},
    "table5.3": {"200 rows a class": 20, "500 rows a class": 8, "1000 rows a class": 3},
    "table5.4": dict.fromkeys(curved.SPREADS, 4),
    "table5.4-time": dict.fromkeys(curved.SPREADS, 2),
    "table5.5": {
        f"set {k}{reading}": n
        for k in (1, 2, 3)
        for reading, n in ((" as described", 1), (", means x 0.5", 3))
    },
    "table5.5-time": dict.fromkeys(curved.RANDOM, 2),
    "table5.6": {"-9 filled in": 50, "mean filled in": 50},
    "table5.6-time": {"Hungarian": 10},
    "table6.2": {"proteins": 10, "arrhythmia": 10, "22 classes": 5},
    "table6.3": {"locations": 10},
    "table6.3-mean": {"all locations": 1},
    "table6.4": dict.fromkeys(("END", "SVM", "RF", "DDAG K-TIPCAC", "NV"), 1),
    "table6.5": {"proteins": 10, "arrhythmia": 10, "22 classes": 5},
    "table6.6": {"locations": 10},
    "table6.7": {"proteins": 10, "arrhythmia": 10, "22 classes": 5},
    "table6.8": {"locations": 10},
}
"""Rows that are run, by table, and how often in a full run."""

MAX_QUICK_REPEATS = 2


def list_pieces(table: str, quick: bool) -> list[Piece]:
    """The repeats of all rows, in turns: a run that is cut short has its share of each."""
    rows = REPEATS_BY_ROW[table]
    every = [
        Piece(row, repeat, repeat)
        for row, n in rows.items()
        for repeat in range(min(n, MAX_QUICK_REPEATS) if quick else n)
    ]
    return sorted(every, key=lambda piece: piece.repeat / rows[piece.row])


def measure(table: str, piece: Piece, data: Callable[[str], Any]) -> list[Figure]:
    """The figures of one piece."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = _found(table, piece.row, piece.repeat, data)
    return [
        Figure(row, column, piece.repeat, float(value))
        for row, values in found.items()
        for column, value in values.items()
    ]


def _found(
    table: str, row: str, repeat: int, data: Callable[[str], Any]
) -> dict[str, dict[str, float]]:
    """Values by row and column."""
    match table:
        case "table3.1":
            return {row: linear.table3_1(row, repeat)}
        case "table3.2":
            return _ended(row, linear.spam(row, repeat, data, "trec2005"))
        case "table3.3":
            return _ended(row, linear.spam(row, repeat, data, "spamassassin_1800"))
        case "section4.1":
            return {row: linear.pancakes(repeat)}
        case "table4.6":
            return {row: linear.table4_6(row, repeat, data)}
        case "figure4.2":
            return linear.figure4_2(row, repeat)
        case "section4.3":
            return {row: linear.angles(row, repeat)}
        case "table4.2":
            return {row: linear.table4_2(row, repeat, data)}
        case "table4.3" | "table4.4":
            return {row: linear.table4_3(row, repeat, data)}
        case "figure4.3":
            return {row: linear.online_error(row, repeat, data)}
        case "table4.5":
            return {row: linear.table4_5(row, repeat)}
        case "table5.3":
            return _ended(row, curved.table5_3(row, repeat))
        case "table5.4" | "table5.5":
            return _ended(row, curved.tables5_4_and_5_5(row, repeat))
        case "table5.6":
            found = curved.table5_6(row, repeat, data)
            return {f"{measure}, {row}": values for measure, values in found.items()}
        case "table5.4-time" | "table5.5-time" | "table5.6-time":
            return {row: curved.times(row, repeat, data)}
        case "table6.2" | "table6.5" | "table6.7":
            return _ended(row, curved.table6_2(table, row, repeat, data))
        case "table6.3" | "table6.6" | "table6.8":
            return curved.table6_3(table, repeat, data)
        case "table6.3-mean":
            return curved.weighted_means(_printed_scores())
        case "table6.4":
            return {row: curved.signed_rank_tests(_printed_scores(), row)}
    raise ValueError(f"there is no table {table!r}: there are {', '.join(REPEATS_BY_ROW)}")


def _ended(row: str, found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {row + end: values for end, values in found.items()}


def _printed_scores() -> dict[str, dict[str, float]]:
    """The F-scores that Table 6.3 prints, by location."""
    printed = next(t for t in read_tables(Path(__file__).parent) if t.id == "table6.3").published
    return {row: {m: cell.value for m, cell in cells.items()} for row, cells in printed.items()}
