"""What every layout module offers, and helpers that several of them share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from grader.formats.builder import SheetBuilder
from grader.formats.headers import Attached, Headers, attached_columns, flat, tidy, unique_keys
from grader.formats.sheet import SCORE_IS_THE_MACHINES, Place, Question, Sheet
from grader.formats.table import Table

_HUMAN = re.compile(r"human_[a-z0-9_]+")
_HUMAN_NUMBERED = re.compile(r"(human_[a-z0-9_]+)\s+(\d{1,6})", re.ASCII)
_TEST_STUDENTS = frozenset({"student, test", "test student", "teststudent", "student, test (test student)"})


@dataclass(frozen=True, slots=True)
class Layout:
    """One known arrangement of columns.

    Attributes:
        name: Stable name (``moodle_responses``).
        title: What a teacher calls it.
        expects: The headers that identify it, for messages.
        matches: Tells from the headers whether a table has this layout.
        read: Reads a table; the second argument is the label of the candidate column or None.
    """

    name: str
    title: str
    expects: str
    matches: Callable[[Headers], bool]
    read: Callable[[Table, str | None], Sheet]


@dataclass(frozen=True, slots=True)
class Style:
    """How a layout with one column a question names the columns for marks; ``{}`` is its header."""

    points: str
    feedback: str
    own: bool


def is_human(name: str) -> bool:
    """Whether a folded header is ``human_score``, ``human_score_2`` or ``human_<component>``."""
    return bool(_HUMAN.fullmatch(name))


def numbered_human(headers: Headers) -> list[tuple[str, int, int]]:
    """Kind, question number and position of columns such as ``human_score 3``."""
    found = []
    for position, name in enumerate(headers.names):
        match = _HUMAN_NUMBERED.fullmatch(name)
        if match:
            found.append((match.group(1), int(match.group(2)), position))
    return found


def is_test_student(builder: SheetBuilder, name: int | None) -> Callable[[int], bool]:
    """Tells whether a row is the test student that a platform adds."""
    return lambda index: name is not None and flat(builder.at(name, index)) in _TEST_STUDENTS


def read_wide(
    builder: SheetBuilder,
    headers: Headers,
    skip: Iterable[int],
    style: Style,
    rows: Callable[[], Iterable[tuple[int, int, str]]],
) -> None:
    """Read a layout with one column a question: every column that is not skipped or attached to another."""
    skipped = set(skip)
    found = attached_columns(headers.names)
    attached = {at: one for at, one in found.items() if at not in skipped and one.question not in skipped}
    questions = [at for at in range(len(headers.names)) if at not in skipped and at not in found]
    keys = list(unique_keys(builder.table.headers[at] or builder.table.labels[at] for at in questions))
    for key, at in zip(keys, questions, strict=True):
        header = builder.table.headers[at]
        builder.questions[key] = Question(key, header, tidy(header))
        builder.places[builder.table.labels[at]] = _place(builder, at, attached, style)
    builder.used |= {*questions, *attached}
    marks = _mark_columns(questions, attached, style)
    for index, row, candidate in rows():
        for key, at in zip(keys, questions, strict=True):
            builder.add_cell(candidate, key, builder.at(at, index), row, at)
            for kind, column in marks[at]:
                builder.add_mark(candidate, key, kind, index, column)


def _place(builder: SheetBuilder, at: int, attached: dict[int, Attached], style: Style) -> Place:
    def column(what: str) -> str | None:
        found = [position for position, one in attached.items() if one == Attached(at, what)]
        return builder.label(found[0]) if found else None

    header = tidy(builder.table.headers[at]) or builder.table.labels[at]
    return Place(
        points=column("score"),
        feedback=column("feedback"),
        points_header=style.points.replace("{}", header),
        feedback_header=style.feedback.replace("{}", header),
        after=builder.table.labels[at],
        own=style.own,
    )


def _mark_columns(
    questions: list[int], attached: dict[int, Attached], style: Style
) -> dict[int, list[tuple[str, int]]]:
    """For each question its mark columns; a score column of ours is no mark to learn from."""
    marks: dict[int, list[tuple[str, int]]] = {at: [] for at in questions}
    for column, one in attached.items():
        if is_human(one.what):
            marks[one.question].append((one.what, column))
        elif one.what == "score" and not style.own:
            marks[one.question].append(("points", column))
    return marks


def note_machine_score(builder: SheetBuilder, column: int | None) -> None:
    """Say why a column ``score`` is not read as a person's mark."""
    if column is not None:
        builder.log.add("score-is-the-machines", SCORE_IS_THE_MACHINES, column=builder.label(column))


def loose_marks(headers: Headers) -> set[int]:
    """Positions of human marks whose header names no question."""
    return {at for at, name in enumerate(headers.names) if is_human(name)}


def read_loose_marks(builder: SheetBuilder, headers: Headers, example: str) -> None:
    """Read marks whose header names no question: they belong to the question if there is only one.

    Otherwise they are a problem, never passed over in silence; ``example`` is a header that would do.
    """
    columns = sorted(loose_marks(headers))
    if columns and len(builder.questions) != 1:
        message = (
            f"the file has {len(builder.questions)} questions: these marks belong to none and are left out; "
            f"allowed: one column a question, such as {example!r}"
        )
        for at in columns:
            builder.log.add("mark-without-item", message, column=builder.label(at))
        return
    builder.used.update(columns)
    rows = {row: index for index, row in enumerate(builder.table.rows)}
    for cell in builder.cells:
        for at in columns:
            builder.add_mark(cell.candidate, cell.item_key, headers.names[at], rows[cell.row], at)
