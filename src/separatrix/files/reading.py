"""How the rows of a source are read: one set of options, the same in every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Reading:
    """How rows are read, whatever their source.

    Attributes
    ----------
    target : str or None
        Column of labels; by default the last one that is not ignored.
    labelled : bool or None
        Whether there are labels; None takes them where `target` is there and has labels in all
        rows. It is never a feature.
    ignore : tuple of str
        Columns that are no features.
    ids : tuple of str
        Columns that name the rows; no features either. Rows find their lines in `samples` by the
        first of them.
    text : tuple of str
        Columns whose words are learned from; an empty one is a text without words.
    words : tuple of str
        Columns of text, whatever they look like: ``01`` and ``True`` stay what they are.
    samples : str or None
        A table with a line for each row, such as labels, groups and batches. Its columns are no
        features; the last one has the labels unless `target` says otherwise.
    labels : str or None
        A file of labels, one for each row: ``.npy``, or lines of text.
    form : str or None
        The format where the name of the file does not say; csv for standard input.
    sep, decimal, thousands : str or None
        Characters between values, before fractions, and between thousands, in lines of text.
    header : bool
        Whether the first line has names; otherwise columns are x0, x1, …
    transposed : bool
        Whether a line is a feature and a column a row, as in tables of genes. The first column
        then has the names of the features, and the first line those of the rows.
    skip_bad : bool
        Leave out items that cannot be read, such as messages without text, and list them.
    """

    target: str | None = None
    labelled: bool | None = True
    ignore: Sequence[str] = ()
    ids: Sequence[str] = ()
    text: Sequence[str] = ()
    words: Sequence[str] = ()
    samples: str | None = None
    labels: str | None = None
    form: str | None = None
    sep: str | None = None
    decimal: str = "."
    thousands: str | None = None
    header: bool = True
    transposed: bool = False
    skip_bad: bool = False

    def __post_init__(self) -> None:
        for name in ("ignore", "ids", "text", "words"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.decimal == self.thousands:
            raise ValueError(f"--decimal and --thousands are both {self.decimal!r}: choose two")
        if self.labelled and self.target is not None and self.target in self.not_features:
            raise ValueError(
                f"column {self.target!r} is the target, and it is ignored: choose one of both"
            )

    @property
    def not_features(self) -> tuple[str, ...]:
        """Columns that are left out by name."""
        return (*self.ignore, *self.ids)

    def find_target(self, columns: Sequence[str]) -> str | None:
        """The column of labels among these: the one that is named, or the last one.

        None where another file has the labels.
        """
        if self.target is not None or not self.labelled or self.samples or self.labels:
            return self.target
        candidates = [name for name in columns if name not in self.not_features]
        if not candidates:
            raise ValueError("all columns are ignored: none is left for the labels")
        return candidates[-1]

    def list_arguments(self) -> list[str]:
        """The arguments of the command line that read in this way.

        Examples
        --------
        >>> Reading(target="kind", ids=["plant"], header=False).list_arguments()
        ['-t', 'kind', '--id', 'plant', '--no-header']
        """
        usual, arguments = Reading(), []
        for name in READING_NAMES:
            value = getattr(self, name)
            if value == getattr(usual, name) or name in ("labelled", "words"):
                continue
            if isinstance(value, bool):
                arguments += [spell_option(name)]
            else:
                for item in value if isinstance(value, tuple) else (value,):
                    arguments += ["-t" if name == "target" else spell_option(name), item]
        return arguments


SPELLED = {
    "ids": "--id",
    "form": "--format",
    "header": "--no-header",
    "skip_bad": "--skip-bad",
}
"""Options that are not called as the part of a `Reading` that they set."""


def spell_option(name: str) -> str:
    """The option of the command line that sets this part of a `Reading`."""
    return SPELLED.get(name, f"--{name}")


READING_NAMES = tuple(field.name for field in fields(Reading))
"""Names of the options, for those who have them one by one."""
