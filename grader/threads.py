"""Work shared out to threads: the language models leave the interpreter free while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

_In = TypeVar("_In")
_Out = TypeVar("_Out")


def usable_cores() -> int:
    """Processor cores that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@cache
def one_blas_thread() -> None:
    """Keeps NumPy's matrix products on the thread that asks for them, in the whole process and from now on.

    They are too small to be worth dividing, and a second thread would wait for a core that another one uses.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")


class Threads:
    """A function over many things, some at a time. What it does must not ask the same `Threads` for more."""

    def __init__(self, count: int) -> None:
        """At most ``count`` at a time, at least 1; one alone is done by the thread that asks."""
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="grader") if count > 1 else None

    def map(self, function: Callable[[_In], _Out], things: Sequence[_In]) -> Iterator[_Out]:
        """What ``function`` makes of each thing, in their order; the first error is raised."""
        if self._pool is None or len(things) < 2:
            return map(function, things)
        return self._pool.map(function, things)
