"""Comparing methods, ranking them, and following streams; all return plain records."""

from importlib import import_module
from typing import Any

HOMES = {
    "Advice": "advice",
    "Comparison": "records",
    "Contender": "methods",
    "Drift": "drift",
    "DriftDetector": "drift",
    "Fold": "records",
    "Horizon": "early",
    "InOrder": "splits",
    "Loadings": "records",
    "MethodRecord": "records",
    "Pair": "ranking",
    "Permutation": "records",
    "PrequentialRecord": "stream",
    "Progress": "records",
    "RandomShares": "splits",
    "Ranking": "ranking",
    "ReliabilityRecord": "early",
    "Standing": "advice",
    "Summary": "records",
    "Tuned": "comparison",
    "View": "records",
    "Winner": "records",
    "advise": "advice",
    "choose_horizon": "early",
    "compare": "comparison",
    "compare_in_practice": "advice",
    "contenders": "methods",
    "data_set_scores": "ranking",
    "from_plain": "records",
    "prequential": "stream",
    "progress": "stream",
    "rank_methods": "ranking",
    "reconstruction_error": "reconstruction",
    "reliability_curve": "early",
    "split_scores": "ranking",
    "to_plain": "records",
    "tuned": "comparison",
    "with_steps": "methods",
}
"""Public name → the module that defines it, which is imported when it is asked for."""

__all__ = list(HOMES)


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(import_module(f"separatrix.evaluate.{HOMES[name]}"), name)
    raise AttributeError(f"module 'separatrix.evaluate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
