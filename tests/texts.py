"""Texts of two kinds that share most of their words, in a list and in folders of mails."""

from __future__ import annotations

import mailbox
from pathlib import Path

import numpy as np

SHARED = [f"word{i}" for i in range(60)]
OWN = {"ham": ["meeting", "minutes", "lunch", "draft"], "spam": ["winner", "prize", "buy", "free"]}


def make_texts(n, seed=0):
    """Texts and their kinds, alternately ham and spam."""
    rng = np.random.default_rng(seed)
    kinds = np.array(["ham", "spam"])[np.arange(n) % 2]
    texts = [" ".join([*rng.choice(SHARED, 12), *rng.choice(OWN[kind], 2)]) for kind in kinds]
    return texts, kinds


def write_mails(folder, n=40, seed=0):
    """Messages in a folder of files for ham, and an mbox file for spam."""
    folder = Path(folder)
    (folder / "ham").mkdir(parents=True)
    box = mailbox.mbox(folder / "spam.mbox")
    for i, (text, kind) in enumerate(zip(*make_texts(n, seed), strict=True)):
        subject, _, body = text.partition(" ")
        mail = f"From: a@b\nSubject: {subject}\n\n{body}\n"
        if kind == "ham":
            (folder / "ham" / f"{i:03d}.eml").write_text(mail)
        else:
            box.add(mail)
    box.close()
