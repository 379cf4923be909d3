"""Build the files of a release, and check them: ``make dist``.

The sdists and wheels of separatrix and separatrix-papers are built twice from the files that git
knows, by the packages of ``release/build.lock``, and must be equal byte by byte. The wheel of
separatrix holds the package and the bill of materials, the wheel of the papers holds their tables,
and neither holds anything else.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENDINGS = {".py", ".css", ".html", ".js", ".json", ".toml", ".typed"}
"""Kinds of files that belong to the package."""
NEEDED = {
    "separatrix": [
        "py.typed",
        "report/page.js",
        "studio/static/app.js",
        "studio/static/index.html",
        "sboms/separatrix.cdx.json",
    ],
    "separatrix_papers": ["ldg/published.toml", "ldg/results.json", "entry_points.txt"],
}
"""Files without which a wheel is of no use, by the package in it."""
LARGEST_WHEEL = {"separatrix": 950_000, "separatrix_papers": 3_000_000}
"""Bytes: a wheel beyond this has something in it that does not belong there."""


def read_version() -> str:
    """The version, from the one place that states it."""
    text = (ROOT / "src/separatrix/__init__.py").read_text("utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return version


def ask_git(*words: str) -> str:
    """What git says of this folder, whoever owns it."""
    command = ["git", "-c", "safe.directory=*", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def time_of_commit() -> str:
    """Seconds since 1970 of the last commit: the time that all files of a release carry."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def copy_sources(folder: Path) -> None:
    """The files that git knows, as they are in the work tree."""
    for name in ask_git("ls-files", "-z").split("\0")[:-1]:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def build(output: Path) -> list[Path]:
    """The sdists and the wheels, from a copy of the sources in a new folder each time."""
    with tempfile.TemporaryDirectory() as folder:
        copy_sources(Path(folder))
        for project in (Path(folder), Path(folder, "papers")):
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "build",
                    "--no-isolation",
                    "--outdir",
                    str(output),
                    str(project),
                ],
                check=True,
                env={**os.environ, "SOURCE_DATE_EPOCH": time_of_commit()},
                stdout=subprocess.DEVNULL,
            )
    return sorted(output.iterdir())


def sha256(path: Path) -> str:
    """The checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_strangers(wheel: Path) -> list[str]:
    """Faults of a wheel: files that do not belong there, or that are missing."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    package, version = wheel.name.split("-")[:2]
    inside, about = f"{package}/", f"{package}-{version}.dist-info/"
    faults = [
        f"{name} does not belong into a wheel"
        for name in names
        if not name.startswith((inside, about))
        or (name.startswith(inside) and Path(name).suffix not in ENDINGS)
        or "test_" in name
    ]
    needed = [*NEEDED[package], "licenses/LICENSE"]
    present = {name.removeprefix(inside).removeprefix(about) for name in names}
    faults += [f"{name} is missing" for name in needed if name not in present]
    if version != read_version():
        faults.append(f"{wheel.name} has another version than separatrix {read_version()}")
    if wheel.stat().st_size > LARGEST_WHEEL[package]:
        faults.append(f"{wheel.stat().st_size} bytes are more than {LARGEST_WHEEL[package]}")
    return faults


def find_missing_sources(sdist: Path) -> list[str]:
    """Faults of an sdist: parts without which it cannot be built and tested."""
    if sdist.name.startswith("separatrix_papers-"):
        needed = ["pyproject.toml", "LICENSE", "tests/test_tables.py"]
    else:
        needed = [
            "pyproject.toml",
            "papers/pyproject.toml",
            "release/sbom_hook.py",
            "release/build.lock",
            "tests/test_common.py",
            "Makefile",
            "LICENSE",
        ]
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    return [f"{name} is missing" for name in needed if name not in names]


def main() -> None:
    """Build twice, compare, check, and keep the files in ``dist``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        files = build(Path(first))
        again = build(Path(second))
        faults = [
            f"{one.name} differs when it is built again"
            for one, other in zip(files, again, strict=True)
            if sha256(one) != sha256(other)
        ]
        faults += [
            fault for file in files if file.suffix == ".whl" for fault in find_strangers(file)
        ]
        faults += [
            fault for file in files if file.suffix == ".gz" for fault in find_missing_sources(file)
        ]
        if faults:
            sys.exit("\n".join(faults))
        subprocess.run(
            [sys.executable, "-m", "twine", "check", "--strict", *map(str, files)], check=True
        )
        asked.output.mkdir(exist_ok=True)
        for file in files:
            shutil.copy2(file, asked.output)
            print(sha256(file), asked.output / file.name)


if __name__ == "__main__":
    main()
