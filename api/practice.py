"""Scores that are not stored: practice, oral practice and trying out, with the calibration in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from api import calibrations
from api.deps import Services
from grader.calibration import Calibration
from grader.errors import InputError
from grader.rubric import Item
from grader.score import Score

log = structlog.get_logger("practice")


@dataclass(frozen=True, slots=True)
class PracticeScorer:
    """Scores an organisation's practice as its exams are scored.

    A calibration that was made with another scorer, as after an upgrade, is left out here, so that nobody who
    practises is turned away; signatures say so. An exam's job fails instead and says what to do.

    Attributes:
        svc: Services.
        org_id: The organisation.
        patient: Whether to wait for the scorer however many wait already.
    """

    svc: Services
    org_id: str
    patient: bool = False

    def grade_many(self, item: Item, responses: Sequence[str], *, language: str = "en") -> list[Score]:
        """One mark a response, in order."""
        grade = partial(self.svc.scorer.grade_many, patient=self.patient)
        try:
            calibration = self._calibration(item)
            if calibration is not None:
                return grade(item, responses, language=language, calibration=calibration)
        except InputError as error:
            log.warning("calibration", item=item.id, reason=str(error))
        return grade(item, responses, language=language)

    def grade(self, item: Item, response: str, *, language: str = "en") -> Score:
        """The mark of one response."""
        return self.grade_many(item, [response], language=language)[0]

    def _calibration(self, item: Item) -> Calibration | None:
        with self.svc.db.read() as session:
            found = calibrations.in_force(session, self.org_id, item)
            return calibrations.opened(session, found) if found else None
