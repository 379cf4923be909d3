"""From FASTA files to localisations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from separatrix import load
from separatrix.features.proteins import RESIDUES
from separatrix.files.tables import read_table
from tests.cli.running import run

LIKES = {"nucleus": "KR", "golgi": "LV", "cytoplasm": "DE"}


def write_proteins(path, n=60, seed=0, several=False):
    """Chains that have more of some residues than others, by their places."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        places = [list(LIKES)[i % 3]]
        places += [list(LIKES)[(i + 1) % 3]] if several and i % 4 == 0 else []
        letters = list(RESIDUES + "".join(LIKES[place] * 6 for place in places))
        chain = "".join(rng.choice(letters, 120))
        lines += [f">p{i}|{';'.join(places)}", chain[:60], chain[60:]]
    Path(path).write_text("\n".join(lines) + "\n")


def test_proteins_become_a_graph_of_classifiers():
    write_proteins("p.fasta")
    write_proteins("new.fasta", seed=1)
    run("fit", "p.fasta", "-m", "DDAGClassifier", "-o", "p.model")
    found = run("predict", "p.model", "new.fasta", "--keep", "name", "--json")
    record = json.loads(found.stdout)
    assert record["accuracy"] > 0.8
    assert record["columns"]["name"][0] == "p0"


def test_proteins_live_in_several_places():
    write_proteins("p.fasta", 120, several=True)
    write_proteins("new.fasta", seed=1, several=True)
    run("fit", "p.fasta", "-m", "TruncatedIPCAC", "--multilabel-sep", ";", "-o", "p.model")
    found = run("predict", "p.model", "new.fasta", "--json")
    assert "have exactly the labels that are predicted" in found.stderr
    labels = {
        p for text in json.loads(found.stdout)["columns"]["prediction"] for p in text.split(";")
    }
    assert labels == set(LIKES)
    new = read_table("new.fasta")
    assert json.loads(found.stdout)["accuracy"] == load("p.model").score(new.X, new.y)


def test_proteins_with_unknown_residues_are_left_out_and_counted():
    write_proteins("p.fasta")
    text = Path("p.fasta").read_text().replace(">p7|golgi\n", ">p7|golgi\nX", 1)
    Path("p.fasta").write_text(text)
    said = run("fit", "p.fasta", "-o", "p.model", code=1).stderr
    assert "protein 'p7': residue 'X' at place 1" in said
    said = run("fit", "p.fasta", "--skip-bad", "-o", "p.model").stderr
    assert "1 of 60 items are left out: p7" in said
