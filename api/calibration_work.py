"""What a worker does for calibrations: fit an item to its labels, compare two, choose what to label next."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import calibrations, items, labels
from api.db import Database
from api.db.models import Answer, CalibrationRow, Chunk, ItemRow, Job, Label
from api.problems import Problem
from api.scoring import Scorer
from grader.advice import advise
from grader.calibration import Calibration, Calibrator
from grader.calibration_study import Study, study
from grader.calibration_words import in_words
from grader.correction import MIN_LABELS
from grader.grading import Grader
from grader.labelling import suggest
from grader.labels import check_labels
from grader.lifecycle import compare_scores, name_of
from grader.referral import Policy
from grader.representation import Representation, joined
from grader.rubric import Item
from grader.score import Score

Store = Callable[[Session, Chunk, Job], None]
#: Answers between two signs of life.
PART = 50
#: Labelled answers that suggestions take into account, the newest ones.
_KNOWN = 300
#: Labelled answers that advice on the rubric is taken from.
_ADVISED = 500
_LANGUAGES = ("en", "de", "hi")


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk of work on an item.

    Attributes:
        db: The database.
        scorer: The scorer.
        chunk: The chunk.
        job: Its job.
        tick: Called with the number of answers that are done.
    """

    db: Database
    scorer: Scorer
    chunk: Chunk
    job: Job
    tick: Callable[[int], None]

    @property
    def grader(self) -> Grader:
        """The scorer as the library's grader, which calibrations need."""
        return cast(Grader, self.scorer)

    def item(self, session: Session) -> Item:
        """The version of the item that the chunk is about."""
        return items.content_of(session, self.chunk.item_id, self.chunk.version)

    def parts(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """The texts in parts, with a sign of life after each."""
        for start in range(0, len(texts), PART):
            yield texts[start : start + PART]
            self.tick(min(start + PART, len(texts)))

    def represent(self, item: Item, texts: Sequence[str]) -> Representation:
        """What calibration knows of the texts."""
        return joined([self.grader.represent(item, list(part)) for part in self.parts(texts)])

    def grade(self, item: Item, texts: Sequence[str], calibration: Calibration | None) -> list[Score]:
        """The marks of the texts."""
        grade = self.scorer.grade_many
        return [score for part in self.parts(texts) for score in grade(item, part, calibration=calibration)]


def fit(task: Task) -> Store:
    """Fits a calibration, examines it and stores both.

    Raises:
        Problem: Too few of the labels are left.
    """
    params = task.job.params
    with task.db.read() as session:
        item = task.item(session)
        wanted = set(params["labels"])
        row = session.get_one(ItemRow, task.chunk.item_id)
        found = [one for one in labels.of_item(session, row) if one.id in wanted]
    if len(found) < MIN_LABELS:
        raise Problem("invalid", f"{len(found)} labels are left, which are too few; allowed: {MIN_LABELS} or more")
    texts, scores = [one.text for one in found], [one.human_score for one in found]
    shares = check_labels(item, texts, scores)
    rows = task.represent(item, texts)
    calibration = Calibrator(task.grader, Policy(**params["policy"])).fit_rows(
        item, rows, shares, components=_components(item, found), chances=_chances(found)
    )
    examined = study(
        calibration,
        item,
        texts,
        scores,
        human2=[one.human_score_2 for one in found] if any(one.human_score_2 is not None for one in found) else None,
        subgroups=[one.subgroup or "–" for one in found] if any(one.subgroup for one in found) else None,
        signature=task.grader.signature(item, calibration.name),
    )
    figures = {**examined.to_dict(), **_more(examined, found)}
    figures["calibrated"].pop("worst")  # quotes answers; the report shows them until they are deleted
    figures["advice"] = [asdict(one) for one in advise(task.grader, item, texts[:_ADVISED], scores[:_ADVISED])]
    made = CalibrationRow(
        org_id=task.job.org_id,
        item_id=task.chunk.item_id,
        item_version=task.chunk.version,
        rubric=calibration.rubric,
        name=calibration.name,
        policy=params["policy"],
        label_ids=[one.id for one in found],
        study=finite(figures),
        content=calibration.to_bytes(),
        report=examined.to_html(),
        reports={language: examined.to_html(language) for language in _LANGUAGES if language != "en"},
        carried_from=params["carried_from"],
        created_by=task.job.created_by,
    )

    def store(session: Session, _: Chunk, job: Job) -> None:
        query = select(CalibrationRow).where(CalibrationRow.org_id == job.org_id, CalibrationRow.name == made.name)
        known = session.scalar(query)
        if known is None:
            session.add(made)
            session.flush()
        job.result = {"calibration": (known or made).id, "new": known is None}

    return store


def _components(item: Item, found: Sequence[Label]) -> dict[str, list[float | None]]:
    """Points of the components that were given, one value a label."""
    named = [name for name in item.components if any(name in one.components for one in found)]
    return {name: [one.components.get(name) for one in found] for name in named}


def _chances(found: Sequence[Label]) -> list[float] | None:
    """Probability that each label's answer was chosen; ``None`` where all were chosen alike."""
    return [one.chance for one in found] if len({one.chance for one in found}) > 1 else None


def _more(examined: Study, found: Sequence[Label]) -> dict[str, Any]:
    """What the service shows besides the library's figures."""
    calibration = examined.calibration
    return {
        "labels": len(found),
        "sources": {name: sum(one.source == name for one in found) for name in sorted({one.source for one in found})},
        "operating": asdict(calibration.operating),
        "novelty": np.round(np.sort(calibration.fitted.left_out.novelty), 6).tolist(),
        "words": {language: in_words(examined, language) for language in _LANGUAGES},
    }


def finite(value: Any) -> Any:
    """Plain data with ``None`` for numbers that are not finite, which databases refuse."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return value


def compare(task: Task) -> Store:
    """Marks an exam's answers with two calibrations and keeps what differs."""
    params = task.job.params
    with task.db.read() as session:
        item = task.item(session)
        before, after = (
            calibrations.opened(session, one) if one else None for one in (params["before"], params["after"])
        )
        rows = _answers(session, task.chunk.answer_ids)
    texts = [text for _, text in rows]
    old, new = (task.grade(item, texts, one) for one in (before, after))
    found = compare_scores(old, new, before=name_of(before), after=name_of(after)).to_dict()
    found["changes"] = [
        {"answer": rows[one["row"]][0], "old": one["before"], "new": one["after"]} for one in found["changes"]
    ]
    for name in ("newly_referred", "no_longer_referred"):
        found[name] = [rows[at][0] for at in found[name]]

    def store(_: Session, __: Chunk, job: Job) -> None:
        job.result = finite(found)

    return store


def suggestions(task: Task) -> Store:
    """Chooses the answers of an exam whose labels would tell most about all the others."""
    with task.db.read() as session:
        item = task.item(session)
        query = select(Label.text).where(Label.item_id == task.chunk.item_id).order_by(Label.id.desc()).limit(_KNOWN)
        known = list(session.scalars(query))
        rows = _answers(session, task.chunk.answer_ids)
    texts = [*known, *(text for _, text in rows)]
    number = task.job.params["number"]
    picked = suggest(task.represent(item, texts), number, labelled=range(len(known))) if rows else []

    def store(_: Session, __: Chunk, job: Job) -> None:
        job.result = {"answers": [rows[at - len(known)][0] for at in picked]}

    return store


def _answers(session: Session, ids: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for start in range(0, len(ids), 400):
        query = select(Answer.id, Answer.text).where(Answer.id.in_(ids[start : start + 400])).order_by(Answer.id)
        found += [(row.id, row.text) for row in session.execute(query)]
    return found


TASKS: Mapping[str, Callable[[Task], Store]] = {"fit": fit, "compare": compare, "suggest": suggestions}
