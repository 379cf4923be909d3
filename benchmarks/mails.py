"""Spam among 1800 e-mails by words, ten folds: ``python -m benchmarks.mails DIR``.

DIR holds ``spamassassin_1800.npz``. Accuracy in percent and processor seconds of all folds.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from separatrix import OnlineIPCAC, TruncatedIPCAC
from separatrix.features.words import make_vectorizer
from separatrix.files.mails import message_text
from separatrix_papers.originals import load_original


def main() -> None:
    """Words counted or hashed, for the two methods that learn from sparse rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    mails = load_original("spamassassin_1800", parser.parse_args().folder)
    texts = [message_text(message) for message in mails.messages]
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for hashed in (False, True):
        for model in (TruncatedIPCAC(), OnlineIPCAC()):
            start = process_time()
            steps = make_pipeline(make_vectorizer(hashed=hashed), model)
            found = cross_val_predict(steps, texts, mails.y, cv=folds)
            right = 100 * np.mean(found == mails.y)
            words = "hashed words" if hashed else "words"
            print(
                f"{words:14}{type(model).__name__:16}{right:6.1f} %{process_time() - start:8.0f} s"
            )


if __name__ == "__main__":
    main()
