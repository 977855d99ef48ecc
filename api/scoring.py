"""The library's scorer behind a seam, loaded once a process and only when something is scored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from api.settings import Settings
from grader.calibration import Calibration
from grader.rubric import Item
from grader.score import Score


class Scorer(Protocol):
    """What the service needs of the library."""

    def grade_many(
        self, item: Item, responses: Sequence[str], *, language: str = "en", calibration: Calibration | None = None
    ) -> list[Score]:
        """One mark a response, in order."""
        ...


def load_scorer(settings: Settings) -> Scorer:
    """The library's grader with the encoder of the settings."""
    from grader.encoder import HashEncoder, SentenceTransformerEncoder
    from grader.grading import Grader

    if settings.encoder == "hash":
        return Grader(HashEncoder())
    if settings.encoder == "default":
        return Grader()
    return Grader(SentenceTransformerEncoder(settings.encoder))


class ScorerBox:
    """Loads the scorer at its first use and bounds how many threads score at once."""

    def __init__(self, load: Callable[[], Scorer], *, threads: int = 2) -> None:
        """Calls ``load`` once, at the first use."""
        self._load = load
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(threads)
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
        self, item: Item, responses: Sequence[str], *, language: str = "en", calibration: Calibration | None = None
    ) -> list[Score]:
        """One mark a response, in order; waits while others score."""
        scorer = self.get()
        with self._turns:
            return scorer.grade_many(item, responses, language=language, calibration=calibration)

    def grade(
        self, item: Item, response: str, *, language: str = "en", calibration: Calibration | None = None
    ) -> Score:
        """The mark of one response."""
        return self.grade_many(item, [response], language=language, calibration=calibration)[0]
