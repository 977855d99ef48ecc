"""Canvas: Student Analysis of Classic Quizzes, and the gradebook export (marks only, no responses).

In the analysis each question has two columns: ``<id>: <text>`` and one whose header is the points possible.
Canvas writes 0 there for answers that nobody has marked yet, so these marks are read as ``points``, not as a
person's. The analysis of New Quizzes is another format and not supported.
"""

from __future__ import annotations

import re

from grader.formats.builder import SheetBuilder
from grader.formats.headers import Headers, attached_columns, id_position
from grader.formats.layout import Layout, is_human, is_test_student, read_loose_marks
from grader.formats.numeric import parse_number
from grader.formats.roster import ASSIGNMENT, is_total, read_roster
from grader.formats.sheet import Place, Question, Sheet
from grader.formats.table import Table

_QUESTION = re.compile(r"(\d+):\s*(.*)", re.DOTALL)


def _pairs(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """Positions of question columns and of the points column right of each."""
    attached = attached_columns(names)
    return [
        (at, at + 1)
        for at, name in enumerate(names[:-1])
        if _QUESTION.fullmatch(name) and parse_number(names[at + 1]) is not None and at not in attached
    ]


def _matches_analysis(headers: Headers) -> bool:
    return bool(_pairs(headers.names))


def _read_analysis(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(ANALYSIS.name, table)
    candidate = id_position(headers, table.labels, chosen, ("id",))
    if candidate is None:
        builder.log.add("anonymous", "no column 'id': candidates are named by their row")
    pairs = _pairs(headers.names)
    keys = _add_analysis_questions(builder, headers, pairs)
    marks = _human_columns(builder, headers, pairs)
    has_points = {points: any(map(str.strip, table.texts(points))) for _, points in pairs}
    sentinel = is_test_student(builder, headers.find("name"))
    for index, row, who in builder.candidates(candidate, sentinel=sentinel, missing="row"):
        for key, (at, points) in zip(keys, pairs, strict=True):
            response = builder.at(at, index)
            # Both empty while others have points: a question group did not show this one to the candidate.
            if not response.strip() and has_points[points] and not builder.at(points, index).strip():
                continue
            builder.add_cell(who, key, response, row, at)
            builder.add_mark(who, key, "points", index, points)
            for kind, column in marks[at]:
                builder.add_mark(who, key, kind, index, column)
    read_loose_marks(builder, headers, "<id>: <question> [human_score]")
    return builder.finish(candidate)


def _add_analysis_questions(builder: SheetBuilder, headers: Headers, pairs: list[tuple[int, int]]) -> list[str]:
    keys = []
    for at, points in pairs:
        match = _QUESTION.fullmatch(builder.table.headers[at].strip())
        number, text = match.groups() if match else (builder.table.labels[at], "")
        header = f"Feedback {number}"
        feedback = headers.find(header.casefold())
        full = parse_number(builder.table.headers[points], builder.table.decimal)
        builder.questions[number] = Question(number, builder.table.headers[at], text, full)
        builder.places[builder.table.labels[at]] = Place(
            points=builder.label(points),
            feedback=builder.label(feedback),
            points_header=builder.table.headers[points],
            feedback_header=header,
            after=builder.label(points),
        )
        builder.used |= {at, points, *([] if feedback is None else [feedback])}
        keys.append(number)
    return keys


def _human_columns(
    builder: SheetBuilder, headers: Headers, pairs: list[tuple[int, int]]
) -> dict[int, list[tuple[str, int]]]:
    found: dict[int, list[tuple[str, int]]] = {at: [] for at, _ in pairs}
    for column, one in attached_columns(headers.names).items():
        if one.question in found and is_human(one.what):
            found[one.question].append((one.what, column))
            builder.used.add(column)
    return found


def _matches_gradebook(headers: Headers) -> bool:
    student = headers.has("student") or headers.has("lastname", "firstname")
    return student and headers.has("section") and headers.find("id", "sis login id", "sis user id") is not None


def _read_gradebook(table: Table, chosen: str | None) -> Sheet:
    roster = read_roster(table)
    headers = Headers.of(table.headers)
    builder = SheetBuilder(GRADEBOOK.name, table)
    candidate = id_position(headers, table.labels, chosen, ("id", "sis user id", "sis login id"))
    columns = []
    for at, header in enumerate(table.headers):
        match = ASSIGNMENT.fullmatch(header.strip())
        if match and not is_total(header):
            full = roster.points_possible(at)
            builder.questions[match.group(2)] = Question(match.group(2), header, match.group(1).strip(), full)
            columns.append((match.group(2), at))
    builder.used |= {at for _, at in columns}
    builder.log.add("no-responses", "a gradebook holds marks and no responses: it serves as roster")
    people = {person.index for person in roster.people}
    for index, _, who in builder.candidates(candidate, sentinel=lambda at: at not in people):
        for key, at in columns:
            if builder.at(at, index).strip().upper() not in ("EX", "N/A"):
                builder.add_mark(who, key, "points", index, at)
    return builder.finish(candidate)


ANALYSIS = Layout(
    name="canvas_analysis",
    title="Canvas Classic Quiz, Student Analysis",
    expects="'<number>: <question>' followed by a column whose header is the points possible",
    matches=_matches_analysis,
    read=_read_analysis,
)
GRADEBOOK = Layout(
    name="canvas_gradebook",
    title="Canvas gradebook",
    expects="'Student', 'ID' or 'SIS Login ID', 'Section'",
    matches=_matches_gradebook,
    read=_read_gradebook,
)
