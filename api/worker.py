"""Works on chunks: marks answers and stores marks or proposals, or works on a calibration."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

import structlog
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from api import calibrations, edits, items, jobs, marks
from api.calibration_work import TASKS, Task
from api.db import Database
from api.db.models import Answer, Chunk, Exam, ExamItem, Job
from api.problems import Problem
from api.scoring import Scorer, load_scorer
from api.settings import Settings
from grader.calibration import Calibration
from grader.errors import InputError
from grader.rubric import Item
from grader.score import Score

_TASKS = {**TASKS, "edit": edits.preview}
#: Answers scored before the first sign of life, and between two others.
_FIRST, _PART = 6, 50
#: Items of the newest ungraded exams that an idle worker makes ready.
_AHEAD = 64
log = structlog.get_logger("worker")


@dataclass
class Worker:
    """One worker: takes chunks of any organisation, one after the other."""

    settings: Settings
    db: Database
    scorer: Scorer
    owner: str
    ready: set[tuple[str, int]] = field(default_factory=set)

    def step(self) -> bool:
        """Grade and store one chunk; ``False`` when there is none."""
        limit = self.settings.max_attempts
        chunk = jobs.claim(self.db, self.owner, self.settings.lease_seconds, limit)
        if chunk is None:
            return False
        try:
            with jobs.kept(self.db, chunk, self.owner, self.settings.lease_seconds):
                store = self._work(chunk)
        except (Problem, InputError) as error:
            reason = error.detail if isinstance(error, Problem) else str(error)
            log.error("chunk", chunk=chunk.id, kind=type(error).__name__)
            jobs.fail(self.db, chunk, self.owner, 0, reason)  # it would fail the same way again
            return True
        except Exception as error:
            # Messages of unknown errors may quote an answer, so only their kind is kept.
            log.error("chunk", chunk=chunk.id, kind=type(error).__name__)
            jobs.fail(self.db, chunk, self.owner, limit, type(error).__name__)
            return True
        jobs.finish(self.db, chunk, self.owner, store)
        return True

    def prepare(self) -> bool:
        """Make one item of an exam that waits to be graded ready for its first answer; ``False`` when there is none.

        Encoding the statements of an item takes about a second, which whoever starts the grading would wait for.
        """
        begun = select(Job.id).where(Job.exam_id == Exam.id, Job.kind == "grade").exists()
        query = select(ExamItem.item_id, ExamItem.version).join(Exam, Exam.id == ExamItem.exam_id).where(~begun)
        with self.db.read() as session:
            rows = session.execute(query.order_by(Exam.created_at.desc(), ExamItem.position).limit(_AHEAD))
            name = next(
                ((row.item_id, row.version) for row in rows if (row.item_id, row.version) not in self.ready), None
            )
        if name is None:
            return False
        self.ready.add(name)
        try:
            with self.db.read() as session:
                item = items.content_of(session, *name)
            self.scorer.grade_many(item, [item.reference_answer])
        except Exception as error:
            log.error("prepare", item=name[0], kind=type(error).__name__)
        return True

    def _work(self, chunk: Chunk) -> jobs.Store:
        with self.db.read() as session:
            job = session.get_one(Job, chunk.job_id)
        if job.kind in _TASKS:
            return _TASKS[job.kind](Task(self.db, self.scorer, chunk, job, lambda done: self._tick(chunk, done)))
        graded, novelty = self._grade(chunk)

        def store(session: Session, row: Chunk, job: Job) -> None:
            row.novelty = novelty
            marks.store(session, row, job, graded)

        return store

    def _tick(self, chunk: Chunk, done: int) -> None:
        jobs.renew(self.db, chunk, self.owner, self.settings.lease_seconds, done)

    def _grade(self, chunk: Chunk) -> tuple[list[tuple[str, int, Score]], dict[str, float] | None]:
        """Marks, and for a calibrated item how unlike the labelled answers each answer is."""
        with self.db.read() as session:
            item = items.content_of(session, chunk.item_id, chunk.version)
            query = select(Answer.id, Answer.text, Answer.revision).where(Answer.id.in_(chunk.answer_ids))
            answers = [(row.id, row.text, row.revision) for row in session.execute(query.order_by(Answer.id))]
            calibration = calibrations.opened(session, chunk.calibration_id) if chunk.calibration_id else None
        graded: list[tuple[str, int, Score]] = []
        novelty: list[float] = []
        for start, end in pairwise([0, *range(_FIRST, len(answers), _PART), len(answers)]):
            part = answers[start:end]
            if start:
                self._tick(chunk, start)
            scores, seen = self._scores(item, [text for _, text, _ in part], calibration)
            graded += [(one, revision, score) for (one, _, revision), score in zip(part, scores, strict=True)]
            novelty += seen
        if calibration is None:
            return graded, None
        marked = zip(graded, novelty, strict=True)
        return graded, {one: unlike for (one, _, score), unlike in marked if score.condition_code != "blank"}

    def _scores(
        self, item: Item, texts: Sequence[str], calibration: Calibration | None
    ) -> tuple[list[Score], list[float]]:
        """Scores in order, and the novelty of each where there is a calibration."""
        if calibration is None:
            return self.scorer.grade_many(item, texts), []
        watched = calibrations.Watched(calibration)
        scores = self.scorer.grade_many(item, texts, calibration=cast("Calibration", watched))
        return scores, watched.novelty


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
            if not worker.step() and not worker.prepare():
                stop.wait(poll)
        except SQLAlchemyError as error:
            log.error("database", kind=type(error).__name__)
            stop.wait(max(poll, 1.0))
