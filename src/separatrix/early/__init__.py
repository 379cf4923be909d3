"""Decisions from incomplete rows, with a reliability."""

from separatrix.early.classifier import EarlyClassifier
from separatrix.early.conditional import Expectation
from separatrix.early.stream import Decisions, DecisionStream

__all__ = ["DecisionStream", "Decisions", "EarlyClassifier", "Expectation"]
