"""Work shared out to threads: the language models leave the interpreter free while they compute."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from grader.errors import InputError

_In = TypeVar("_In")
_Out = TypeVar("_Out")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(quota: Path = _QUOTA) -> int:
    """Processor cores that this process may use, at least 1: those it may run on, no more than its container has.

    Args:
        quota: File of the control group: microseconds that may be used, or ``max``, and of how many.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        used, period = quota.read_text("ascii").split()
        cores = min(cores, math.ceil(int(used) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no control group (version 2), or one without a limit
        pass
    return max(1, cores)


def one_blas_thread() -> None:
    """Keeps NumPy's matrix products on the thread that asks for them, in the whole process and from now on.

    They are too small to be worth dividing, and a second thread would wait for a core that another one uses.
    """
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")


class Threads:
    """A function over many things, some at a time.

    The thread that asks works too, so it never waits behind what others have asked for.
    """

    def __init__(self, count: int) -> None:
        """At most ``count`` at a time.

        Raises:
            InputError: ``count`` is less than 1.
        """
        if count < 1:
            raise InputError(f"threads: {count}, must be at least 1")
        self.count = count
        self._process = 0

    def map(self, function: Callable[[_In], _Out], things: Sequence[_In]) -> list[_Out]:
        """What ``function`` makes of each thing, in their order; an error is raised, and nothing more is begun."""
        if self.count == 1 or len(things) < 2:
            return list(map(function, things))
        found: dict[int, _Out] = {}
        left = deque(range(len(things)))

        def work() -> None:
            try:
                for at in _taken(left):
                    found[at] = function(things[at])
            except BaseException:
                left.clear()
                raise

        helpers = []
        try:
            with suppress(RuntimeError):  # no more threads, or the interpreter ends: all is done here
                for _ in range(min(self.count, len(things)) - 1):
                    helpers.append(self._pool().submit(work))
            work()
        finally:
            left.clear()
        for helper in helpers:
            if not helper.cancel():
                helper.result()
        return [found[at] for at in range(len(things))]

    def _pool(self) -> ThreadPoolExecutor:
        """The helpers, who do not come along when a process is forked."""
        if self._process != os.getpid():
            self._helpers = ThreadPoolExecutor(self.count - 1, thread_name_prefix="grader")
            self._process = os.getpid()
        return self._helpers


def _taken(left: deque[int]) -> Iterator[int]:
    """What is left, one by one, whoever else takes from it."""
    while left:
        try:
            at = left.popleft()
        except IndexError:
            return
        yield at
