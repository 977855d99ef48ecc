"""What a layout reader finds in a table: responses by candidate and item, marks, and places for new marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.errors import InputError
from grader.formats.headers import flat
from grader.formats.notes import Note
from grader.formats.table import Table


@dataclass(frozen=True, slots=True)
class Cell:
    """One response.

    Attributes:
        candidate: Id of the candidate, as text.
        item_key: Key of the question in this sheet, see :class:`Question`.
        response: What the candidate wrote, ``""`` when nothing.
        row: Spreadsheet row number.
        column: Label of the response column.
    """

    candidate: str
    item_key: str
    response: str
    row: int
    column: str


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark that stands in the file.

    Attributes:
        candidate: Id of the candidate.
        item_key: Key of the question.
        kind: ``human_score``, ``human_score_2`` or ``human_<component>`` when the file says that a person
            gave it; ``points`` when it stands in a column that the platform or an export of ours fills.
        value: The number.
        row: Spreadsheet row number.
        column: Label of the column.
    """

    candidate: str
    item_key: str
    kind: str
    value: float
    row: int
    column: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question found in the file.

    Attributes:
        key: Distinct name in this sheet, used by cells and mappings.
        header: Where it was found: the header text, or the cell text in long layouts.
        text: Question text if the file has it, else ``""``.
        max_points: Points possible if the file says so.
    """

    key: str
    header: str
    text: str = ""
    max_points: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where marks for the responses of one column belong.

    Attributes:
        points: Label of the existing column for points, or None.
        feedback: Label of the existing column for feedback, or None.
        points_header: Header of the points column that an export adds if there is none.
        feedback_header: Header of the feedback column that an export adds if there is none.
        after: Label of the column after which it is added; None adds it at the right end.
        own: The points column is ours, so an earlier machine score in it may be replaced.
    """

    points: str | None
    feedback: str | None
    points_header: str
    feedback_header: str
    after: str | None
    own: bool = False


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table read as one of the known layouts.

    Attributes:
        layout: Name of the layout.
        table: The table it was read from.
        cells: All responses, blank ones included.
        questions: The questions, in the order of the file.
        marks: Marks found in the file.
        problems: What was skipped or looks odd, with row numbers.
        candidate_column: Label of the id column; None when candidates are named by their row.
        other_columns: Labels of columns that are neither responses, ids nor marks; all are kept on export.
        places: Response column to the place of its marks.
        sentinel_rows: Rows that are no candidate (points possible, averages, test students).
        total_column: Label of the column for the total of a row, if the layout has one.
        total_max: The total that means full marks, if the header says so.
    """

    layout: str
    table: Table
    cells: tuple[Cell, ...]
    questions: tuple[Question, ...]
    marks: tuple[Mark, ...] = ()
    problems: tuple[Note, ...] = ()
    candidate_column: str | None = None
    other_columns: tuple[str, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    sentinel_rows: tuple[int, ...] = ()
    total_column: str | None = None
    total_max: float | None = None

    def human_marks(self, kind: str = "human_score") -> tuple[Mark, ...]:
        """The marks of one kind, never an empty answer.

        Args:
            kind: ``human_score``, ``human_score_2``, ``human_<component>``, or ``points`` to take the
                platform's points for a person's marks on your own word.

        Raises:
            InputError: The kind is ``score``, which is the machine's, or the file has no such mark.
        """
        if flat(kind) == "score":
            raise InputError(SCORE_IS_THE_MACHINES)
        found = tuple(mark for mark in self.marks if mark.kind == kind)
        if not found:
            kinds = sorted({mark.kind for mark in self.marks})
            raise InputError(
                f"{self.table.name}: no marks of the kind {kind!r}; found: {', '.join(kinds) or 'none'}; "
                "allowed: a filled column human_score, human_score_2 or human_<component>"
            )
        return found


SCORE_IS_THE_MACHINES = (
    "a column named 'score' holds the machine's marks and is not read as a person's; allowed: name a rater's "
    "column human_score, human_score_2 or human_<component>"
)
