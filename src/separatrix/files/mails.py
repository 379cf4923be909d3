"""E-mails and other texts in folders, Maildirs and mbox files: a message is a row."""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from separatrix.files.fasta import is_protein_source
from separatrix.files.formats import holds_tables

TEXT, KIND, FILE = "text", "kind", "file"
"""Columns of a table of messages: text, class, source."""


class Message(NamedTuple):
    """One message: its place, for messages, its kind (None where folders say none), its bytes."""

    place: str
    kind: str | None
    content: bytes


def is_mail_source(source: Any) -> bool:
    """Whether a path is a folder without tables, or a file of messages."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    if path.is_dir():
        others = path.suffix == ".zarr" or is_protein_source(path) or holds_tables(path)
        return not others
    return path.is_file() and path.suffix.lower() in (".mbox", ".eml")


def iter_messages(source: str | os.PathLike[str]) -> Iterator[Message]:
    """All messages of a folder, a Maildir, an mbox file or one file, in the order of names.

    Parameters
    ----------
    source : path
        A folder with a folder, Maildir or mbox file for each kind; or messages without kinds: a
        folder of files, a Maildir, ``.mbox`` or ``.eml``.
    """
    path = Path(source)
    if path.is_dir() and not _is_maildir(path):
        parts = [p for p in sorted(path.iterdir()) if p.is_dir() or p.suffix == ".mbox"]
        for part in parts:
            for place, content in _messages_in(part):
                yield Message(place, find_mail_kind(part.name), content)
        if parts:
            return
    for place, content in _messages_in(path):
        yield Message(place, None, content)


def _is_maildir(path: Path) -> bool:
    return (path / "cur").is_dir()


def _messages_in(part: Path) -> Iterator[tuple[str, bytes]]:
    """Place and bytes of the messages of one kind."""
    import mailbox

    if part.suffix == ".mbox":
        box: mailbox.Mailbox[Any] = mailbox.mbox(part, create=False)
        for number, key in enumerate(box.iterkeys(), start=1):
            yield f"{part}:{number}", box.get_bytes(key)
    elif part.is_file():
        yield str(part), _read_some(part)
    elif _is_maildir(part):
        box = mailbox.Maildir(part, create=False)
        for key in sorted(box.iterkeys()):
            yield f"{part}/{key}", box.get_bytes(key)
    else:
        # cmds is a list of commands that comes with each folder of the SpamAssassin corpus
        for path in sorted(p for p in part.iterdir() if p.is_file() and p.name != "cmds"):
            if not path.name.startswith("."):
                yield str(path), _read_some(path)


def _read_some(path: Path) -> bytes:
    """The bytes of a message, or enough of them to see that it is too large."""
    with path.open("rb") as file:
        return file.read(MAX_MESSAGE_BYTES + 1)


def find_mail_kind(name: str) -> str:
    """Ham or spam where the name of a folder says so, or else the name.

    Examples
    --------
    >>> find_mail_kind("20030228_easy_ham_2"), find_mail_kind("spam.mbox"), find_mail_kind("news")
    ('ham', 'spam', 'news')
    """
    word = name.removesuffix(".mbox")
    return next((kind for kind in ("ham", "spam") if kind in word.lower().split("_")), word)


MAX_MESSAGE_BYTES = 1 << 24
"""Largest message that is read (16 MB): mail servers take 10 to 50."""

MAX_HEADER_CHARACTERS = 1000
"""Characters of a header that are read. The time that its parser takes grows by their square."""

MAX_PARTS = 100
"""Parts inside parts up to which a message is taken apart; others are read as they are."""

MAX_BORDERS = 1000
"""Lines up to which they may be borders of parts: the parser compares each line with each rule."""

TAG = re.compile(r"<[^<>]*>")
"""A tag of HTML. It ends at another one, so that a text of "<" alone takes linear time."""


def message_text(message: bytes) -> str:
    r"""Subject and text of an e-mail; of parts in several forms the plain one, tags left out.

    Of each header the first thousand characters count. A message that cannot be taken apart, as
    one with hundreds of parts inside each other, is read as it is.

    Examples
    --------
    >>> message_text(b"Subject: Offer\nContent-Type: text/html\n\n<b>Buy</b> now")
    'Offer\nBuy now'
    """
    import email  # here: tables without messages do not wait for it
    from email.message import EmailMessage

    try:
        n_inside = message.lower().count(b"boundary")
        if n_inside > MAX_PARTS or (n_inside and message.count(b"\n--") > MAX_BORDERS):
            raise ValueError("too many parts")
        parsed = email.message_from_bytes(message, policy=_short_headers())
        body = parsed.get_body(("plain", "html")) if isinstance(parsed, EmailMessage) else None
        text = "" if body is None else str(body.get_content())
        subject = str(parsed.get("subject", ""))
        if body is not None and body.get_content_type() == "text/html":
            text = html.unescape(TAG.sub("", text))
    except (LookupError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        # spam breaks every rule: what cannot be taken apart is read as it is
        head, _, text = message.decode("latin-1").partition("\n\n")
        subjects = re.search(r"^subject:(.*)$", head, re.IGNORECASE | re.MULTILINE)
        subject = subjects[1].strip()[:MAX_HEADER_CHARACTERS] if subjects else ""
    return f"{subject}\n{text}".strip()


@cache
def _short_headers() -> Any:
    """The rules of parsing, with the beginning of each header alone."""
    from email.policy import EmailPolicy

    class ShortHeaders(EmailPolicy):
        def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
            name, value = super().header_source_parse(sourcelines)
            return name, value[:MAX_HEADER_CHARACTERS]

    return ShortHeaders()


def read_mail_columns(
    source: str | os.PathLike[str], *, skip_bad: bool = False
) -> tuple[dict[str, list[Any]], list[str]]:
    """Messages as columns `file`, `text` and, where folders say it, `kind`.

    Kinds alternate by their shares, as in a mailbox: whoever learns row by row meets all of them.

    Parameters
    ----------
    source : path
        As in `iter_messages`.
    skip_bad : bool
        Leave out messages without a word, in place of an error that names the first.

    Returns
    -------
    columns : dict of lists
    skipped : list of str
        Places of messages that were left out.
    """
    _check_holds_no_tables(Path(source))
    columns: dict[str, list[Any]] = {FILE: [], TEXT: [], KIND: []}
    skipped = []
    for message in iter_messages(source):
        fault, text = "", ""
        if len(message.content) > MAX_MESSAGE_BYTES:
            fault = f"has more than {MAX_MESSAGE_BYTES >> 20} MB"
        elif not re.search(r"\w", text := message_text(message.content)):
            fault = "has no text"
        if fault:
            if not skip_bad:
                raise ValueError(
                    f"{message.place} {fault}: correct it, or leave out such messages (--skip-bad)"
                )
            skipped.append(message.place)
            continue
        columns[FILE].append(message.place)
        columns[TEXT].append(text)
        columns[KIND].append(message.kind)
    if not columns[FILE]:
        raise ValueError(
            f"{source} has no messages: give a folder with a folder, Maildir or .mbox file for "
            "each class, or tables by their names"
        )
    if columns[KIND][0] is None:
        del columns[KIND]
        return columns, skipped
    order = alternate(columns[KIND])
    return {name: [values[i] for i in order] for name, values in columns.items()}, skipped


def alternate(kinds: list[Any]) -> list[int]:
    """The order in which kinds come by their shares, each in its own order.

    Examples
    --------
    >>> [list("aaab")[i] for i in alternate(list("aaab"))]
    ['a', 'a', 'b', 'a']
    """
    n_rows, n_before = Counter(kinds), Counter[Any]()
    places = []
    for i, kind in enumerate(kinds):
        places.append(((n_before[kind] + 0.5) / n_rows[kind], i))
        n_before[kind] += 1
    return [i for _, i in sorted(places)]


def _check_holds_no_tables(folder: Path) -> None:
    """Raise for a folder of tables: each would pass for a message."""
    tables = (".csv", ".tsv", ".parquet", ".npz", ".arff", ".xlsx", ".npy", ".gz", ".zarr")
    tables_inside = [p for p in folder.iterdir() if p.suffix in tables] if folder.is_dir() else []
    if tables_inside:
        raise ValueError(
            f"{folder} holds tables, such as {tables_inside[0].name}: name one of them, or read "
            "them all as one table by `separatrix fit --engine dask`"
        )
