"""Supervised subspaces for labelled, high-dimensional data.

`CONTENTS` lists the public names by stage: data → statistics → subspace → decision. A name is
imported when it is first asked for, so that the command line starts at once.
"""

import logging
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix import datasets, evaluate, insight, linalg
    from separatrix.base.blockwise import map_blocks, score_blocks
    from separatrix.base.export import export
    from separatrix.base.merging import merge
    from separatrix.base.prepared import forget
    from separatrix.decision.ddag import DDAGClassifier
    from separatrix.decision.local_qda import LocalQDA
    from separatrix.decision.rejection import WithRejection
    from separatrix.early.classifier import EarlyClassifier
    from separatrix.files.look import look
    from separatrix.files.model import load, save
    from separatrix.fisher.erase import ClassEraser
    from separatrix.fisher.fisher import FisherDiscriminant, MaximumMarginCriterion
    from separatrix.fisher.gaussian import QuadraticDiscriminant
    from separatrix.fisher.grouped import GroupedDiscriminant
    from separatrix.fisher.heteroscedastic import HeteroscedasticDiscriminant
    from separatrix.fisher.kernel import KernelFisherDiscriminant
    from separatrix.fisher.local import LocalFisherDiscriminant
    from separatrix.fisher.pls import PartialLeastSquaresDiscriminant
    from separatrix.fisher.singular import (
        DirectDiscriminant,
        GSVDDiscriminant,
        NullSpaceDiscriminant,
    )
    from separatrix.fisher.structure import Decoupled, Toeplitz
    from separatrix.ipcac.ipcac import IPCAC, TruncatedIPCAC
    from separatrix.ipcac.kernel import KernelIPCAC
    from separatrix.ipcac.mixture import MixtureIPCAC
    from separatrix.ipcac.online import OnlineIPCAC
    from separatrix.ldg.kernel import KernelLDG
    from separatrix.ldg.ldg import LDG
    from separatrix.ldg.sparse import SparseLDG
    from separatrix.ldg.transfer import TransferLDG
    from separatrix.margin.ica import KernelSupportVectorICA, SupportVectorICA
    from separatrix.margin.projection import SupportVectorProjection
    from separatrix.margin.successive import (
        MarginMaximizingDiscriminant,
        WithinSupportVectorDiscriminant,
    )
    from separatrix.moments.class_moments import ClassMoments
    from separatrix.transfer.domains import DomainScaler
    from separatrix.transfer.weighted import TargetWeighted

__version__ = "0.1.0"

logging.getLogger("separatrix").addHandler(logging.NullHandler())

CONTENTS = {
    # data and statistics
    "datasets": "datasets",
    "linalg": "linalg",
    "look": "files.look",  # how a table is laid out, and what its columns hold
    "ClassMoments": "moments.class_moments",  # counts, means, scatter: they add and subtract
    "merge": "base.merging",  # one model from models trained apart
    "forget": "base.prepared",  # the model that never saw some rows
    "map_blocks": "base.blockwise",  # lazy results of a model for a Dask collection
    "score_blocks": "base.blockwise",  # its accuracy there, in one pass
    # subspaces: Fisher's discriminant
    "FisherDiscriminant": "fisher.fisher",  # Fisher, LDA, MDA: shrunk, after PCA, in batches
    "NullSpaceDiscriminant": "fisher.singular",  # no scatter within classes, wide data
    "DirectDiscriminant": "fisher.singular",  # the span of the class means, Sw diagonal in it
    "GSVDDiscriminant": "fisher.singular",  # Fisher by the generalized SVD of the factors
    "KernelFisherDiscriminant": "fisher.kernel",  # Fisher in the feature space of a kernel
    "MaximumMarginCriterion": "fisher.fisher",  # Sb - Sw, orthonormal, nothing inverted
    "LocalFisherDiscriminant": "fisher.local",  # neighbours: classes of several clusters
    "GroupedDiscriminant": "fisher.grouped",  # groups of features: more than C - 1 directions
    "HeteroscedasticDiscriminant": "fisher.heteroscedastic",  # classes that differ in spread
    "PartialLeastSquaresDiscriminant": "fisher.pls",  # PLS-DA: covariance with the labels
    "Toeplitz": "fisher.structure",  # covariance of channels over time: by lag alone
    "Decoupled": "fisher.structure",  # the same: alike at all times
    # subspaces: isotropic principal components
    "IPCAC": "ipcac.ipcac",  # whitened class means and one threshold
    "TruncatedIPCAC": "ipcac.ipcac",  # the same, whitening only what can be estimated
    "OnlineIPCAC": "ipcac.online",  # the same from a stream, in bounded memory
    "KernelIPCAC": "ipcac.kernel",  # the same in the feature space of a kernel
    "MixtureIPCAC": "ipcac.mixture",  # classes of clusters, decided pair by pair
    # subspaces: local discriminative Gaussians
    "LDG": "ldg.ldg",  # neighbours of the own class near, of the others far
    "KernelLDG": "ldg.kernel",  # the same in the feature space of a kernel
    "SparseLDG": "ldg.sparse",  # directions of few features
    "TransferLDG": "ldg.transfer",  # a source with many rows, a target with few
    # rows of one domain for another
    "DomainScaler": "transfer.domains",  # mean zero and variance one in each; covariances, too
    "TargetWeighted": "transfer.weighted",  # few rows of the target count for more
    # subspaces: hyperplanes
    "MarginMaximizingDiscriminant": "margin.successive",  # successive widest margins
    "WithinSupportVectorDiscriminant": "margin.successive",  # margins measured by Sw
    "SupportVectorProjection": "margin.projection",  # one hyperplane for each class
    "SupportVectorICA": "margin.ica",  # hyperplanes and components independent of them
    "KernelSupportVectorICA": "margin.ica",  # the same in the feature space of a kernel
    # Gaussian classes in all features
    "QuadraticDiscriminant": "fisher.gaussian",  # QDA to LDA to nearest mean; diagonal
    # the opposite of a subspace
    "ClassEraser": "fisher.erase",  # rows that say nothing linear of a label
    # decisions
    "LocalQDA": "decision.local_qda",  # Gaussians of the neighbours in each class
    "DDAGClassifier": "decision.ddag",  # many classes from classifiers of two
    "WithRejection": "decision.rejection",  # may answer "none of these"
    "EarlyClassifier": "early.classifier",  # decides on incomplete rows, with a reliability
    # measuring and keeping
    "evaluate": "evaluate",
    "insight": "insight",  # what moments say without a row: errors, features, confidence
    "save": "files.model",  # models in files that hold no code
    "load": "files.model",
    "export": "base.export",  # linear models for other programs: JSON, CSV, ONNX
}
"""Public name → the module that defines it."""

__all__ = list(CONTENTS)


def __getattr__(name: str) -> Any:
    if name in CONTENTS:
        module = import_module(f"separatrix.{CONTENTS[name]}")
        return module if CONTENTS[name] == name else getattr(module, name)
    if not name.startswith("_") and find_spec(f"separatrix.{name}") is not None:
        return import_module(f"separatrix.{name}")
    raise AttributeError(f"module 'separatrix' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *CONTENTS})
