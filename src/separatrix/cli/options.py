"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click

from separatrix.cli.methods import list_methods
from separatrix.files.reading import READING_NAMES, Reading, spell_option

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DATA_HELP = """DATA is a file (csv, tsv, parquet, npz, npy, arff, ts, xlsx, fasta, -epo.fif, h5ad;
also packed, as .csv.gz), a folder or pattern of csv, tsv or parquet files, a folder with a folder,
Maildir or .mbox of e-mails for each class, the name of a bundled data set (see `separatrix
datasets`), a database (duckdb:PATTERN of parquet or csv, duckdb:///f.db?table=t,
sqlite:///f.db?table=t, postgresql://user@host/db?table=t, or ?query=SELECT… at the end), or - for
standard input."""


def combine(*options: Decorator) -> Decorator:
    """Several options as one decorator; help lists them in the order given here."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def split_names(text: str) -> list[str]:
    """Names that are given with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


# Completion in the shell ---------------------------------------------------------------------


def complete_from(list_names: Callable[[], Sequence[str]]) -> Callable[..., list[str]]:
    """Complete from names, several of them with commas between; they are listed when needed."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{n}" for n in list_names() if n.lower().startswith(last.lower())]

    return complete


def list_bundled() -> list[str]:
    """Names of the data sets that come along."""
    from separatrix.files.bundled import BUNDLED

    return sorted(BUNDLED)


def complete_data(ctx: Any, param: Any, incomplete: str) -> list[Any]:
    """Complete from bundled names and files."""
    from click.shell_completion import CompletionItem

    names = [name for name in list_bundled() if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]


# Input and output ----------------------------------------------------------------------------

data_argument = click.argument("data", shell_complete=complete_data)
model_argument = click.argument("model", type=click.Path())


def output_option(text: str, *, required: bool = False) -> Any:
    """The option `-o`, with its help."""
    kind = click.Path(dir_okay=False)
    return click.option("-o", "--output", type=kind, required=required, help=text)


console_options = combine(
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="Show results and errors only."),
)
"""`--json` and `--quiet`."""

# How rows are read -----------------------------------------------------------------------------

FORMATS = ("csv", "tsv", "parquet", "npz", "npy", "arff", "ts", "excel", "zarr")

_reading_options = combine(
    click.option("-t", "--target", metavar="COL",
                 help="Column of labels.  [default: the last]"),
    click.option("--ignore", multiple=True, metavar="COL",
                 help="Column that is no feature; may be repeated."),
    click.option("--id", "ids", multiple=True, metavar="COL",
                 help="Column that names the rows, in reports too; no feature."),
    click.option("--samples", type=click.Path(dir_okay=False), metavar="FILE",
                 help="Sheet with a line for each row, by --id: labels, groups, batches."),
    click.option("--labels", type=click.Path(dir_okay=False), metavar="FILE",
                 help="Labels of the rows, such as those of a .npy file: .npy, or lines."),
    click.option("--text", multiple=True, metavar="COL",
                 help="Column whose words are learned from; may be repeated."),
    click.option("--format", "form", type=click.Choice(FORMATS),
                 help="Format, if the name of the file does not say."),
    click.option("--sep", help="Character between values, such as ';'."),
    click.option("--decimal", type=click.Choice([".", ","]), default=".", show_default=True,
                 help="Character before a fraction."),
    click.option("--thousands", metavar="CHAR", help="Character between thousands, such as ','."),
    click.option("--no-header", "header", is_flag=True, flag_value=False, default=True,
                 help="The first line has values, no names."),
    click.option("--transposed", is_flag=True,
                 help="Samples are columns, features lines; the first column has the names."),
    click.option("--skip-bad", is_flag=True,
                 help="Leave out items that cannot be read, and say which."),
)  # fmt: skip


def data_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """All options that say how DATA is read; the command takes them as one `reading`.

    Options that the command line does not give are those of ``separatrix.toml``, if there is one
    in the working directory.
    """

    @wraps(command)
    def run(**options: Any) -> Any:
        given = {n: options.pop(n) for n in READING_NAMES if n in options}
        return command(reading=_make_reading(given), **options)

    return _reading_options(run)


PROJECT_FILE = "separatrix.toml"
"""The file of options that repeat, in the working directory."""


def _make_reading(options: dict[str, Any]) -> Reading:
    """The options of the command line, and of the project where these are not given."""
    from click.core import ParameterSource

    context = click.get_current_context()
    if context.params.get("data") in list_bundled() and not Path(context.params["data"]).exists():
        return Reading(**options)
    for name, value in read_project(Path(PROJECT_FILE)).items():
        if context.get_parameter_source(name) == ParameterSource.DEFAULT:
            options[name] = value
    return Reading(**options)


def read_project(path: Path) -> dict[str, Any]:
    """Options for reading from a file of a project; none where there is no file."""
    import tomllib

    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise ValueError(f"{path} is not in the format TOML: {error}") from None
    usual = {name: getattr(Reading(), name) for name in READING_NAMES
             if name not in ("labelled", "words")}  # fmt: skip
    names = {"id": "ids", "format": "form"}
    options = {names.get(name, name.replace("-", "_")): value for name, value in content.items()}
    for name, value in options.items():
        if name not in usual:
            known = ", ".join(spell_option(n)[2:] for n in usual if n != "header")
            raise ValueError(f"{path} has {name!r}, which is no option for reading: {known}")
        if isinstance(usual[name], tuple):
            options[name] = (value,) if isinstance(value, str) else value
            right = isinstance(options[name], list | tuple)
            right = right and all(isinstance(item, str) for item in options[name])
        else:
            right = isinstance(value, bool if isinstance(usual[name], bool) else str)
        if not right:
            raise ValueError(f"{path} has {name} = {value!r}: give text, a list of names, or true")
    return options


# How columns are prepared ----------------------------------------------------------------------


class Filling(click.ParamType):
    """What is done about gaps: a word, or a number after ``constant:``."""

    name = "filling"
    words = ("refuse", "mean", "median", "most_frequent")

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as it is, if it is one."""
        from separatrix.files.columns import read_constant

        try:
            known = value in self.words or read_constant(value) is not None
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if not known:
            self.fail(f"{value!r} is none of {', '.join(self.words)}, constant:NUMBER", param, ctx)
        return value


preparation_options = combine(
    click.option("--scale/--no-scale", default=True, show_default=True,
                 help="Bring columns to mean 0 and variance 1 first."),
    click.option("--categorical", default="refuse", show_default=True,
                 type=click.Choice(["refuse", "onehot"]),
                 help="Refuse columns of text, or make a column of each value."),
    click.option("--missing", default="refuse", show_default=True,
                 type=Filling(), metavar="HOW",
                 help="Refuse gaps, or fill them from the training rows (mean, median, "
                 "most_frequent) or with a number (constant:0); merging needs a number."),
)  # fmt: skip
words_options = combine(
    click.option("--hashed", is_flag=True,
                 help="Number words by a hash: such models merge, but do not know their words."),
    click.option("--latent", type=click.IntRange(1), metavar="N",
                 help="Reduce the words to N latent dimensions first."),
)  # fmt: skip
"""How words become columns."""

rows_option = click.option(
    "--rows",
    default="",
    metavar="A,B",
    help="Steps on each row, in this order: snv, msc, derivative, detrend, l2.",
)

# Methods -------------------------------------------------------------------------------------

method_option = click.option(
    "-m",
    "--method",
    metavar="NAME",
    shell_complete=complete_from(list_methods),
    help="Class name of the method; `separatrix methods` lists them.  [default: "
    "FisherDiscriminant, or TruncatedIPCAC for words]",
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the method, such as n_components=2; may be repeated.",
)
test_size_option = click.option(
    "--test-size",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.3,
    show_default=True,
    help="Share of each class that is held out.",
)


def decision_option(text: str) -> Any:
    """The option `--decision`, with its help."""
    rules = click.Choice(["own", "3nn", "centroid", "gaussian"])
    return click.option("--decision", type=rules, default="own", show_default=True, help=text)


seed_option = click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
                           help="Seed of all random numbers.")  # fmt: skip


def _check_jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 is none: give a number of processes, or -1 for one per core")
    return value


jobs_option = click.option("--jobs", type=int, default=1, show_default=True, callback=_check_jobs,
                           help="Number of parallel processes; -1 is one per core.")  # fmt: skip
