"""Projects: folders with a table, its options, kept folds, models, reports and jobs."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from separatrix.studio.commands import RefusedError

SETTINGS = "separatrix.toml"
"""The file of options that every command finds in the folder it is started in."""

LONGEST_NAME = 120
"""Characters of a file name; file systems take 255 bytes."""

MORE = "studio.json"
"""The file of what only the studio asks: the source, and options of single commands."""

READING = ("target", "ignore", "id", "text", "samples", "labels", "format", "sep", "decimal",
           "thousands", "no-header", "transposed", "skip-bad")  # fmt: skip
"""Options that say how a source is read, by their names on the command line."""

NO_FILES = frozenset({SETTINGS, MORE, "jobs"})


class Projects:
    """The projects of a folder.

    Parameters
    ----------
    folder : path
        Made when there is none.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        """Names of the projects, those changed last first."""
        folders = [p for p in self.folder.iterdir() if (p / SETTINGS).is_file()]
        return [p.name for p in sorted(folders, key=lambda p: -(p / SETTINGS).stat().st_mtime)]

    def create(self, name: str) -> Path:
        """A new project; a number is added to a name that is taken."""
        check_name(name)
        wanted, n = name, 1
        while True:
            try:
                (self.folder / wanted).mkdir()
                break
            except FileExistsError:
                n += 1
                wanted = f"{name}-{n}"
        write_settings(self.folder / wanted, {})
        return self.folder / wanted

    def find(self, name: str) -> Path:
        """The folder of a project."""
        check_name(name)
        path = self.folder / name
        if not (path / SETTINGS).is_file():
            raise RefusedError(f"There is no project {name!r}.")
        return path


def check_name(name: str) -> None:
    """Raise for a name that could lead out of a folder, or that a terminal would obey."""
    if (
        not name
        or len(name) > LONGEST_NAME
        or name.startswith((".", "-", "~"))
        or name != name.strip()
        or any(c in '/\\:*?"<>|' or not c.isprintable() for c in name)
    ):
        raise RefusedError(
            f"{name[:40]!r} is no name for a file: at most {LONGEST_NAME} characters, no slashes "
            "or control characters, and no dot or dash at the start."
        )


def name_after(source: str) -> str:
    """A name for a project, after the table that is looked at.

    Examples
    --------
    >>> name_after("/data/genes of mice.csv"), name_after("duckdb:///f.db?table=visits")
    ('genes of mice', 'f db table visits')
    """
    last = source.replace("\\", "/").rstrip("/").split("/")[-1]
    stem = last.rsplit(".", 1)[0] if "?" not in last and "." in last[1:] else last
    plain = "".join(c if c.isalnum() or c in " _-" else " " for c in stem)
    return " ".join(plain.split())[:60].lstrip("-") or "project"


def file_in(project: Path, path: str) -> Path:
    """A file of a project by its relative name."""
    parts = path.split("/")
    for part in parts:
        check_name(part)
    if parts[0] in NO_FILES:
        raise RefusedError(f"{path!r} belongs to the studio.")
    file = project.joinpath(*parts)
    if file.is_symlink() or project.resolve() not in file.resolve().parents:
        raise RefusedError(f"{path!r} is not in the folder of this project.")
    return file


def list_files(project: Path) -> list[dict[str, Any]]:
    """Name, size and time of every file of a project, the last first."""
    files = []
    for path in project.rglob("*"):
        name = path.relative_to(project).as_posix()
        if path.is_file() and not path.is_symlink() and name.split("/")[0] not in NO_FILES:
            status = path.stat()
            files.append({"name": name, "size": status.st_size, "time": status.st_mtime})
    return sorted(files, key=lambda file: -file["time"])


def read_settings(project: Path) -> dict[str, Any]:
    """The options of a project by their long names, and its ``source``."""
    try:
        reading = tomllib.loads((project / SETTINGS).read_text(encoding="utf-8"))
        more = json.loads((project / MORE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        more = {}
    except (ValueError, UnicodeDecodeError) as error:
        raise RefusedError(f"The options of this project cannot be read: {error}") from None
    if reading.pop("header", True) is False:
        reading["no-header"] = True
    return {**more, **reading}


def write_settings(project: Path, settings: Mapping[str, Any]) -> None:
    """Keep the options of a project: those of reading where every command finds them.

    The old files stay until the new ones are whole.
    """
    kept = {name: value for name, value in settings.items() if value not in (None, "", [])}
    reading = {name: kept.pop(name) for name in list(kept) if name in READING}
    if reading.pop("no-header", False):
        reading["header"] = False
    lines = [f"{_toml(name)} = {_toml(value)}" for name, value in reading.items()]
    _replace(project / MORE, json.dumps(kept))
    _replace(project / SETTINGS, "\n".join([*lines, ""]))


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    # JSON and TOML write text alike, but for DEL
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
