"""
Where does a protein live?
==========================

Sequences of six locations, generated with known differences of composition: membrane proteins
have more hydrophobic residues, nuclear ones more lysine and arginine, and so on. Some locations
are rare. Each sequence becomes 430 numbers: the share of each amino acid, of each pair of
neighbours, and how much properties differ along the chain. A `DDAGClassifier
<separatrix.DDAGClassifier>` has a classifier for every pair of locations. The F-score of a
location is the harmonic mean of precision and recall.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from separatrix import DDAGClassifier, FisherDiscriminant, TruncatedIPCAC
from separatrix.features.proteins import RESIDUES, name_protein_features, protein_features

threadpool_limits(1)  # the problems are small: more threads only wait for each other

# %%
# Sequences with a known answer
# -----------------------------
#
# Residues are drawn by themselves, with shares that are even but for those of the location. Each
# protein also has a taste of its own: its shares are drawn around those of its location.

RAISED = {  # residues whose share is raised, by which factor, and how many proteins there are
    "cytoplasm": ("", 1.0, 200),
    "nucleus": ("KR", 1.5, 160),
    "membrane": ("FILV", 1.6, 160),
    "secreted": ("CG", 1.5, 80),
    "mitochondrion": ("AR", 1.4, 60),
    "vacuole": ("NST", 1.4, 30),
}
rng = np.random.default_rng(0)


def draw_sequences(letters: str, factor: float, n_proteins: int) -> list[str]:
    """Chains of 150 to 450 residues in which these letters are more frequent."""
    shares = np.where([residue in letters for residue in RESIDUES], factor, 1.0)
    own = rng.dirichlet(200 * shares / shares.sum(), size=n_proteins)
    lengths = rng.integers(150, 451, size=n_proteins)
    return ["".join(rng.choice(list(RESIDUES), n, p=p)) for n, p in zip(lengths, own, strict=True)]


sequences = [s for location in RAISED.values() for s in draw_sequences(*location)]
y = np.repeat(list(RAISED), [n for _, _, n in RAISED.values()])
X = protein_features(sequences)
half = rng.permutation(len(y)) < len(y) // 2
print(f"{len(y)} proteins, {X.shape[1]} features, the first: {sequences[0][:50]}...")

# %%
# F-scores
# --------
#
# Half of the proteins are held out. The weighted mean counts each protein, the plain mean each
# location. The 20 shares of amino acids alone are the features that were generated to differ.

models = {
    "DDAG of TIPCAC": (DDAGClassifier(TruncatedIPCAC()), slice(None)),
    "DDAG, 20 shares": (DDAGClassifier(TruncatedIPCAC()), slice(0, 20)),
    "Fisher": (FisherDiscriminant(shrinkage="auto"), slice(None)),
    "Fisher, 20 shares": (FisherDiscriminant(shrinkage="auto"), slice(0, 20)),
}
scores = {}
print(f"{'F-score, %':<18}{'weighted':>10}{'mean':>7}" + "".join(f"{k:>15}" for k in RAISED))
for name, (method, columns) in models.items():
    model = make_pipeline(StandardScaler(), method).fit(X[half, columns], y[half])
    predicted = model.predict(X[~half, columns])
    by_class = f1_score(y[~half], predicted, labels=list(RAISED), average=None, zero_division=0)
    weighted = f1_score(y[~half], predicted, average="weighted", zero_division=0)
    scores[name] = 100 * by_class
    cells = "".join(f"{100 * score:>15.1f}" for score in by_class)
    print(f"{name:<18}{100 * weighted:>10.1f}{100 * by_class.mean():>7.1f}{cells}")

figure, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
for i, (name, values) in enumerate(scores.items()):
    ax.bar(np.arange(len(RAISED)) + 0.2 * (i - 1.5), values, 0.2, label=name)
names = [f"{location}\n{n} proteins" for location, (_, _, n) in RAISED.items()]
ax.set_xticks(range(len(RAISED)), names)
ax.set_ylabel("F-score of the location, %")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))

# %%
# Which features say so
# ---------------------
#
# The features that go along most with the score of membrane proteins against all others are those
# that were raised, and pairs of them.

model = FisherDiscriminant(shrinkage="auto")
scaled = StandardScaler().fit_transform(X[half])
score = model.fit(scaled, y[half] == "membrane").decision_function(scaled)
correlations = scaled.T @ (score - score.mean()) / (len(score) * score.std())
names = name_protein_features()
print(", ".join(f"{names[j]} {correlations[j]:.2f}" for j in np.argsort(-correlations)[:8]))

# %%
# What this cannot do
# -------------------
#
# - The graph is not the best method here. Locations differ mostly by their means, the case for
#   which Fisher's discriminant is made; it is ahead by nine points of the weighted F-score.
#   Where classes have clusters, see :doc:`plot_are_rare_classes_found`.
# - More features are not better: residues were drawn by themselves, so that pairs of neighbours
#   add only noise, and cost six points. Real chains do have an order, and there pairs may help.
# - The cytoplasm has no residue of its own. It is what is left over, and the graph gives most
#   of it to other locations.
# - The features forget where in the chain a residue is: a signal peptide at its beginning, by
#   which cells sort proteins, is not seen.
# - These proteins have no relatives. Of real ones, homologous proteins must be on the same side
#   of a split, or any method looks good.

# sphinx_gallery_start_ignore
if plt.get_backend().lower() != "agg":
    plt.show()
# sphinx_gallery_end_ignore
