"""BLAS gets its threads back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info, threadpool_limits

from separatrix import FisherDiscriminant, linalg
from separatrix.linalg import eigen
from separatrix.linalg.blas import BLAS_LIMIT_LOCK


def test_eigenproblems_use_one_blas_thread_and_give_the_others_back(monkeypatch):
    def blas_threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    seen = []
    reduce = eigen.tridiagonalize
    monkeypatch.setattr(
        eigen, "tridiagonalize", lambda S: seen.append(blas_threads()) or reduce(S)
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


def test_fits_in_threads_at_once_are_right_and_give_blas_its_threads_back(rng, monkeypatch):
    # parts of a fit in threads of their own, and fits that are limited to one thread
    monkeypatch.setattr("separatrix.moments.summarize.MIN_THREADED_PRODUCTS", 1 << 16)
    monkeypatch.setattr("separatrix.linalg.blas.MIN_THREADED_PRODUCTS", 1 << 16)
    data = [
        (rng.standard_normal((n, d)) + 1e6, np.arange(n) % 3)
        for n, d in [(3000, 20), (40, 300), (60, 4), (500, 30)]
    ]
    expected = [FisherDiscriminant().fit(X, y).transform(X) for X, y in data]
    with threadpool_limits(2, user_api="blas"):
        before = [lib["num_threads"] for lib in threadpool_info()]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda i: _fit_and_project(*data[i % 4]), range(40)))
        assert [lib["num_threads"] for lib in threadpool_info()] == before
    assert not BLAS_LIMIT_LOCK.locked()
    for i, Z in enumerate(found):
        assert_allclose(Z, expected[i % 4], atol=1e-9 * np.abs(expected[i % 4]).max())


def _fit_and_project(X, y):
    return FisherDiscriminant().fit(X, y).transform(X)


def test_parts_in_threads_come_back_in_their_order(monkeypatch):
    monkeypatch.setattr("separatrix.linalg.blas.MIN_THREADED_PRODUCTS", 0)
    with threadpool_limits(2, user_api="blas"):
        assert linalg.map_in_threads(lambda i: i**2, range(50), 1.0) == [i**2 for i in range(50)]
