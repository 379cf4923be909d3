"""Numbers from the sequence of a protein: composition, pairs of neighbours, correlations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.linalg import Array

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
"""The twenty amino acids by their letters."""

_HYDROPHOBICITY = """
    0.62 0.29 -0.90 -0.74 1.19 0.48 -0.40 1.38 -1.50 1.06
    0.64 -0.78 0.12 -0.85 -2.53 -0.18 -0.05 1.08 0.81 0.26"""
_HYDROPHILICITY = """
    -0.5 -1.0 3.0 3.0 -2.5 0.0 -0.5 -1.8 3.0 -1.8
    -1.3 0.2 0.0 0.2 3.0 0.3 -0.4 -1.5 -3.4 -2.3"""
_MASS = "15 47 59 73 91 1 82 57 73 57 75 58 42 72 101 31 45 43 130 107"

PROPERTIES = {
    "hydrophobicity": tuple(map(float, _HYDROPHOBICITY.split())),
    "hydrophilicity": tuple(map(float, _HYDROPHILICITY.split())),
    "mass": tuple(map(float, _MASS.split())),
}
"""Properties of the amino acids in the order of `RESIDUES`: the consensus scale of hydrophobicity
of Eisenberg (1984), the hydrophilicity of Hopp and Woods (1981), the mass of the side chain."""

PSEUDO_LAGS = 10
"""Distances along the chain up to which properties are correlated."""


def encode_residues(sequence: str) -> Array:
    """Numbers of the residues, 0 to 19; anything but the twenty letters raises, with its place.

    Examples
    --------
    >>> encode_residues("ACD").tolist()
    [0, 1, 2]
    """
    letters = np.frombuffer(sequence.upper().encode("ascii", "replace"), dtype=np.uint8)
    numbers = np.full(256, -1)
    numbers[np.frombuffer(RESIDUES.encode(), dtype=np.uint8)] = np.arange(20)
    codes = numbers[letters]
    if not len(codes):
        raise ValueError("there are no residues")
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        place = int(unknown[0])
        raise ValueError(
            f"residue {sequence[place]!r} at place {place + 1} is none of the twenty, {RESIDUES}"
        )
    return codes


def composition(codes: Array) -> Array:
    """(20,): the share of each amino acid; they sum to one."""
    return np.bincount(codes, minlength=20) / len(codes)


def dipeptides(codes: Array) -> Array:
    """(400,): the share of each pair of neighbours; they sum to one, or to zero without a pair."""
    pairs = np.bincount(20 * codes[:-1] + codes[1:], minlength=400)
    return pairs / max(1, len(codes) - 1)


def pseudo_composition(codes: Array, n_lags: int = PSEUDO_LAGS) -> Array:
    """(n_lags,): how much properties differ at each distance along the chain.

    Entry k is the mean over all places i of the mean over `PROPERTIES`, brought to mean zero and
    variance one over the twenty amino acids, of ``(h(i + k) - h(i))²``: the sequence-order
    correlation θₖ of Chou. It is zero for chains that are no longer than k.

    References
    ----------
    Chou, Prediction of protein cellular attributes using pseudo-amino acid composition, Proteins
    43 (2001).
    """
    table = np.array(list(PROPERTIES.values()))
    table = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
    along = table[:, codes]
    lags = range(1, n_lags + 1)
    return np.array(
        [np.mean((along[:, k:] - along[:, :-k]) ** 2) if k < len(codes) else 0.0 for k in lags]
    )


def protein_features(sequences: Sequence[str]) -> Array:
    """(n_proteins, 430): composition, pairs of neighbours, and correlations of distant residues.

    Parameters
    ----------
    sequences : sequence of str
        Letters of the amino acids.

    Examples
    --------
    >>> X = protein_features(["ACDA", "MKV"])
    >>> X.shape, X[0, :4].tolist()
    ((2, 430), [0.5, 0.25, 0.25, 0.0])
    """
    rows = []
    for sequence in sequences:
        codes = encode_residues(sequence)
        rows.append(
            np.concatenate([composition(codes), dipeptides(codes), pseudo_composition(codes)])
        )
    return np.array(rows).reshape(len(rows), -1)


def name_protein_features() -> list[str]:
    """Names of the columns of `protein_features`: A, AC, order1 and so on."""
    pairs = [a + b for a in RESIDUES for b in RESIDUES]
    return [*RESIDUES, *pairs, *(f"order{k + 1}" for k in range(PSEUDO_LAGS))]
