"""Comparisons and their verdicts, for tests of the report."""

from __future__ import annotations

import dataclasses

from separatrix import datasets
from separatrix.report import facts, wording

NOISY = [0.9, 0.8, 0.95, 0.7, 0.85, 0.9, 0.75, 0.8, 0.9, 0.85]

WITHIN_CHANCE = {"A": [s + 0.01 for s in NOISY], "raw": NOISY[::-1], "LDA": NOISY[3:] + NOISY[:3]}


PARTS = [
    "verdict",
    "projections",
    "leaderboard",
    "confusion",
    "loadings",
    "curves",
    "dimension",
    "time",
    "failures",
    "reproduce",
]


def plain(text):
    return text.replace(wording.NO_BREAK, " ")


def said(comparison):
    return facts(comparison)["verdict"]


def against(verdict, name):
    return next(entry for entry in verdict["against"] if entry["name"] == name)


def replaced(comparison, name, **changes):
    """The comparison with a changed record of one method."""
    methods = [
        dataclasses.replace(m, **changes) if m.name == name else m for m in comparison.methods
    ]
    return dataclasses.replace(comparison, methods=tuple(methods))


def two_classes():
    data = datasets.load("breast_cancer")
    return data.data[:150], data.target[:150]
