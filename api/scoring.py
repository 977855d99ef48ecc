"""The library's scorer behind a seam, loaded once a process and only when something is scored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from api.settings import Settings
from api.turns import Backlog, Turns
from grader.calibration import Calibration
from grader.rubric import Item
from grader.score import Score

#: Calls that may score or wait for it: fewer than the threads that answer requests, so that pages are still answered.
CALLS = 24
# Responses scored in one turn, so that a large batch lets others in between.
_TURN = 64


class Scorer(Protocol):
    """What the service needs of the library."""

    def grade_many(
        self, item: Item, responses: Sequence[str], *, language: str = "en", calibration: Calibration | None = None
    ) -> list[Score]:
        """One mark a response, in order."""
        ...


def load_scorer(settings: Settings) -> Scorer:
    """The library's grader with the encoder and cache of the settings."""
    from grader.loading import cache_folder, load_grader

    cache, limit = cache_folder(settings.cache), settings.cache_mb * 2**20
    return load_grader(settings.encoder, cache=cache, limit=limit, threads=settings.threads)


class ScorerBox:
    """Loads the scorer at its first use, bounds how many threads score at once and how much may wait."""

    def __init__(self, load: Callable[[], Scorer], *, threads: int = 2, backlog: int = 2000) -> None:
        """Calls ``load`` once, at the first use.

        Args:
            load: Makes the scorer.
            threads: Threads that score at once.
            backlog: Responses that may be scored or wait for it, all calls together.
        """
        self._load = load
        self._lock = threading.Lock()
        self._turns = Turns(threads)
        self._backlog = Backlog(CALLS, backlog)
        self._scorer: Scorer | None = None

    @property
    def loaded(self) -> bool:
        """Whether the first use is over."""
        return self._scorer is not None

    def get(self) -> Scorer:
        """The scorer."""
        with self._lock:
            if self._scorer is None:
                self._scorer = self._load()
            return self._scorer

    def grade_many(
        self,
        item: Item,
        responses: Sequence[str],
        *,
        language: str = "en",
        calibration: Calibration | None = None,
        patient: bool = False,
    ) -> list[Score]:
        """One mark a response, in order; takes turns with others.

        Args:
            item: The item.
            responses: What was answered.
            language: Language of the summaries.
            calibration: The item's calibration.
            patient: Wait however many wait already, for callers that are bounded elsewhere.

        Raises:
            Problem: Too much waits already (503).
        """
        scores: list[Score] = []
        with self._backlog.place(len(responses), patient=patient):
            scorer = self.get()
            for start in range(0, len(responses), _TURN):
                part = responses[start : start + _TURN]
                with self._turns:
                    scores += scorer.grade_many(item, part, language=language, calibration=calibration)
        return scores

    def grade(
        self, item: Item, response: str, *, language: str = "en", calibration: Calibration | None = None
    ) -> Score:
        """The mark of one response."""
        return self.grade_many(item, [response], language=language, calibration=calibration)[0]
