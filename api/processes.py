"""Worker processes beside the service: started and ended together, replaced when they die."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess

import structlog

log = structlog.get_logger("api")


class Workers:
    """Keeps a number of processes running while the block lasts."""

    def __init__(self, start: Callable[[], BaseProcess], count: int, *, pause: float = 5.0) -> None:
        """Starts nothing yet.

        Args:
            start: Starts one process.
            count: How many.
            pause: Seconds between two looks at them, so that one that dies at once is not started again at once.
        """
        self._start = start
        self._count = count
        self._pause = pause
        self._over = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self.processes: list[BaseProcess] = []

    def __enter__(self) -> Workers:
        self.processes = [self._start() for _ in range(self._count)]
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watching.join()
        for one in self.processes:
            one.terminate()
        for one in self.processes:
            one.join(30)

    def _watch(self) -> None:
        while not self._over.wait(self._pause):
            for at, one in enumerate(self.processes):
                if not one.is_alive():
                    log.error("worker ended", code=one.exitcode)
                    self.processes[at] = self._start()
