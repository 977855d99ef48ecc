"""Who may use a scarce thing, and who must wait or come back later."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from api.problems import overloaded


class Backlog:
    """What is being scored or waits for it, bounded in calls and in responses."""

    def __init__(self, calls: int, responses: int) -> None:
        """At most so many at once, both at least 1."""
        self._limits = calls, responses
        self._lock = threading.Lock()
        self.calls = self.responses = 0

    @contextmanager
    def place(self, responses: int, *, patient: bool = False) -> Iterator[None]:
        """A place for a call while the block runs; a call of any size gets one when nobody else has.

        Args:
            responses: Responses of the call.
            patient: Take a place beyond the bounds too, for callers that are bounded elsewhere.

        Raises:
            Problem: There is no place (503).
        """
        with self._lock:
            if not patient and self._full(responses):
                raise overloaded("too many responses wait to be scored")
            self._add(1, responses)
        try:
            yield
        finally:
            with self._lock:
                self._add(-1, -responses)

    def _full(self, responses: int) -> bool:
        calls, limit = self._limits
        return self.calls >= calls or (self.calls > 0 and self.responses + responses > limit)

    def _add(self, calls: int, responses: int) -> None:
        self.calls += calls
        self.responses += responses


class Turns:
    """A semaphore that serves in the order of arrival, which the standard library's does not."""

    def __init__(self, threads: int) -> None:
        """At most ``threads`` at once."""
        self._lock = threading.Lock()
        self._free = threads
        self._waiting: deque[threading.Event] = deque()

    def __enter__(self) -> None:
        mine = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                return
            self._waiting.append(mine)
        mine.wait()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._free += 1
