"""E-mails in folders, Maildirs and mbox files."""

from __future__ import annotations

import mailbox
import re
import time

import pytest

from separatrix.files.mails import (
    MAX_MESSAGE_BYTES,
    alternate,
    is_mail_source,
    message_text,
    read_mail_columns,
)
from separatrix.files.tables import read_table
from tests.texts import make_texts, write_mails


def test_mails_become_a_table_of_texts_and_kinds(tmp_path):
    write_mails(tmp_path / "mails")
    table = read_table(tmp_path / "mails", keep=["file"])
    texts, kinds = make_texts(40)
    assert table.y.tolist() == kinds.tolist()  # kinds alternate, as they were made
    assert [text.split() for text in table.X["text"]] == [text.split() for text in texts]
    assert (table.target, table.text, list(table.X)) == ("kind", ("text",), ["text"])
    assert table.kept["file"][0].endswith("ham/000.eml")
    assert table.kept["file"][1].endswith("spam.mbox:1")


def test_messages_without_kinds(tmp_path):
    write_mails(tmp_path / "mails")
    for source in ("mails/ham", "mails/spam.mbox", "mails/ham/000.eml"):
        columns, _ = read_mail_columns(tmp_path / source)
        assert set(columns) == {"file", "text"}
    box = mailbox.Maildir(tmp_path / "inbox")
    box.add(b"Subject: one\n\ntwo")
    assert read_mail_columns(tmp_path / "inbox")[0]["text"] == ["one\ntwo"]


def test_a_message_without_text_is_named_or_left_out(tmp_path):
    write_mails(tmp_path / "mails")
    (tmp_path / "mails/ham/001.eml").write_bytes(b"")
    with pytest.raises(ValueError, match=r"ham/001.eml has no text: correct it, or leave out"):
        read_table(tmp_path / "mails")
    table = read_table(tmp_path / "mails", skip_bad=True)
    assert len(table.X) == 40
    assert [place.rpartition("/")[2] for place in table.skipped] == ["001.eml"]


def test_other_folders_are_no_mails(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no messages"):
        read_mail_columns(tmp_path / "empty")
    (tmp_path / "empty" / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"holds tables, such as a\.csv: name one of them"):
        read_mail_columns(tmp_path / "empty")
    assert not is_mail_source(tmp_path / "empty" / "a.csv")
    assert not is_mail_source(b"bytes")


def test_unknown_encodings_are_read_as_they_are():
    mail = b"Subject: hi\nContent-Type: text/plain; charset=nonsense\n\ncaf\xe9"
    assert message_text(mail).startswith("hi\ncaf")


def test_kinds_come_by_their_shares():
    assert alternate(["a"] * 4 + ["b"] * 2) == [0, 4, 1, 2, 5, 3]


HEAD = b"Subject: Offer\n"
MANY_PARTS = b"".join(
    b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(1000)
)
HOSTILE = {
    "comments": HEAD + b"Content-Type: text/plain; " + b"(" * 3000 + b"\n\nBuy now\n",
    "subject": b"Subject: " + b"(" * 300_000 + b"\n\nBuy now\n",
    "encoded": b"Subject: " + b"=?utf-8?q?a?= " * 20_000 + b"\n\nBuy now\n",
    "parameters": HEAD + b"Content-Type: text/plain" + b"; a=1" * 60_000 + b"\n\nBuy now\n",
    "addresses": HEAD + b"To: " + b"<" * 300_000 + b"\n\nBuy now\n",
    "nested": HEAD + MANY_PARTS + b"\nBuy now\n",
    "deep": HEAD + MANY_PARTS[: MANY_PARTS.index(b"boundary=b99")] + b"\n\nBuy now\n",
    "tags": HEAD + b"Content-Type: text/html\n\n" + b"<" * 300_000 + b" Buy now",
    "many": HEAD + b"X: 1\n" * 60_000 + b"\nBuy now\n",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_messages_that_mean_harm_are_read_in_linear_time(content):
    """300 kB take less than a tenth of a second; squares of them would take minutes."""
    start = time.process_time()
    assert re.search("Offer|now", message_text(content))
    assert time.process_time() - start < 3


def test_a_message_of_more_than_16_megabytes_is_refused_or_left_out(tmp_path):
    for kind in ("ham", "spam"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "1.eml").write_bytes(b"Subject: a\n\nsome words")
    with (tmp_path / "spam" / "2.eml").open("wb") as file:
        file.truncate(MAX_MESSAGE_BYTES + 1)
    with pytest.raises(ValueError, match=r"2.eml has more than 16 MB: correct it, or leave out"):
        read_table(tmp_path)
    table = read_table(tmp_path, skip_bad=True)
    assert len(table.X) == 2
    assert table.skipped == (str(tmp_path / "spam" / "2.eml"),)


def test_a_message_of_very_many_parts_is_read_as_it_is():
    head = b'Subject: Offer\nContent-Type: multipart/mixed; boundary="a"\n\n'
    assert message_text(head + b"--a\n\nBuy now\n" * 900) == "Offer\nBuy now"
    assert message_text(head + b"--a\n\nBuy now\n" * 1100).count("--a") == 1100
