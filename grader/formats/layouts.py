"""Which layout a table has, and reading it: the one door to all layouts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grader.errors import InputError
from grader.formats import blackboard, canvas, forms, moodle, plain
from grader.formats.headers import Headers
from grader.formats.layout import Layout
from grader.formats.limits import DEFAULT_LIMITS, Limits
from grader.formats.sheet import Cell, Mark, Place, Question, Sheet
from grader.formats.table import Table, read_table

__all__ = [
    "LAYOUTS",
    "Cell",
    "Mark",
    "Place",
    "Question",
    "Sheet",
    "detect_layout",
    "read_layout",
    "read_sheet",
]

# The order decides where a table fits two: the plain layouts come last.
LAYOUTS: Mapping[str, Layout] = {
    layout.name: layout
    for layout in (
        canvas.ANALYSIS,
        canvas.GRADEBOOK,
        blackboard.WIDE,
        forms.MICROSOFT,
        forms.GOOGLE,
        plain.PMATCH,
        plain.LONG,
        blackboard.LONG,
        moodle.LAYOUT,
        plain.WIDE,
    )
}

_KNOWN_BUT_UNREAD = (
    (("itemid", "earnedpoints"), "the analysis of Canvas New Quizzes"),
    (("sid", "total score", "max points"), "a Gradescope grades file, which holds no responses"),
    (
        ("assignment submission id", "question submission id"),
        "a Gradescope evaluation, which holds no responses",
    ),
    (("uid", "qid", "submitted_answer"), "a PrairieLearn file"),
    (("anonymized student id", "assessment scores"), "an ORA2 report"),
)


def detect_layout(table: Table) -> str:
    """The name of the layout, told from the headers.

    Raises:
        InputError: No layout fits; the message lists the headers found and those that are understood.
    """
    headers = Headers.of(table.headers)
    for layout in LAYOUTS.values():
        if layout.matches(headers):
            return layout.name
    found = ", ".join(map(repr, table.labels[:12])) + (", …" if len(table.labels) > 12 else "")
    unread = next((what for names, what in _KNOWN_BUT_UNREAD if headers.has(*names)), None)
    known = "".join(f"\n- {layout.title}: {layout.expects}" for layout in LAYOUTS.values())
    guess = f"this looks like {unread}; it is not supported" if unread else "the layout is not known"
    raise InputError(f"{table.name}: {guess}; headers found: {found}; allowed:{known}")


def read_layout(table: Table, *, layout: str | None = None, candidate_column: str | None = None) -> Sheet:
    """Read the responses and marks of a table.

    Args:
        table: The table.
        layout: Name of the layout (see ``LAYOUTS``); None detects it.
        candidate_column: Label of the column with the candidate ids; None takes the layout's own.

    Raises:
        InputError: The layout is unknown or does not fit, or no column names the candidates.
    """
    chosen = layout or detect_layout(table)
    if chosen not in LAYOUTS:
        raise InputError(f"layout {chosen!r} is not known; allowed: {', '.join(LAYOUTS)}")
    one = LAYOUTS[chosen]
    if not one.matches(Headers.of(table.headers)):
        found = ", ".join(map(repr, table.labels[:12]))
        raise InputError(f"{table.name}: no {one.title}; headers found: {found}; allowed: {one.expects}")
    return one.read(table, candidate_column)


def read_sheet(
    source: Path | bytes,
    *,
    name: str,
    limits: Limits = DEFAULT_LIMITS,
    layout: str | None = None,
    candidate_column: str | None = None,
) -> Sheet:
    """Read a file as one of the layouts: :func:`read_table`, then :func:`read_layout`."""
    table = read_table(source, name=name, limits=limits)
    return read_layout(table, layout=layout, candidate_column=candidate_column)
