"""What the ridge of a kernel does to accuracy on the bundled data, standardised, ten folds.

``python -m benchmarks.ridge`` prints a table for each set.
"""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import KernelIPCAC, datasets

RIDGES = (0, 1e-4, 0.01, 0.1, 1, 10)


def report(title: str, X: Any, y: Any) -> None:
    """Print the accuracy of each model."""
    models = {f"KernelIPCAC, ridge {ridge:g}": KernelIPCAC(ridge=ridge) for ridge in RIDGES}
    models |= {"KernelIPCAC, truncated": KernelIPCAC(truncate=True), "SVC": SVC()}
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    print(f"{title}, accuracy in percent, mean ± standard deviation over folds")
    for name, model in models.items():
        scores = 100 * cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=folds)
        print(f"  {name:<36}{scores.mean():6.2f} ± {scores.std():.2f}", flush=True)


if __name__ == "__main__":
    cancer, digits = datasets.load("breast_cancer"), datasets.load("digits")
    report("breast cancer", cancer.data, cancer.target)
    report("digits, odd or even", digits.data, digits.target.astype(int) % 2)
