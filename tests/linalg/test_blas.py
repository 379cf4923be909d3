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


def test_little_work_has_one_blas_thread_and_much_has_all():
    def blas_threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with linalg.threads_for(1e6):
            assert blas_threads() == {1}
        assert blas_threads() == before
        with linalg.threads_for(1e12):
            assert blas_threads() == before


def test_parts_in_threads_come_back_in_their_order(monkeypatch):
    monkeypatch.setattr("separatrix.linalg.blas.MIN_THREADED_PRODUCTS", 0)
    with threadpool_limits(2, user_api="blas"):
        assert linalg.map_in_threads(lambda i: i**2, range(50), 1.0) == [i**2 for i in range(50)]
