"""Grades chunks: reads answers, calls the scorer, stores marks or proposals."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import structlog
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from api import items, jobs, marks
from api.db import Database
from api.db.models import Answer, Chunk
from api.problems import Problem
from api.scoring import Scorer, load_scorer
from api.settings import Settings
from grader.score import Score

_PART = 50
log = structlog.get_logger("worker")


@dataclass
class Worker:
    """One worker: takes chunks of any organisation, one after the other."""

    settings: Settings
    db: Database
    scorer: Scorer
    owner: str

    def step(self) -> bool:
        """Grade and store one chunk; ``False`` when there is none."""
        limit = self.settings.max_attempts
        chunk = jobs.claim(self.db, self.owner, self.settings.lease_seconds, limit)
        if chunk is None:
            return False
        try:
            graded = self._grade(chunk)
        except Exception as error:
            # Messages of unknown errors may quote an answer, so only their kind is kept.
            reason = error.detail if isinstance(error, Problem) else type(error).__name__
            log.error("chunk", chunk=chunk.id, kind=type(error).__name__)
            jobs.fail(self.db, chunk, self.owner, limit, reason)
            return True
        jobs.finish(self.db, chunk, self.owner, lambda session, row, job: marks.store(session, row, job, graded))
        return True

    def _grade(self, chunk: Chunk) -> list[tuple[str, int, Score]]:
        with self.db.read() as session:
            item = items.content_of(session, chunk.item_id, chunk.version)
            query = select(Answer.id, Answer.text, Answer.revision).where(Answer.id.in_(chunk.answer_ids))
            answers = [(row.id, row.text, row.revision) for row in session.execute(query.order_by(Answer.id))]
        graded: list[tuple[str, int, Score]] = []
        for start in range(0, len(answers), _PART):
            part = answers[start : start + _PART]
            if start:
                jobs.renew(self.db, chunk, self.owner, self.settings.lease_seconds)
            scores = self.scorer.grade_many(item, [text for _, text, _ in part])
            graded += [(one, revision, score) for (one, _, revision), score in zip(part, scores, strict=True)]
        return graded


def run_worker(settings: Settings, stop: threading.Event, scorer: Scorer | None = None) -> None:
    """Grade chunks until ``stop`` is set; a chunk under way is finished first."""
    db = Database(settings.database_url)
    try:
        jobs.free_dead(db)
        worker = Worker(settings, db, scorer or load_scorer(settings), jobs.owner_name())
        log.info("ready", owner=worker.owner)
        _loop(worker, stop)
    finally:
        db.close()


def _loop(worker: Worker, stop: threading.Event) -> None:
    poll = worker.settings.poll_seconds
    while not stop.is_set():
        try:
            if not worker.step():
                stop.wait(poll)
        except SQLAlchemyError as error:
            log.error("database", kind=type(error).__name__)
            stop.wait(max(poll, 1.0))
