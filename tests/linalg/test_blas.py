"""BLAS gets its threads back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.linalg
import scipy.optimize
from threadpoolctl import threadpool_info, threadpool_limits

from separatrix import linalg


def test_eigenproblems_use_one_blas_thread_and_give_the_others_back(monkeypatch):
    def blas_threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    seen = []
    eigh = scipy.linalg.eigh
    monkeypatch.setattr(
        scipy.linalg, "eigh", lambda *args, **kw: seen.append(blas_threads()) or eigh(*args, **kw)
    )
    S = np.diag(np.arange(5.0))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        linalg.top_eigh(S, 2)
        assert seen == [{1}]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: linalg.top_eigh(S, 2), range(200)))
        assert blas_threads() == before
