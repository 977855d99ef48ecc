"""Blackboard: results of a test "by user" (six columns a question) and "by question and user" (long).

Headers are English. ``Manual Score`` is where a person's mark belongs, and where an export writes ours, so
marks in it are read as ``points``; the headers of the long file follow the wide one and are less certain.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.formats.builder import SheetBuilder
from grader.formats.headers import Headers, id_position
from grader.formats.layout import Layout, is_human, numbered_human, read_loose_marks
from grader.formats.notes import shorten
from grader.formats.numeric import parse_number
from grader.formats.sheet import Place, Question, Sheet
from grader.formats.table import Table

_USER = ("username", "user name")


@dataclass(frozen=True, slots=True)
class _Block:
    """Positions of the columns of one question; None where the file lacks one."""

    key: int | None
    text: int | None
    answer: int
    possible: int | None
    manual: int | None
    feedback: int | None
    human: tuple[tuple[str, int], ...] = ()

    def columns(self) -> set[int]:
        found = (self.key, self.text, self.answer, self.possible, self.manual, self.feedback)
        return {at for at in found if at is not None} | {at for _, at in self.human}


def _matches_wide(headers: Headers) -> bool:
    numbered = headers.numbered("answer") and (headers.numbered("question id") or headers.numbered("question"))
    return bool(numbered) and headers.find(*_USER) is not None


def _read_wide(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(WIDE.name, table)
    candidate = id_position(headers, table.labels, chosen, _USER)
    human = numbered_human(headers)
    blocks = []
    for number, answer in sorted(headers.numbered("answer").items()):
        block = _Block(
            key=headers.numbered("question id").get(number),
            text=headers.numbered("question").get(number),
            answer=answer,
            possible=headers.numbered("possible points").get(number),
            manual=headers.numbered("manual score").get(number),
            feedback=headers.numbered("feedback").get(number),
            human=tuple((kind, at) for kind, of, at in human if of == number),
        )
        _add_place(builder, block, f" {number}", after=block.manual if block.manual is not None else answer)
        blocks.append(block)
    for index, row, who in builder.candidates(candidate):
        for block in blocks:
            _add_response(builder, block, index, row, who)
    read_loose_marks(builder, headers, "human_score 1")
    return builder.finish(candidate)


def _matches_long(headers: Headers) -> bool:
    question = headers.find("question id", "question") is not None
    return headers.find(*_USER) is not None and question and headers.has("answer")


def _read_long(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(LONG.name, table)
    candidate = id_position(headers, table.labels, chosen, _USER)
    block = _Block(
        key=headers.find("question id"),
        text=headers.find("question"),
        answer=headers.names.index("answer"),
        possible=headers.find("possible points"),
        manual=headers.find("manual score"),
        feedback=headers.find("feedback"),
        human=tuple((name, at) for at, name in enumerate(headers.names) if is_human(name)),
    )
    _add_place(builder, block, "", after=None)
    for index, row, who in builder.candidates(candidate):
        _add_response(builder, block, index, row, who)
    return builder.finish(candidate)


def _add_place(builder: SheetBuilder, block: _Block, suffix: str, after: int | None) -> None:
    builder.used |= block.columns()
    builder.places[builder.table.labels[block.answer]] = Place(
        points=builder.label(block.manual),
        feedback=builder.label(block.feedback),
        points_header=f"Manual Score{suffix}",
        feedback_header=f"Feedback{suffix}",
        after=builder.label(after),
    )


def _add_response(builder: SheetBuilder, block: _Block, index: int, row: int, who: str) -> None:
    """One response; the question comes from the row itself, because every candidate has an own order."""
    text = builder.at(block.text, index).strip() if block.text is not None else ""
    key = builder.at(block.key, index).strip() if block.key is not None else ""
    key = key or text
    response = builder.at(block.answer, index)
    if not key:
        if response.strip():
            builder.log.add(
                "no-question",
                f"the answer {shorten(response)} has no question id, so it is not graded",
                row=row,
                column=builder.label(block.answer),
            )
        return
    _add_question(builder, block, index, key, text)
    builder.add_cell(who, key, response, row, block.answer)
    if block.manual is not None:
        builder.add_mark(who, key, "points", index, block.manual)
    for kind, column in block.human:
        builder.add_mark(who, key, kind, index, column)


def _add_question(builder: SheetBuilder, block: _Block, index: int, key: str, text: str) -> None:
    possible = builder.at(block.possible, index) if block.possible is not None else ""
    known = builder.questions.get(key)
    if known is None:
        builder.questions[key] = Question(key, key, text, parse_number(possible, builder.table.decimal))
    elif text and known.text and text != known.text:
        message = f"question {shorten(key)} has another text here ({shorten(text)}) than before"
        builder.log.add("question-text-differs", message, row=builder.table.rows[index])


WIDE = Layout(
    name="blackboard_by_user",
    title="Blackboard test results, by user",
    expects="'Username', 'Question ID 1', 'Question 1', 'Answer 1', …",
    matches=_matches_wide,
    read=_read_wide,
)
LONG = Layout(
    name="blackboard_long",
    title="Blackboard test results, by question and user",
    expects="'Username', 'Question ID' or 'Question', 'Answer'",
    matches=_matches_long,
    read=_read_long,
)
