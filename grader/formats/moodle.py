"""Moodle: quiz report "Responses", downloaded as CSV or XLSX, in English or German.

One row an attempt. Headers are localised: others than English and German are not recognised. The report has
no column for the mark of one question, so exports add ``Score n`` and ``Feedback n`` after ``Response n``;
the grade of the whole attempt (``Grade/10.00``) is filled only on request.
"""

from __future__ import annotations

import re

from grader.errors import InputError
from grader.formats.builder import SheetBuilder
from grader.formats.headers import Headers, flat, id_position
from grader.formats.layout import Layout, numbered_human, read_loose_marks
from grader.formats.notes import shorten
from grader.formats.numeric import parse_number
from grader.formats.sheet import Place, Question, Sheet
from grader.formats.table import Table

RESPONSE = "response|antwort"
QUESTION = "question|frage"
RIGHT = "right answer|correct answer|richtige antwort"
FEEDBACK = "feedback|rückmeldung"
EMAIL = ("email address", "e-mail-adresse", "e-mail address", "email", "e-mail", "mail")
USERNAME = ("username", "user name", "anmeldename", "benutzername", "nutzername")
NUMBER = ("id number", "id-nummer", "idnumber", "matrikelnummer")
NAMES = ("last name", "surname", "nachname", "first name", "vorname")
META = (
    *("state", "status", "started on", "started", "begonnen am", "begonnen", "gestartet am"),
    *("completed", "completed on", "beendet", "beendet am", "abgeschlossen", "abgeschlossen am"),
    *("time taken", "duration", "verbrauchte zeit", "dauer", "benötigte zeit"),
)
_AVERAGES = frozenset(
    ("overall average", "average", "group average", "gesamtdurchschnitt", "durchschnitt", "mittelwert")
)
_UNFINISHED = frozenset(
    ("in progress", "overdue", "never submitted", "in bearbeitung", "laufend", "überfällig", "nie abgegeben")
)
_GRADE = re.compile(r"(?:grade|bewertung|note|punkte) ?/ ?([\d.,]+)", re.ASCII)


def _matches(headers: Headers) -> bool:
    known = headers.find(*EMAIL, *USERNAME, *NUMBER, *NAMES, *META)
    return bool(headers.numbered(RESPONSE)) and known is not None and not headers.has("candidate")


def _read(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(LAYOUT.name, table)
    candidate = id_position(headers, table.labels, chosen, (*EMAIL, *USERNAME, *NUMBER))
    if candidate is None:
        raise InputError(
            f"{table.name}: no column names the candidates; found: "
            f"{', '.join(map(repr, table.labels[:12]))}; allowed: 'Email address', 'Username' or 'ID number' "
            "(German: 'E-Mail-Adresse', 'Anmeldename', 'ID-Nummer'), or another column that you choose"
        )
    responses = headers.numbered(RESPONSE)
    variants = {number: _variants(builder, headers, number) for number in sorted(responses)}
    _add_questions(builder, headers, responses, variants)
    human = numbered_human(headers)
    state = headers.find("state", "status")
    for index, row, who in builder.candidates(candidate, sentinel=lambda at: _is_average(builder, headers, at)):
        _note_unfinished(builder, state, index)
        keys = {number: variants[number][index] for number in responses}
        for number, column in sorted(responses.items()):
            response = builder.at(column, index)
            builder.add_cell(who, keys[number], "" if response.strip() == "-" else response, row, column)
        for kind, number, column in human:
            if number in keys:
                builder.add_mark(who, keys[number], kind, index, column)
    read_loose_marks(builder, headers, "human_score 1")
    grade, full = _grade(headers, table)
    return builder.finish(candidate, total=grade, total_max=full)


def _variants(builder: SheetBuilder, headers: Headers, number: int) -> list[str]:
    """The key of a slot for each row: ``2``, or ``2.1`` and ``2.2`` where the slot draws random questions."""
    column = headers.numbered(QUESTION).get(number)
    count = len(builder.table.rows)
    if column is None:
        return [str(number)] * count
    texts = [builder.at(column, index).strip() for index in range(count)]
    distinct = list(dict.fromkeys(text for text in texts if text))
    if len(distinct) < 2:
        return [str(number)] * count
    builder.log.add(
        "random-questions",
        f"slot {number} shows {len(distinct)} different questions, from {shorten(distinct[0])}; "
        "each is kept as a question of its own",
        column=builder.label(column),
    )
    return [f"{number}.{distinct.index(text) + 1}" if text else str(number) for text in texts]


def _add_questions(
    builder: SheetBuilder, headers: Headers, responses: dict[int, int], variants: dict[int, list[str]]
) -> None:
    texts, rights = headers.numbered(QUESTION), headers.numbered(RIGHT)
    scores, feedbacks = headers.numbered("score"), headers.numbered(FEEDBACK)
    for number, column in sorted(responses.items()):
        header = builder.table.headers[column]
        for index, key in enumerate(variants[number]):
            if key not in builder.questions:
                text = builder.at(texts[number], index).strip() if number in texts else ""
                builder.questions[key] = Question(key, header, text)
        builder.places[builder.table.labels[column]] = Place(
            points=builder.label(scores.get(number)),
            feedback=builder.label(feedbacks.get(number)),
            points_header=f"Score {number}",
            feedback_header=f"Feedback {number}",
            after=builder.table.labels[column],
            own=True,
        )
    ours = (*scores.values(), *feedbacks.values(), *(column for _, _, column in numbered_human(headers)))
    builder.used |= {*responses.values(), *texts.values(), *rights.values(), *ours}


def _is_average(builder: SheetBuilder, headers: Headers, index: int) -> bool:
    columns = {0, *(at for at, name in enumerate(headers.names) if name in (*NAMES, *EMAIL))}
    responses = set(headers.numbered(RESPONSE).values())
    return any(flat(builder.at(at, index)) in _AVERAGES for at in columns - responses)


def _note_unfinished(builder: SheetBuilder, state: int | None, index: int) -> None:
    if state is not None and flat(builder.at(state, index)) in _UNFINISHED:
        message = f"the attempt is {shorten(builder.at(state, index))}: its responses may not be final"
        builder.log.add("unfinished", message, row=builder.table.rows[index], column=builder.label(state))


def _grade(headers: Headers, table: Table) -> tuple[int | None, float | None]:
    for position, name in enumerate(headers.names):
        match = _GRADE.fullmatch(name)
        if match:
            return position, parse_number(match.group(1), table.decimal)
    return None, None


LAYOUT = Layout(
    name="moodle_responses",
    title="Moodle quiz, report Responses",
    expects="'Response 1', 'Response 2', … and 'Email address' (German: 'Antwort 1', 'E-Mail-Adresse')",
    matches=_matches,
    read=_read,
)
