"""Google Forms and Microsoft Forms: the header of a column is the question text.

Google's CSV has no points per question; exports add ``<question> [Score]`` and ``<question> [Feedback]``.
Microsoft has ``Points - <question>`` and ``Feedback - <question>`` in quizzes; in plain forms they are added.
Points in either may come from the form's own key, so they are read as ``points``, not as a person's mark.
"""

from __future__ import annotations

from grader.formats.builder import SheetBuilder
from grader.formats.headers import Headers, id_position
from grader.formats.layout import Layout, Style, loose_marks, read_loose_marks, read_wide
from grader.formats.sheet import Sheet
from grader.formats.table import Table

_TIMESTAMP = ("timestamp", "zeitstempel")
_GOOGLE_EMAIL = ("email address", "e-mail-adresse", "e-mail address", "email", "username", "nutzername")
_GOOGLE_SCORE = ("score", "punktzahl", "gesamtpunktzahl", "punkte")
_GOOGLE = Style("{} [Score]", "{} [Feedback]", own=False)

_START = ("start time", "startzeit")
_COMPLETION = ("completion time", "fertigstellungszeit", "abschlusszeit")
_MICROSOFT_EMAIL = ("email", "e-mail", "e-mail-adresse")
_TOTAL = ("total points", "gesamtpunktzahl", "gesamtpunkte")
_MICROSOFT_META = (
    *_START,
    *_COMPLETION,
    *_MICROSOFT_EMAIL,
    *_TOTAL,
    *("id", "name", "quiz feedback", "quizfeedback", "testfeedback", "language", "sprache"),
    *(
        "grade posted time",
        "last modified time",
        "zeitpunkt der letzten änderung",
        "uhrzeit der letzten änderung",
    ),
)
_MICROSOFT = Style("Points - {}", "Feedback - {}", own=False)
_NOBODY = ("", "anonymous", "anonym")


def _matches_google(headers: Headers) -> bool:
    return headers.names[0] in _TIMESTAMP and len(headers.names) > 1


def _read_google(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(GOOGLE.name, table)
    candidate = id_position(headers, table.labels, chosen, _GOOGLE_EMAIL)
    if candidate is None:
        builder.log.add("anonymous", "no e-mail column: candidates are named by their row")
    meta = [0, candidate, headers.find(*_GOOGLE_EMAIL)]
    # Google puts its own score among the first three; further right the word is a question.
    meta += [at for at in (1, 2) if at < len(headers.names) and headers.names[at] in _GOOGLE_SCORE]
    skip = {at for at in meta if at is not None} | loose_marks(headers)
    read_wide(builder, headers, skip, _GOOGLE, lambda: builder.candidates(candidate))
    read_loose_marks(builder, headers, "<question> [human_score]")
    return builder.finish(candidate)


def _matches_microsoft(headers: Headers) -> bool:
    return headers.has("id") and headers.find(*_START) is not None and headers.find(*_COMPLETION) is not None


def _read_microsoft(table: Table, chosen: str | None) -> Sheet:
    headers = Headers.of(table.headers)
    builder = SheetBuilder(MICROSOFT.name, table)
    candidate = id_position(headers, table.labels, chosen, ("id",))
    email = headers.find(*_MICROSOFT_EMAIL)
    if chosen is None and email is not None:
        if all(text.strip().casefold() not in _NOBODY for text in table.texts(email)):
            candidate = email
        else:
            message = "not every response has an e-mail address: candidates are named by the column ID"
            builder.log.add("anonymous", message, column=builder.label(email))
    skip = {headers.names.index(name) for name in _MICROSOFT_META if name in headers.names}
    skip |= loose_marks(headers) | ({candidate} if candidate is not None else set())
    read_wide(builder, headers, skip, _MICROSOFT, lambda: builder.candidates(candidate))
    read_loose_marks(builder, headers, "<question> [human_score]")
    return builder.finish(candidate, total=headers.find(*_TOTAL))


GOOGLE = Layout(
    name="google_forms",
    title="Google Forms",
    expects="'Timestamp' first, then a column a question",
    matches=_matches_google,
    read=_read_google,
)
MICROSOFT = Layout(
    name="microsoft_forms",
    title="Microsoft Forms",
    expects="'ID', 'Start time', 'Completion time', then a column a question",
    matches=_matches_microsoft,
    read=_read_microsoft,
)
