"""The command that fits a model to a table and keeps it in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

from separatrix.cli.blocks import engine_option, fit_arrays, fit_blocks, one_pass_suffices
from separatrix.cli.console import Console
from separatrix.cli.databases import fit_database, sums_suffice
from separatrix.cli.domains import check_domain_option, domain_option, scale_domains
from separatrix.cli.inputs import read_labelled_table
from separatrix.cli.methods import build_estimator, check_methods
from separatrix.cli.options import (
    DATA_HELP,
    console_options,
    data_argument,
    data_options,
    decision_option,
    method_option,
    output_option,
    preparation_options,
    rows_option,
    seed_option,
    set_option,
    split_names,
    words_options,
)
from separatrix.cli.output import check_outputs
from separatrix.cli.protocol import TUNING, read_classifier, read_tuning, tuning_options
from separatrix.files.reading import Reading


class Fitted(NamedTuple):
    """A fitted model, and what is said of it.

    `words` are the columns that are read as text, `text` those whose words are learned from,
    `chosen` the parameters that tuning chose, `farthest` the distance of the training row that is
    farthest from all classes, `learned` the digests of the rows where they are to be kept,
    `barred` why `merge` will not take the model, as it was said before the fit.
    """

    model: Any
    target: str
    n_rows: int
    n_features: int
    classes: list[Any]
    words: Sequence[str] = ()
    text: Sequence[str] = ()
    chosen: dict[str, Any] | None = None
    farthest: float | None = None
    learned: Any = None
    barred: str | None = None


@click.command("fit", epilog=DATA_HELP)
@data_argument
@method_option
@set_option
@decision_option("Classifier in the subspace; 3nn for methods that have none.")
@click.option(
    "--tune",
    is_flag=True,
    help="Choose settings as `compare` does in each split; without it they are defaults.",
)
@tuning_options
@output_option("File for the model.", required=True)
@click.option("--max-norm", "clip", type=click.FloatRange(0, min_open=True), metavar="LENGTH",
              help="Shorten rows to this length, for noise in `merge --epsilon`.")  # fmt: skip
@click.option("--multilabel-sep", "several", metavar="SEP",
              help="Rows have several labels, with SEP between: one classifier each.")  # fmt: skip
@domain_option
@click.option("--remember", is_flag=True,
              help="Keep a digest of each row: `forget` then refuses rows never learned. "
              "With a row and the file anyone can find out that it was learned.")  # fmt: skip
@engine_option
@data_options
@preparation_options
@words_options
@rows_option
@seed_option
@console_options
def fit_command(
    data: str,
    method: str | None,
    settings: Sequence[str],
    decision: str,
    tune: bool,
    output: str,
    clip: float | None,
    reading: Reading,
    several: str | None,
    remember: bool,
    engine: str,
    seed: int,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Learn a subspace from a labelled table and write it, with its preparation, to a file.

    \b
    Examples:
      separatrix fit wine -o wine.model
      separatrix fit wine -m KernelIPCAC --tune -o wine.model    # as `compare` judged it
      separatrix fit genes.csv -t kind --id sample -m LDG --set n_components=2 -o genes.model
      separatrix fit site1.csv -o site1.model    # it says whether `merge` takes it
      separatrix fit embeddings.npy --labels labels.npy -o head.model    # one pass, any size
      separatrix fit days/ --engine dask -t kind -o days.model    # larger than memory
      separatrix fit "duckdb:trips/*.parquet" -t kind -o trips.model    # no row is read
      separatrix fit mails/ -o spam.model    # folders ham/ and spam/
      separatrix fit reviews.csv -t stars --text review -o reviews.model
    """
    console = Console(as_json, quiet)
    if tune and settings:
        raise click.UsageError("--tune chooses the settings: leave out --set, or --tune")
    asked = [f"--{name}" for name in TUNING if options[name] is not None]
    if asked and not tune:
        raise click.UsageError(f"{asked[0]} says how settings are chosen: give --tune with it")
    given = {**options, "tune": tune, "clip": clip, "remember": remember}
    check_outputs([output], inputs=[data, reading.labels, reading.samples])
    if data.endswith(".npy") and reading.labels is None and reading.samples is None:
        raise ValueError(f"{data} has rows and no labels: give these, too (--labels labels.npy)")
    if method is None:
        in_words = engine == "memory" and has_words(data, reading.text)
        method = "TruncatedIPCAC" if in_words else "FisherDiscriminant"
    (method,) = check_methods([method], own_first=True)
    check_domain_option(method, options["domain"], tune, engine)
    estimator = build_estimator(method, settings, seed)
    scale = options["scale"]
    if several is not None:
        if tune or engine == "dask" or decision != "own":
            raise click.UsageError("--multilabel-sep goes with --method and --set alone")
        from separatrix.decision.several import SeveralLabels

        estimator = SeveralLabels(estimator, sep=several)
    if engine == "dask":
        learned = fit_blocks(console, data, reading, estimator, decision, given)
    elif one_pass_suffices(data, reading, estimator, decision, given):
        learned = fit_arrays(console, data, reading, estimator, scale)
    elif several is None and sums_suffice(data, reading, estimator, decision, given):
        learned = fit_database(console, data, reading, estimator, scale)
    else:
        learned = None
        to_tune = method if tune else None
        fitted = _fit_in_memory(console, data, reading, estimator, to_tune, decision, seed, given)
    if learned is not None:
        model, target, n_rows = learned
        n_features, names = model.n_features_in_, estimator.classes_.tolist()
        fitted = Fitted(model, target, n_rows, n_features, names)
    _save(fitted, output, method, options["missing"], clip, data)
    console.done(*_describe(fitted, output, method))


def has_words(data: str, text: Sequence[str]) -> bool:
    """Whether words are learned from, so that rows are wide and sparse."""
    from separatrix.files.mails import is_mail_source

    return bool(text) or is_mail_source(data)


def _fit_in_memory(
    console: Console,
    data: str,
    reading: Reading,
    estimator: Any,
    to_tune: str | None,
    decision: str,
    seed: int,
    options: Mapping[str, Any],
) -> Fitted:
    """A model of a table that is read whole; `to_tune` names a method that is tuned to it."""
    import numpy as np

    from separatrix.cli.forget import digest_rows
    from separatrix.evaluate.contents import judge_novelty
    from separatrix.features.words import named_empty_vocabulary
    from separatrix.files.columns import find_text_columns
    from separatrix.files.preparation import preprocessing

    keep = [options[name] for name in ("group", "domain") if options[name] is not None]
    reading = replace(reading, ignore=(*reading.ignore, *keep))
    table = read_labelled_table(console, data, reading, keep)
    if options["clip"] is not None:
        table = _clip(console, table, options["clip"])
    name_groups(estimator, table.X.columns)
    prepared = {n: options[n] for n in ("scale", "categorical", "missing", "hashed", "latent")}
    prepare = preprocessing(
        table.X, text=table.text, rows=split_names(options["rows"]), **prepared
    )
    chosen, barred = None, None
    with named_empty_vocabulary():
        if to_tune is not None:
            from separatrix.evaluate.comparison import tuned
            from separatrix.evaluate.methods import with_steps
            from separatrix.evaluate.records import to_plain

            rule = read_classifier(decision, options["classifier"])
            (method,) = with_steps(to_tune, prepare=prepare, then=rule)
            protocol = {"random_state": seed, **read_tuning(table.kept, options)}
            with console.progress("fit") as update:
                update(0, None, f"choosing settings of {to_tune} by {len(table.y)} rows")
                model, settings = tuned(method, table.X, table.y, **protocol)
            chosen = to_plain(settings)
        else:
            model, barred = _learn(console, table, prepare, estimator, decision, options["domain"])
    classes = sorted(set(table.y.tolist()))
    words = [name for name in find_text_columns(table.X) if name not in table.text]
    n_rows, n_features = table.X.shape
    if table.text:
        n_features = count_features(model)
    novelty = judge_novelty(model, table.X, beyond=np.inf)
    farthest = None if novelty is None else float(novelty.distances.max())
    learned = np.sort(digest_rows(table.X, table.y)) if options["remember"] else None
    return Fitted(
        model, table.target, n_rows, n_features, classes, words, table.text, chosen, farthest,
        learned, barred,
    )  # fmt: skip


def _learn(
    console: Console, table: Any, prepare: Any, estimator: Any, decision: str, domain: str | None
) -> tuple[Any, str | None]:
    """A fitted model, and why `merge` will not take it, which is said before the fit."""
    from separatrix.base.merging import why_not_mergeable

    steps: dict[str, Any] = {}
    if domain is not None:
        prepare, steps = scale_domains(table.kept[domain], prepare, estimator)
    model = assemble(prepare, estimator, decision, len(table.y))
    if (barred := why_not_mergeable(model)) is not None:
        console.note(f"`separatrix merge` will not take this model: {barred}")
    with console.progress("fit") as update:
        update(0, None, f"{type(estimator).__name__} learns {len(table.y)} rows")
        return model.fit(table.X, table.y, **steps), barred


def name_groups(estimator: Any, names: Sequence[str]) -> None:
    """Give groups of channels or times as columns: scaled rows have no names to tell them by."""
    groups = getattr(estimator, "groups", None)
    if isinstance(groups, str):
        from separatrix.fisher.grouped import epoch_groups

        estimator.set_params(groups=[g.tolist() for g in epoch_groups(groups, None, names)])


def count_features(model: Any) -> int:
    """Features of the method itself, behind the steps that make them."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    return int(next(s.n_features_in_ for s in steps if hasattr(s, "classes_")))


def assemble(prepare: Any, estimator: Any, decision: str, n_rows: int) -> Any:
    """Preprocessing, the method, and the rule that classifies, as one model."""
    from sklearn.pipeline import make_pipeline

    from separatrix.evaluate.classify import rule_to_keep
    from separatrix.evaluate.methods import find_rule, has_own_rule

    if decision == "own" and not has_own_rule(estimator):
        decision = "3nn"
    if decision != "own" and not hasattr(estimator, "transform"):
        raise ValueError(f"{type(estimator).__name__} has no subspace: leave out --decision")
    rule = find_rule(decision)
    steps = [prepare, estimator, None if rule is None else rule_to_keep(rule.estimator, n_rows)]
    present = [step for step in steps if step is not None]
    return make_pipeline(*present) if len(present) > 1 else present[0]


def _clip(console: Console, table: Any, clip: float) -> Any:
    """A table whose rows are no longer than `clip`."""
    from separatrix.files.columns import check_features
    from separatrix.moments.noise import clip_rows

    check_features(table.X)  # gaps and text have no length
    values = table.X.to_numpy()
    clipped = clip_rows(values, clip)
    n_longer = int((clipped != values).any(axis=1).sum())
    console.note(f"{n_longer} of {len(values)} rows are longer than {clip:g} and were shortened")
    return table._replace(X=type(table.X)(clipped, table.X.index, table.X.columns))


def _save(
    fitted: Fitted, output: str, method: str, missing: str, clip: float | None, data: str
) -> None:
    from separatrix.files.model import save

    notes = {
        "target": fitted.target,
        "words": list(fitted.words),
        "text": list(fitted.text),
        "missing": missing,
        "method": method,
        "rows": fitted.n_rows,
        "data": data,
        "fitted": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if fitted.farthest is not None:
        notes["farthest"] = fitted.farthest
    if fitted.chosen is not None:
        notes["chosen"] = fitted.chosen
    if clip is not None:
        notes["clip"] = clip
    if fitted.learned is not None:
        notes["learned"] = fitted.learned
    save(fitted.model, output, notes=notes)


def _describe(fitted: Fitted, output: str, method: str) -> tuple[dict[str, Any], str]:
    """The result of the command as a record and in words."""
    from separatrix.base.merging import why_not_mergeable

    record: dict[str, Any] = {
        "model": output,
        "method": method,
        "rows": fitted.n_rows,
        "features": fitted.n_features,
    }
    text = (
        f"{method} learned {fitted.n_rows} rows, {fitted.n_features} features, "
        f"{len(fitted.classes)} classes: {output}"
    )
    if fitted.chosen is not None:
        record["chosen"] = fitted.chosen
        chosen = ", ".join(f"{name}={value}" for name, value in fitted.chosen.items())
        text += f"\nChosen: {chosen or 'nothing, there is no choice'}"
    reason = why_not_mergeable(fitted.model)
    record["merges"] = reason is None
    if reason is not None:
        record["why_not_merged"] = reason
        text += "" if fitted.barred else f"\n`separatrix merge` does not take it: {reason}"
    return {**record, "classes": fitted.classes}, text
