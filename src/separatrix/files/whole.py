"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PART = ".part"
"""How the names of files end that are being written."""


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file such that whatever happens the old one or the new one is there, and whole."""
    target = Path(os.path.realpath(path))
    rights = 0o666 & ~_umask()
    if target.exists():
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode):  # a device or a pipe stays what it is, a folder raises
            target.write_bytes(content)
            return
        rights = stat.S_IMODE(mode)
    _sweep(target)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=PART)
    try:
        with os.fdopen(handle, "wb") as file:
            _lock(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, rights)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):  # a disk without room does not say which file it was
            error.filename = os.fspath(path)
        raise


def _lock(handle: int) -> None:
    """Hold a file until this process has ended; raises `OSError` when another one holds it.

    On Windows nothing has to be done: a file that is open there cannot be removed.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(target: Path) -> None:
    """Remove what writers of this file left that were killed; a file being written stays."""
    name = re.compile(re.escape(f".{target.name}.") + r"\w{8}" + re.escape(PART))
    for left in [path for path in target.parent.iterdir() if name.fullmatch(path.name)]:
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > 1:  # a new file may not be locked yet
                with left.open("rb") as file:
                    _lock(file.fileno())
                left.unlink()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
