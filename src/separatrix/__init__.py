"""Supervised subspaces for labelled, high-dimensional data.

The names below are the public ones, by stage: data → statistics → subspace → decision.
"""

from separatrix import datasets, linalg
from separatrix.base import merge  # one model from models trained apart
from separatrix.fisher import (
    DirectDiscriminant,  # the span of the class means, Sw diagonal in it
    FisherDiscriminant,  # Fisher, LDA, MDA: also shrunk, after PCA, batch by batch
    GroupedDiscriminant,  # Fisher on groups of features: more than C - 1 directions
    GSVDDiscriminant,  # Fisher by the generalized SVD of the scatter factors
    LocalFisherDiscriminant,  # Fisher with neighbours: classes of several clusters
    MaximumMarginCriterion,  # Sb - Sw, orthonormal, nothing inverted
    NullSpaceDiscriminant,  # no scatter within classes, more features than samples
)
from separatrix.ipcac import (
    IPCAC,  # whitened class means and one threshold
    TruncatedIPCAC,  # the same, whitening only what can be estimated
)
from separatrix.ldg import (
    LDG,  # neighbours of the own class near, of the others far: multimodal and wide data
)
from separatrix.ldg_kernel import KernelLDG  # the same in the feature space of a kernel
from separatrix.ldg_sparse import SparseLDG  # directions of few features
from separatrix.ldg_transfer import (
    DomainScaler,  # mean zero and variance one in each domain
    TransferLDG,  # a source with many rows, a target with few
)
from separatrix.moments import ClassMoments  # counts, means, scatter: they add and subtract

__version__ = "0.1.0"

__all__ = [
    "IPCAC",
    "LDG",
    "ClassMoments",
    "DirectDiscriminant",
    "DomainScaler",
    "FisherDiscriminant",
    "GSVDDiscriminant",
    "GroupedDiscriminant",
    "KernelLDG",
    "LocalFisherDiscriminant",
    "MaximumMarginCriterion",
    "NullSpaceDiscriminant",
    "SparseLDG",
    "TransferLDG",
    "TruncatedIPCAC",
    "datasets",
    "linalg",
    "merge",
]
