"""Rows of two domains: the option `--domain` of `fit`, and what it makes of a model."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.methods import DOMAIN_METHODS

domain_option = click.option(
    "--domain", metavar="COL",
    help="Column of domains, 'target' or a negative number where the model will be used: for "
    "TargetWeighted and TransferLDG. Each domain is scaled by itself.",
)  # fmt: skip


def check_domain_option(method: str, column: str | None, tune: bool, engine: str) -> None:
    """Raise where a method of two domains lacks its column, or another one has it."""
    if (column is not None) != (method in DOMAIN_METHODS):
        raise click.UsageError(
            f"--domain COL goes with --method {' or '.join(DOMAIN_METHODS)}, and they with it"
        )
    if column is not None and (tune or engine != "memory"):
        raise click.UsageError("--domain goes without --tune and --engine dask")


def scale_domains(column: Any, prepare: Any, estimator: Any) -> tuple[Any, dict[str, Any]]:
    """Preprocessing that scales each domain by itself, and parameters of fit that name them."""
    import numpy as np
    import pandas as pd
    from sklearn.pipeline import make_pipeline

    from separatrix.transfer.domains import DomainScaler

    values = pd.Series(np.asarray(column))
    numbers = pd.to_numeric(values, errors="coerce").to_numpy()
    of_target = (numbers < 0) | (values.astype(str) == "target").to_numpy()
    if of_target.all() or not of_target.any():
        raise ValueError(
            "--domain must have rows of both domains: 'target' or a negative number where the "
            "model will be used, and anything else for the others"
        )
    domains, scaler = np.where(of_target, -1, 1), DomainScaler()
    parts = scaler if prepare is None else make_pipeline(prepare, scaler)
    names = ["pipeline__domainscaler" if prepare is not None else "domainscaler"]
    names.append(type(estimator).__name__.lower())
    return parts, {f"{name}__sample_domain": domains for name in names}
