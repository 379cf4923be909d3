"""The command that takes rows out of a model, and certifies it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_model_and_rows
from separatrix.cli.options import (
    DATA_HELP,
    console_options,
    data_argument,
    data_options,
    model_argument,
    output_option,
)
from separatrix.cli.output import check_outputs
from separatrix.files.reading import Reading

if TYPE_CHECKING:
    import numpy as np


@click.command("forget", epilog=DATA_HELP)
@model_argument
@data_argument
@output_option("File for the model without the rows.", required=True)
@click.option("--certificate", type=click.Path(dir_okay=False), metavar="FILE",
              help="JSON file with hashes, counts and the bound on the error.")  # fmt: skip
@click.option("--key", type=click.Path(dir_okay=False), metavar="FILE",
              help="Private key of ssh that signs the certificate; without it others cannot "
              "tell who wrote it.")  # fmt: skip
@data_options
@console_options
def forget_command(
    model: str,
    data: str,
    output: str,
    certificate: str | None,
    key: str | None,
    as_json: bool,
    quiet: bool,
    reading: Reading,
) -> None:
    """Take rows out of a model: the result is the model that never saw them.

    DATA has the rows as they were learned, with their labels. A model keeps statistics and no
    rows: rows that it cannot have learned are an error, and so is every row that it has forgotten
    before, in any order. Other rows that it never learned are noticed only if it was fitted with
    `fit --remember`. The old file is not changed: remove it and its copies.

    \b
    Examples:
      separatrix forget wine.model patient17.csv -o wine2.model --certificate patient17.json
      separatrix forget a.model b.csv -o c.model --certificate c.json --key ~/.ssh/id_ed25519
    """
    import numpy as np

    from separatrix.base.prepared import forget_rows
    from separatrix.files.model import save
    from separatrix.files.whole import write_whole

    console = Console(as_json, quiet)
    if key is not None and certificate is None:
        raise click.UsageError("--key signs a certificate: name its file (--certificate)")
    signature = None if key is None else f"{certificate}.sig"
    check_outputs([output, certificate, signature], inputs=[model, data, key])
    stored, table = read_model_and_rows(console, model, data, reading)
    if table.y is None:
        raise ValueError(
            f"{data} has no labels in a column {stored.notes.get('target')!r}: rows are forgotten "
            f"with their labels. {table.unlabelled}".strip()
        )
    digests = digest_rows(table.X, table.y)
    _check_learned(stored, table, digests, model, data)
    try:
        forgotten = forget_rows(stored.model, table.X, table.y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{data} cannot be taken out of {model}: {error}") from None
    rows = round(sum(forgotten.after.values()))
    notes = {k: v for k, v in stored.notes.items() if k not in ("stream", "head")}
    notes["forgotten"] = np.sort([*notes.get("forgotten", ()), *digests])
    if "learned" in notes:
        notes["learned"] = take_digests(notes["learned"], digests)[0]
    save(forgotten.model, output, notes={**notes, "rows": rows})
    record = {
        "model": output,
        "forgotten": len(table.y),
        "rows": rows,
        "residual": forgotten.residual,
    }
    if certificate is not None:
        content = certify(model, data, output, digests, forgotten, signed=key is not None)
        write_whole(certificate, json.dumps(content, indent=2, ensure_ascii=False).encode())
        record["certificate"] = certificate
        if key is not None:
            record["signature"] = sign_file(certificate, key)
    gone = [str(label) for label in forgotten.before if label not in forgotten.after]
    classes = f"; nothing is left of class {', '.join(gone)}" if gone else ""
    console.done(
        record,
        f"{len(table.y)} rows are forgotten, {rows} are left{classes}: {output}\n"
        "If they were learned before, it is the model that never saw them: the relative error of "
        f"its scatter is {forgotten.residual:.1e}",
    )


def _check_learned(stored: Any, table: Any, digests: np.ndarray, model: str, data: str) -> None:
    """Raise for rows that the model has forgotten, and for those that it never learned."""
    import numpy as np

    notes = stored.notes
    known = {str(label) for label in getattr(stored.model, "classes_", table.y)}
    strange = sorted(set(map(str, table.y)) - known)
    if strange:
        raise ValueError(
            f"{data} has labels that {model} never learned: {', '.join(map(repr, strange[:5]))}. "
            "Only rows that were learned can be forgotten"
        )
    again = np.isin(digests, notes.get("forgotten", ()))
    if "learned" in notes:
        absent = take_digests(notes["learned"], digests)[1]
        again = again & absent
        never = absent & ~again
        if never.any():
            raise ValueError(
                f"{model} never learned {int(never.sum())} of the {len(digests)} rows of {data}, "
                f"first row {int(never.argmax()) + 1}"
            )
    if again.any():
        raise ValueError(
            f"{model} has forgotten {int(again.sum())} of the {len(digests)} rows of {data} "
            f"before, first row {int(again.argmax()) + 1}: they are not in it"
        )


def digest_rows(X: Any, y: Any) -> np.ndarray:
    """A number of 64 bits for each row and its label, whatever the format of its file.

    Two of a million rows have the same one with a probability of 3e-8.
    """
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(X).reset_index(drop=True)
    names = "\0".join(sorted(map(str, frame.columns))).encode()
    numbers = [c for c in frame.columns if frame[c].dtype.kind in "biuf"]
    others = [c for c in frame.columns if c not in numbers]
    # zero has two signs, and gaps have many forms
    values = np.nan_to_num(frame[numbers].to_numpy(np.float64) + 0.0, nan=np.inf)
    digests = np.empty(len(frame), np.uint64)
    texts = zip(*(frame[c].astype(str) for c in others), strict=True) if others else None
    for i, (row, label) in enumerate(zip(np.ascontiguousarray(values), y, strict=True)):
        words = "\0".join([str(label), *(next(texts) if texts is not None else ())])
        content = hashlib.blake2b(names, digest_size=8)
        content.update(row.tobytes())
        content.update(words.encode())
        digests[i] = int.from_bytes(content.digest(), "little")
    return digests


def take_digests(known: Any, digests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The known digests without these, each as often as it comes, and which are not known."""
    import numpy as np

    counts = Counter(np.asarray(known).tolist())
    absent = np.zeros(len(digests), bool)
    for i, digest in enumerate(digests.tolist()):
        absent[i] = counts[digest] == 0
        counts[digest] -= not absent[i]
    return np.sort(np.array(list(counts.elements()), np.uint64)), absent


def certify(
    model: str, data: str, output: str, digests: np.ndarray, forgotten: Any, *, signed: bool
) -> dict[str, Any]:
    """What was done, for those who have the files to check it with."""
    import numpy as np

    from separatrix import __version__

    rows = hashlib.sha256(np.sort(digests).astype("<u8").tobytes()).hexdigest()
    return {
        "statement": "the rows were subtracted from the statistics of the model; if they were "
        "among those it had learned, the new model is the one that never saw them, up to the "
        "residual",
        "signed": "by the signature in the file of the same name with .sig at its end" if signed
        else "no: everyone could have written this, and it proves nothing to others",
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "separatrix": __version__,
        "model_before": {"file": Path(model).name, "sha256": hash_file(model)},
        "model_after": {"file": Path(output).name, "sha256": hash_file(output)},
        "rows": {
            "file": Path(data).name if Path(data).exists() else data,
            "sha256": rows,
            "count": len(digests),
        },
        "counts_before": _by_text(forgotten.before),
        "counts_after": _by_text(forgotten.after),
        "residual": forgotten.residual,
    }  # fmt: skip


NAMESPACE = "separatrix-certificate"
"""What signatures of ssh are for, so that one for another purpose is none for this."""


def sign_file(path: str, key: str) -> str:
    """Sign a file by a key of ssh; the name of the signature, a file next to it."""
    import shutil
    import subprocess

    if not Path(key).is_file():
        raise ValueError(f"there is no key {key}")
    if shutil.which("ssh-keygen") is None:
        raise ValueError("certificates are signed by ssh-keygen, which is not installed")
    signature = f"{path}.sig"
    Path(signature).unlink(missing_ok=True)
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not Path(signature).exists():
        why = " ".join(done.stderr.split()) or "ssh-keygen gives no reason"
        raise ValueError(f"{path} is not signed, as {key} cannot be used: {why}")
    return signature


def _by_text(counts: Mapping[Any, float]) -> dict[str, float]:
    return {str(label): count for label, count in counts.items()}


def hash_file(path: str) -> str:
    """The SHA-256 checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
