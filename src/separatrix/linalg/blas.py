"""Threads of the BLAS: the one place that knows of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

BLAS_LIMIT_LOCK = Lock()
"""Held by the thread that limits BLAS: the limit is that of the process, and is undone."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, unless another thread has limited it already.

    numpy and scipy bring a BLAS each, whose idle threads keep the processors busy for a while:
    partial eigenproblems of scipy take two to six times as long after a product of numpy.
    """
    if not BLAS_LIMIT_LOCK.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        BLAS_LIMIT_LOCK.release()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
