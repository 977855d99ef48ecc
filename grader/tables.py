"""DataFrame in, DataFrame out: whole tables of responses graded row by row.

Three shapes are read: long (``candidate``, ``item``, ``response``), wide (``candidate`` and one column an item) and
ad-hoc (``prompt``, ``reference``, ``response``). The result has one row a response. Rows are named in messages by the
frame's index, so a file reader can put its own line numbers there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from grader.errors import InputError
from grader.formats.headers import flat
from grader.grading import Grader
from grader.rubric import Item
from grader.score import Score
from grader.table_shapes import Job, Shape, ad_hoc_shape, bank_shape

if TYPE_CHECKING:
    from grader.calibration import Calibration

#: Columns that every result has, besides one credit column a component.
FIRST, LAST = ("score", "max_score"), ("condition_code", "confidence", "referred", "summary", "signature")
BLOCK = 200

Progress = Callable[[int], None]
#: By item id.
Calibrations = Mapping[str, "Calibration"]


@dataclass(frozen=True, eq=False)
class Plan:
    """A table that has been checked and waits to be graded.

    Attributes:
        kept: The columns of the input that go into the result, one row a response.
        jobs: Item and response of each row of ``kept``.
        components: Components that occur, in the order of their first item.
    """

    kept: pd.DataFrame
    jobs: Sequence[Job]
    components: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Labels of the result, in order."""
        added = [*FIRST, *self.components, *LAST]
        return [*(label for label in self.kept.columns if label not in added), *added]

    def blocks(
        self,
        grader: Grader,
        *,
        size: int = BLOCK,
        language: str = "en",
        progress: Progress | None = None,
        calibrations: Calibrations | None = None,
    ) -> Iterator[pd.DataFrame]:
        """The result in the order of the input, ``size`` rows at a time, every block complete.

        Args:
            grader: Marks the responses, all of one item in a block together.
            size: Rows a block, at least 1; marks do not depend on it.
            language: Language of the summaries.
            progress: Called with the number of rows that were just graded.
            calibrations: Calibrations by item id; items without one are marked without.

        Raises:
            InputError: A calibration was made for another rubric or scorer.
        """
        for start in range(0, len(self.jobs), size):
            jobs = self.jobs[start : start + size]
            scores = _grade(grader, jobs, language, progress, calibrations or {})
            kept = self.kept.iloc[start : start + size]
            rows = [_row(score, self.components) for score in scores]
            added = pd.DataFrame(rows, columns=[*FIRST, *self.components, *LAST], index=kept.index)
            yield _typed(pd.concat([kept.drop(columns=["max_score"], errors="ignore"), added], axis=1)[self.columns])


def plan(frame: pd.DataFrame, bank: Mapping[str, Item] | None = None, *, components: Sequence[str] = ()) -> Plan:
    """Checks ``frame`` and finds the item and response of every row; nothing is graded yet.

    Args:
        frame: The table.
        bank: Items by id for a long or wide table; ``None`` reads the table as ad-hoc.
        components: Components that the result has besides, where ``frame`` is a piece of a longer table.

    Raises:
        InputError: A column is missing, doubled or one that the result adds; an item is unknown; a candidate has two
            rows for one item; a prompt, reference or top score is not acceptable.
    """
    shape = ad_hoc_shape(frame) if bank is None else bank_shape(frame, bank)
    found = tuple(dict.fromkeys([*components, *(name for item in shape.items for name in item.components)]))
    _refuse_result_columns(shape, found)
    return Plan(shape.kept, shape.jobs, found)


def grade_frame(
    frame: pd.DataFrame,
    bank: Mapping[str, Item] | None,
    grader: Grader,
    *,
    language: str = "en",
    progress: Progress | None = None,
    calibrations: Calibrations | None = None,
) -> pd.DataFrame:
    """The table with its marks: one row a response, other columns kept.

    The result adds ``score``, ``max_score``, one credit column (0 to 1) for each component that occurs, named after
    it, ``condition_code``, ``confidence``, ``referred``, ``summary`` and ``signature``. A row without a mark (another
    language, too long) has an empty ``score`` and the reason in ``condition_code``.

    Args:
        frame: Long, wide or ad-hoc table.
        bank: Items by id for a long or wide table; ``None`` for an ad-hoc one.
        grader: Marks the responses.
        language: Language of the summaries.
        progress: Called with the number of rows that were just graded.
        calibrations: Calibrations by item id; items without one are marked without.

    Raises:
        InputError: The table is not acceptable, see `plan`; or a calibration was made for another rubric or scorer.
    """
    planned = plan(frame, bank)
    blocks = list(planned.blocks(grader, language=language, progress=progress, calibrations=calibrations))
    return _typed(pd.concat(blocks)) if blocks else pd.DataFrame(columns=planned.columns)


@dataclass(slots=True)
class _Group:
    item: Item
    places: list[int] = field(default_factory=list)


def _grade(
    grader: Grader, jobs: Sequence[Job], language: str, progress: Progress | None, calibrations: Calibrations
) -> list[Score]:
    """The scores of ``jobs`` in their order; responses of one item are graded in one call."""
    groups: dict[str, _Group] = {}
    for place, job in enumerate(jobs):
        groups.setdefault(job.item.content_hash, _Group(job.item)).places.append(place)
    scores: dict[int, Score] = {}
    for group in groups.values():
        responses = [jobs[place].response for place in group.places]
        calibration = calibrations.get(group.item.id)
        marked = grader.grade_many(group.item, responses, language=language, calibration=calibration)
        scores.update(zip(group.places, marked, strict=True))
        if progress is not None:
            progress(len(responses))
    return [scores[place] for place in range(len(jobs))]


def _row(score: Score, components: Sequence[str]) -> list[object]:
    credit = {component.name: component.credit for component in score.components}
    ungraded = score.score is None
    return [
        score.score,
        score.max_score,
        *(None if ungraded else credit.get(name) for name in components),
        score.condition_code,
        score.confidence,
        score.referred,
        score.feedback.summary,
        score.signature,
    ]


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as numbers even where a block has none, texts as objects with ``None`` for nothing."""
    start = list(frame.columns).index("score")
    for label in frame.columns[start:]:
        if label in ("condition_code", "summary", "signature"):
            texts = frame[label].astype(object)
            frame[label] = texts.where(texts.notna(), None)
        elif label == "referred":
            frame[label] = frame[label].astype(bool)
        else:
            frame[label] = pd.to_numeric(frame[label]).astype(float)
    return frame


def _refuse_result_columns(shape: Shape, components: Sequence[str]) -> None:
    added = {*FIRST, *components, *LAST} - shape.may_repeat
    clash = [label for label in shape.kept.columns if flat(label) in added]
    if clash:
        raise InputError(
            f"column '{clash[0]}' is one that the result adds; rename it (a person's mark: human_score, "
            f"human_score_2 or human_<component>), or drop it to grade again"
        )
