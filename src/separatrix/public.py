"""The public names, by stage: data → statistics → subspace → decision.

All of them are importable from `separatrix`, which loads this module when the first is asked for.
"""

from separatrix import datasets, evaluate, linalg
from separatrix.base_moments import merge  # one model from models trained apart
from separatrix.ddag import DDAGClassifier  # many classes from classifiers of two
from separatrix.decision import LocalQDA  # Gaussians of the neighbours in each class
from separatrix.early import EarlyClassifier  # decides on incomplete rows, with a reliability
from separatrix.fisher import (
    DirectDiscriminant,  # the span of the class means, Sw diagonal in it
    FisherDiscriminant,  # Fisher, LDA, MDA: also shrunk, after PCA, batch by batch
    GroupedDiscriminant,  # Fisher on groups of features: more than C - 1 directions
    GSVDDiscriminant,  # Fisher by the generalized SVD of the scatter factors
    LocalFisherDiscriminant,  # Fisher with neighbours: classes of several clusters
    MaximumMarginCriterion,  # Sb - Sw, orthonormal, nothing inverted
    NullSpaceDiscriminant,  # no scatter within classes, more features than samples
)
from separatrix.fisher_kernel import (
    KernelFisherDiscriminant,  # Fisher in the feature space of a kernel
)
from separatrix.ipcac import (
    IPCAC,  # whitened class means and one threshold
    TruncatedIPCAC,  # the same, whitening only what can be estimated
)
from separatrix.ipcac_kernel import KernelIPCAC  # IPCAC in the feature space of a kernel
from separatrix.ipcac_mixture import MixtureIPCAC  # classes of clusters, decided pair by pair
from separatrix.ipcac_online import OnlineIPCAC  # the same from a stream, in bounded memory
from separatrix.ldg import (
    LDG,  # neighbours of the own class near, of the others far: multimodal and wide data
)
from separatrix.ldg_kernel import KernelLDG  # the same in the feature space of a kernel
from separatrix.ldg_sparse import SparseLDG  # directions of few features
from separatrix.ldg_transfer import (
    DomainScaler,  # mean zero and variance one in each domain
    TransferLDG,  # a source with many rows, a target with few
)
from separatrix.margin import (
    MarginMaximizingDiscriminant,  # successive hyperplanes of the widest margin
    SupportVectorProjection,  # one hyperplane a class, repetitions dropped
    WithinSupportVectorDiscriminant,  # successive hyperplanes, margins measured by Sw
)
from separatrix.margin_ica import (
    KernelSupportVectorICA,  # hyperplanes and uncorrelated independent components, by a kernel
    SupportVectorICA,  # hyperplanes and independent components orthogonal to them
)
from separatrix.moments import ClassMoments  # counts, means, scatter: they add and subtract
from separatrix.persist import load, save  # models in files that hold no code

__all__ = [
    "IPCAC",
    "LDG",
    "ClassMoments",
    "DDAGClassifier",
    "DirectDiscriminant",
    "DomainScaler",
    "EarlyClassifier",
    "FisherDiscriminant",
    "GSVDDiscriminant",
    "GroupedDiscriminant",
    "KernelFisherDiscriminant",
    "KernelIPCAC",
    "KernelLDG",
    "KernelSupportVectorICA",
    "LocalFisherDiscriminant",
    "LocalQDA",
    "MarginMaximizingDiscriminant",
    "MaximumMarginCriterion",
    "MixtureIPCAC",
    "NullSpaceDiscriminant",
    "OnlineIPCAC",
    "SparseLDG",
    "SupportVectorICA",
    "SupportVectorProjection",
    "TransferLDG",
    "TruncatedIPCAC",
    "WithinSupportVectorDiscriminant",
    "datasets",
    "evaluate",
    "linalg",
    "load",
    "merge",
    "save",
]
