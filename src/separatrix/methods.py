"""Methods by their names, by usual acronyms, and by the names of the papers, in any case."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

OTHER_NAMES = {
    "FisherDiscriminant": "lda rlda fisher fda flda",
    "NullSpaceDiscriminant": "nlda nullspace null-space-lda",
    "DirectDiscriminant": "dlda direct-lda",
    "GSVDDiscriminant": "lda/gsvd gsvd-lda gsvd",
    "MaximumMarginCriterion": "mmc",
    "KernelFisherDiscriminant": "kfd kda kfda klda gda",
    "LocalFisherDiscriminant": "lfda",
    "HeteroscedasticDiscriminant": "hlda hda",
    "GroupedDiscriminant": "grouped-lda",
    "PartialLeastSquaresDiscriminant": "pls-da pls plsda",
    "QuadraticDiscriminant": "qda rda",
    "TruncatedIPCAC": "tipcac t-ipcac",
    "OnlineIPCAC": "o-ipcac oipcac",
    "KernelIPCAC": "k-ipcac kipcac k-tipcac",
    "MixtureIPCAC": "mipcac m-ipcac",
    "KernelLDG": "kldg k-ldg",
    "SparseLDG": "sldg s-ldg",
    "TransferLDG": "tldg t-ldg",
    "MarginMaximizingDiscriminant": "mmda",
    "WithinSupportVectorDiscriminant": "wsvda wsvm",
    "SupportVectorProjection": "svp svm-projection",
    "SupportVectorICA": "svmica svm+ica svm-ica",
    "KernelSupportVectorICA": "ksvmica kernel-svm+ica",
    "LocalQDA": "lqda local-qda",
    "DDAGClassifier": "ddag",
}
"""Other names of a method, with spaces between."""


def _package() -> Any:
    """The package itself, whose table of contents has the public names."""
    return import_module("separatrix")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum() or letter in "+/")


def find_public_name(name: str) -> str | None:
    """The public name that a name or alias means; None where there is none.

    Examples
    --------
    >>> find_public_name("PLS-DA"), find_public_name("ldg"), find_public_name("nothing")
    ('PartialLeastSquaresDiscriminant', 'LDG', None)
    """
    own = {_plain(known): known for known in _package().__all__ if known[:1].isupper()}
    others = {_plain(a): known for known, names in OTHER_NAMES.items() for a in names.split()}
    return {**others, **own}.get(_plain(name))


def find(name: str) -> type:
    """The class of a method by its name, a usual acronym, or its name in a paper, in any case.

    Examples
    --------
    >>> from separatrix import methods
    >>> methods.find("lda").__name__, methods.find("MMDA").__name__
    ('FisherDiscriminant', 'MarginMaximizingDiscriminant')
    """
    known = find_public_name(name)
    if known is None:
        names = [
            *_package().__all__,
            *(a for names in OTHER_NAMES.values() for a in names.split()),
        ]
        near = difflib.get_close_matches(name.lower(), [n.lower() for n in names], 1)
        guess = f": did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name!r} is not a method{guess}")
    found = getattr(_package(), known)
    if not isinstance(found, type):
        raise ValueError(f"{name!r} is not a method: {known} is a function")
    return found
