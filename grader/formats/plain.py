"""Plain tables: long (candidate, item, response), wide (candidate, one column an item), pmatch samples."""

from __future__ import annotations

from grader.errors import InputError
from grader.formats.builder import SheetBuilder
from grader.formats.headers import Headers, id_position
from grader.formats.layout import (
    Layout,
    Style,
    is_human,
    loose_marks,
    note_machine_score,
    read_loose_marks,
    read_wide,
)
from grader.formats.sheet import Mark, Place, Question, Sheet
from grader.formats.table import Table

_CANDIDATE = ("candidate", "candidate_id", "candidate id", "candidateid", "student_id", "student id")
_ITEM = ("item", "item_id", "item id", "question_id", "question id")
_RESPONSE = ("response", "answer")
_ABOUT = (
    *("name", "first name", "last name", "surname", "email", "email address", "e-mail", "section", "class"),
    *("group", "attempt", "timestamp"),
)
_WIDE_STYLE = Style("{} score", "{} feedback", own=True)
_PMATCH_MARK = ("human mark", "mark", "matches?", "matches", "human_score")
_YES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def _matches_long(headers: Headers) -> bool:
    return all(headers.find(*names) is not None for names in (_CANDIDATE, _ITEM, _RESPONSE))


def _read_long(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(LONG.name, table)
    candidate = id_position(headers, table.labels, chosen, _CANDIDATE)
    item, response = headers.find(*_ITEM), headers.find(*_RESPONSE)
    if item is None or response is None:
        raise InputError(f"{table.name}: columns item and response are missing; allowed: {LONG.expects}")
    score, feedback = headers.find("score"), headers.find("feedback")
    note_machine_score(builder, score)
    human = [(name, at) for at, name in enumerate(headers.names) if is_human(name)]
    builder.places[table.labels[response]] = Place(
        points=builder.label(score),
        feedback=builder.label(feedback),
        points_header="score",
        feedback_header="feedback",
        after=None,
        own=True,
    )
    ours = {at for at in (item, response, score, feedback) if at is not None}
    builder.used |= ours | {at for _, at in human}
    for index, row, who in builder.candidates(candidate):
        key = builder.at(item, index).strip()
        if not key:
            message = "no item id, so the response is not graded"
            builder.log.add("no-question", message, row=row, column=builder.label(item))
            continue
        builder.questions.setdefault(key, Question(key, key))
        builder.add_cell(who, key, builder.at(response, index), row, response)
        for kind, at in human:
            builder.add_mark(who, key, kind, index, at)
    return builder.finish(candidate)


def _matches_wide(headers: Headers) -> bool:
    return headers.find(*_CANDIDATE) is not None and headers.find(*_ITEM) is None and len(headers.names) > 1


def _read_wide(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(WIDE.name, table)
    candidate = id_position(headers, table.labels, chosen, _CANDIDATE)
    loose = loose_marks(headers) | {at for at, name in enumerate(headers.names) if name in ("score", "feedback")}
    about = {headers.names.index(name) for name in _ABOUT if name in headers.names}
    skip = loose | about | ({candidate} if candidate is not None else set())
    read_wide(builder, headers, skip, _WIDE_STYLE, lambda: builder.candidates(candidate))
    note_machine_score(builder, headers.find("score"))
    read_loose_marks(builder, headers, "view human_score")
    return builder.finish(candidate)


def _matches_pmatch(headers: Headers) -> bool:
    theirs = [name for name in headers.names if name not in ("score", "feedback")]
    mark = headers.find(*_PMATCH_MARK)
    return len(theirs) == 2 and headers.has("response") and mark is not None


def _read_pmatch(table: Table, chosen: str | None) -> Sheet:
    if chosen is not None:
        raise InputError(f"{table.name}: sample responses have no candidates; allowed: no candidate column")
    headers = Headers.of(table.headers)
    builder = SheetBuilder(PMATCH.name, table)
    response, mark = headers.names.index("response"), headers.find(*_PMATCH_MARK)
    score, feedback = headers.find("score"), headers.find("feedback")
    builder.questions["response"] = Question("response", table.headers[response])
    builder.places[table.labels[response]] = Place(
        points=builder.label(score),
        feedback=builder.label(feedback),
        points_header="score",
        feedback_header="feedback",
        after=None,
        own=True,
    )
    builder.used |= {at for at in (response, mark, score, feedback) if at is not None}
    for index, row, who in builder.candidates(None):
        builder.add_cell(who, "response", builder.at(response, index), row, response)
        if mark is not None:
            _add_pmatch_mark(builder, who, index, mark)
    return builder.finish(None)


def _add_pmatch_mark(builder: SheetBuilder, who: str, index: int, column: int) -> None:
    word = builder.at(column, index).strip().casefold()
    if word in _YES:
        row, label = builder.table.rows[index], builder.table.labels[column]
        builder.marks.append(Mark(who, "response", "human_score", _YES[word], row, label))
    else:
        builder.add_mark(who, "response", "human_score", index, column)


LONG = Layout(
    name="plain_long",
    title="One row a response",
    expects="'candidate', 'item', 'response'",
    matches=_matches_long,
    read=_read_long,
)
WIDE = Layout(
    name="plain_wide",
    title="One row a candidate",
    expects="'candidate' and a column an item",
    matches=_matches_wide,
    read=_read_wide,
)
PMATCH = Layout(
    name="pmatch",
    title="Moodle pattern match, sample responses",
    expects="two columns, 'Human mark' and 'Response', in any order",
    matches=_matches_pmatch,
    read=_read_pmatch,
)
