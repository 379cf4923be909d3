"""Comparing methods, ranking them, and following streams; all return plain records."""

from separatrix.evaluate.advice import Advice, Standing, advise, compare_in_practice
from separatrix.evaluate.comparison import Tuned, compare, tuned
from separatrix.evaluate.drift import Drift, DriftDetector
from separatrix.evaluate.early import (
    Horizon,
    ReliabilityRecord,
    choose_horizon,
    choose_reliability,
    reliability_curve,
)
from separatrix.evaluate.methods import Contender, contenders, with_steps
from separatrix.evaluate.ranking import Pair, Ranking, data_set_scores, rank_methods, split_scores
from separatrix.evaluate.reconstruction import reconstruction_error
from separatrix.evaluate.records import (
    Comparison,
    Fold,
    Loadings,
    MethodRecord,
    Permutation,
    Progress,
    Summary,
    View,
    Winner,
    from_plain,
    to_plain,
)
from separatrix.evaluate.splits import InOrder, RandomShares
from separatrix.evaluate.stream import PrequentialRecord, prequential, progress

__all__ = [
    "Advice",
    "Comparison",
    "Contender",
    "Drift",
    "DriftDetector",
    "Fold",
    "Horizon",
    "InOrder",
    "Loadings",
    "MethodRecord",
    "Pair",
    "Permutation",
    "PrequentialRecord",
    "Progress",
    "RandomShares",
    "Ranking",
    "ReliabilityRecord",
    "Standing",
    "Summary",
    "Tuned",
    "View",
    "Winner",
    "advise",
    "choose_horizon",
    "choose_reliability",
    "compare",
    "compare_in_practice",
    "contenders",
    "data_set_scores",
    "from_plain",
    "prequential",
    "progress",
    "rank_methods",
    "reconstruction_error",
    "reliability_curve",
    "split_scores",
    "to_plain",
    "tuned",
    "with_steps",
]
