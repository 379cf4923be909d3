"""Decisions from incomplete rows, with a reliability."""

from separatrix.early.arrival import normalize_running
from separatrix.early.calibration import ClassPromise, Cost, Promise, PromiseTable
from separatrix.early.classifier import EarlyClassifier
from separatrix.early.conditional import Expectation
from separatrix.early.judges import ModelJudge, PrefixJudge, SampledJudge
from separatrix.early.layout import LongSeries, from_long
from separatrix.early.stream import Decisions, DecisionStream

__all__ = [
    "ClassPromise",
    "Cost",
    "DecisionStream",
    "Decisions",
    "EarlyClassifier",
    "Expectation",
    "LongSeries",
    "ModelJudge",
    "PrefixJudge",
    "Promise",
    "PromiseTable",
    "SampledJudge",
    "from_long",
    "normalize_running",
]
