"""The command that merges models that were trained apart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.error import note_expected_error
from separatrix.cli.inputs import read_model
from separatrix.cli.options import console_options, output_option
from separatrix.cli.output import check_outputs


@click.command("merge")
@click.argument("models", nargs=-1, required=True, type=click.Path())
@click.option("--without", multiple=True, type=click.Path(), metavar="MODEL",
              help="Model whose rows are taken out of the sum; may be repeated.")  # fmt: skip
@click.option("--epsilon", type=float, metavar="E",
              help="Add Gaussian noise to each model: differential privacy.")  # fmt: skip
@click.option(
    "--delta", type=float, metavar="D", help="The delta of differential privacy, such as 1e-6."
)
@click.option("--max-norm", "clip", type=float, metavar="LENGTH",
              help="Length to which `fit --max-norm` has shortened rows.")  # fmt: skip
@output_option("File for the merged model.", required=True)
@console_options
def merge_command(
    models: Sequence[str],
    without: Sequence[str],
    epsilon: float | None,
    delta: float | None,
    clip: float | None,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make one model of several that were trained apart: the model of all their rows.

    For models fitted by `fit` with default options, scaled columns included, or by `stream`:
    FisherDiscriminant, QuadraticDiscriminant, HeteroscedasticDiscriminant,
    PartialLeastSquaresDiscriminant, IPCAC, TruncatedIPCAC and OnlineIPCAC. Columns are found
    by name. `fit` says where a model cannot be merged. Each site's influence is printed: how
    far its class means are from those of the others, in standard deviations, and by how many
    degrees the directions turn without it.

    \b
    Examples:
      separatrix merge site1.model site2.model -o all.model
      separatrix merge all.model --without site2.model -o rest.model    # a site leaves
      separatrix merge *.model --epsilon 1 --delta 1e-6 --max-norm 10 -o private.model
    """
    from separatrix.base.merging import merge
    from separatrix.files.model import save

    console = Console(as_json, quiet)
    check_outputs([output], inputs=[*models, *without])
    _check_repetition([*models, *without])
    if len(models) < 2 and not without:
        raise click.UsageError(
            f"{models[0]} is one model: give two or more to be merged, or one to be left out "
            "(--without)"
        )
    stored, leaving = ([read_model(path) for path in paths] for paths in (models, without))
    for path, site in zip(models, stored, strict=True):
        _check_clipped(path, site.notes, clip if epsilon is not None else None)
    noise = {"epsilon": epsilon, "delta": delta, "clip": clip}
    try:
        gone = [site.model for site in leaving]
        model = merge([site.model for site in stored], without=gone, **noise)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        numbered = ", ".join(f"model {i} is {path}" for i, path in enumerate([*models, *without]))
        raise ValueError(f"{error} ({numbered})") from None
    influences = _influences(console, models, [site.model for site in stored], model)
    rows = sum(site.notes.get("rows", 0) for site in stored)
    rows -= sum(site.notes.get("rows", 0) for site in leaving)
    # a merged model belongs to no single stream: nothing could be resumed
    notes = {k: v for k, v in stored[0].notes.items() if k not in NOT_JOINED}
    notes |= _join_digests([site.notes for site in stored], [site.notes for site in leaving])
    if "data" in notes:
        notes["data"] = _name_data(stored, leaving)
        notes["fitted"] = datetime.now(UTC).isoformat(timespec="seconds")
    if epsilon is not None:
        notes["noise"] = noise
    save(model, output, notes={**notes, "rows": rows})
    left_out = f", without {len(without)}" if without else ""
    record = {"model": output, "merged": list(models), "without": list(without), "rows": rows}
    noised = "" if epsilon is None else f", with noise of epsilon {epsilon:g}, delta {delta:g}"
    lines = [_describe(path, site) for path, site in influences.items()]
    these = f"{len(models)} models" if len(models) > 1 else models[0]
    are = "are merged" if len(models) > 1 else "is kept"
    summary = f"{these} of {rows} rows {are}{left_out}{noised}: {output}"
    expected = note_expected_error(model)
    record["expected_error"] = expected
    console.done(
        {**record, "influence": {k: v._asdict() for k, v in influences.items()}},
        "\n".join([*lines, summary, *filter(None, [expected])]),
    )


NOT_JOINED = ("stream", "head", "forgotten", "learned")
"""Notes of one site that are none of several."""


def _join_digests(stored: Sequence[Any], leaving: Sequence[Any]) -> dict[str, Any]:
    """The rows that all sites have forgotten, and those learned where every site knows them."""
    import numpy as np

    from separatrix.cli.forget import take_digests

    joined = {}
    if all("forgotten" in notes for notes in stored):
        # what one site has forgotten, another may have learned
        first, *others = (np.asarray(notes["forgotten"]) for notes in stored)
        for other in others:
            first = np.intersect1d(first, other)
        joined["forgotten"] = first
    if all("learned" in notes for notes in (*stored, *leaving)):
        learned = np.sort(np.concatenate([notes["learned"] for notes in stored]))
        for notes in leaving:
            learned = take_digests(learned, np.asarray(notes["learned"]))[0]
        joined["learned"] = learned
    return joined


def _name_data(stored: Sequence[Any], leaving: Sequence[Any]) -> str:
    """The data of all sites, and of those whose rows were taken out."""
    known, gone = (
        ", ".join(dict.fromkeys(str(site.notes.get("data", "unknown")) for site in sites))
        for sites in (stored, leaving)
    )
    return f"{known}, without {gone}" if gone else known


def _influences(
    console: Console, paths: Sequence[str], models: Sequence[Any], merged: Any
) -> dict[str, Any]:
    """The influence of each site, with a warning for those unlike the others."""
    from separatrix.base.influence import site_influences

    if len(models) < 2:
        return {}
    influences = dict(zip(paths, site_influences(models, merged), strict=True))
    for path, site in influences.items():
        if site.strange:
            console.note(
                f"{path} is unlike the others: {site.strange}. Has it the same units and labels? "
                f"--without {path} takes it out again"
            )
    return influences


def _describe(path: str, site: Any) -> str:
    shift = "no class of the others" if site.shift != site.shift else f"means {site.shift:.2f} off"
    turn = "" if site.angle != site.angle else f", turns directions by {site.angle:.1f}°"
    return f"{path}: {site.rows:g} rows ({100 * site.share:.1f} %), {shift}{turn}"


def _check_clipped(path: str, notes: dict[str, Any], clip: float | None) -> None:
    """Raise where noise would promise what long rows do not keep."""
    if clip is None:
        return
    known = notes.get("clip")
    if known is None or known > clip:
        how = "without --max-norm" if known is None else f"with --max-norm {known:g}"
        raise ValueError(
            f"{path} was fitted {how}, and noise for rows of length {clip:g} does not protect "
            f"longer ones: fit it with --max-norm {clip:g}"
        )


def _check_repetition(models: Sequence[str]) -> None:
    for i, path in enumerate(models):
        for other in models[:i]:
            if Path(path).exists() and Path(other).exists() and Path(path).samefile(other):
                raise ValueError(f"{path} is named twice: its rows would count twice")
