"""Proteins in FASTA files: one file with labels in its headers, or a file for each class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from separatrix.features.proteins import name_protein_features, protein_features

FASTA_SUFFIXES = (".fasta", ".fa", ".faa")


class Protein(NamedTuple):
    """One entry: its name, its label (None where there is none), its residues."""

    name: str
    label: str | None
    sequence: str


def is_protein_source(source: Any) -> bool:
    """Whether a path is a FASTA file, or a folder of them."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    if path.is_dir():
        return any(p.suffix in FASTA_SUFFIXES for p in path.iterdir())
    return path.suffix in FASTA_SUFFIXES and path.is_file()


def iter_proteins(source: Any) -> Iterator[Protein]:
    r"""Entries of a FASTA file, or of a folder with one for each class.

    The label of an entry is the name of its file in a folder, else the text after the last ``|``
    of its header. A final ``*`` is the end of a chain, no residue.
    """
    path = Path(source)
    if path.is_dir():
        for part in sorted(p for p in path.iterdir() if p.suffix in FASTA_SUFFIXES):
            for entry in iter_proteins(part):
                yield entry._replace(label=part.stem)
        return
    header: str | None = None
    lines: list[str] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        text = line.strip()
        if text.startswith(">"):
            if header is not None:
                yield _make_protein(header, lines)
            header, lines = text[1:], []
        elif text and header is None:
            raise ValueError(f"{path}: line {number} comes before the first header, >name|label")
        elif text:
            lines.append(text)
    if header is not None:
        yield _make_protein(header, lines)


def _make_protein(header: str, lines: list[str]) -> Protein:
    name, mark, label = header.rpartition("|")
    chain = "".join("".join(lines).split()).removesuffix("*")
    return Protein(name.strip(), label.strip(), chain) if mark else Protein(label, None, chain)


def read_protein_columns(
    source: Any, *, skip_bad: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Columns ``name``, those of `features.proteins`, and ``kind`` where there are labels.

    Parameters
    ----------
    source : path
        As in `iter_proteins`.
    skip_bad : bool
        Leave out proteins with unknown residues, in place of an error that names the first.

    Returns
    -------
    columns : dict
    skipped : list of str
        Names of proteins that were left out.
    """
    kept, rows, skipped = [], [], []
    for protein in iter_proteins(source):
        try:
            rows.append(protein_features([protein.sequence])[0])
            kept.append(protein)
        except ValueError as error:
            if not skip_bad:
                raise ValueError(
                    f"{source}: protein {protein.name!r}: {error}. Correct it, or leave out such "
                    "proteins (--skip-bad)"
                ) from None
            skipped.append(protein.name)
    if not kept:
        raise ValueError(f"{source} has no proteins: entries begin with a line >name|label")
    columns: dict[str, Any] = {"name": [protein.name for protein in kept]}
    for j, name in enumerate(name_protein_features()):
        columns[name] = [row[j] for row in rows]
    if all(protein.label for protein in kept):
        columns["kind"] = [protein.label for protein in kept]
    return columns, skipped
