"""Decisions from incomplete rows, with a reliability."""

from separatrix.early.classifier import EarlyClassifier
from separatrix.early.records import Decisions, Expectation
from separatrix.early.stream import DecisionStream

__all__ = ["DecisionStream", "Decisions", "EarlyClassifier", "Expectation"]
