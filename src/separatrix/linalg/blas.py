"""Threads of the BLAS: the one place that knows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController

BLAS_LIMIT_LOCK = Lock()
"""Held by the thread that limits BLAS: the limit is that of the process, and is undone."""

MIN_THREADED_PRODUCTS = 1 << 30
"""Multiplications from which parts of the work are shared among threads."""

Part = TypeVar("Part")
Result = TypeVar("Result")


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


@contextmanager
def threads_for(n_products: float) -> Iterator[None]:
    """Keep BLAS to one thread for little work, where threads only wait for each other.

    Parameters
    ----------
    n_products : float
        Multiplications of all the work inside.
    """
    if n_products >= MIN_THREADED_PRODUCTS:
        yield
        return
    with one_blas_thread():
        yield


def blas_threads() -> int:
    """Number of threads that BLAS may use now."""
    return max((library["num_threads"] for library in _blas().info()), default=1)


def map_in_threads(
    function: Callable[[Part], Result], parts: Sequence[Part], n_products: float
) -> list[Result]:
    """Results of a function of each part, in as many threads as BLAS has, of one BLAS thread each.

    The work of a part outside products so runs in parallel, too. Little work, a BLAS of one thread
    and one that is limited already leave the parts one after the other.

    Parameters
    ----------
    function : callable
    parts : sequence
    n_products : float
        Multiplications of all parts together.

    Examples
    --------
    >>> map_in_threads(abs, [-1, 2], 0)
    [1, 2]
    """
    small = len(parts) < 2 or n_products < MIN_THREADED_PRODUCTS
    if small or (n_threads := blas_threads()) == 1:
        return [function(part) for part in parts]
    if not BLAS_LIMIT_LOCK.acquire(blocking=False):
        return [function(part) for part in parts]
    try:
        with _blas().limit(limits=1), ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(function, parts))
    finally:
        BLAS_LIMIT_LOCK.release()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
