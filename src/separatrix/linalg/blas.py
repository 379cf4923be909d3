"""Threads of the BLAS: the one place that knows of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

ONE_BY_ONE_UP_TO = 64
"""So many smallest entries of a row are found one by one; more by sorting it."""


ONE_AT_A_TIME = Lock()
"""Held by the thread that has limited BLAS: the limit is the process's, and must be given back."""


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, unless somebody else is changing their number.

    numpy and scipy bring a BLAS each. The threads of one wait for more work in the way of the
    other's: partial eigenproblems of scipy take two to six times as long after a product of numpy.
    """
    if not ONE_AT_A_TIME.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        ONE_AT_A_TIME.release()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
