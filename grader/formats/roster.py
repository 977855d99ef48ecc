"""The Canvas gradebook as a roster: who is in it, and which of our candidates they are."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.errors import InputError
from grader.formats.headers import Headers, flat
from grader.formats.neutral import restore
from grader.formats.notes import Note, NoteLog
from grader.formats.numeric import parse_number
from grader.formats.table import Table

ASSIGNMENT = re.compile(r"(.+) \((\d+)\)", re.DOTALL | re.ASCII)
POINTS_POSSIBLE = "    Points Possible"
ID_COLUMNS = ("id", "sis user id", "sis login id", "integration id")
TEST_STUDENT = "student, test"
_TOTALS = tuple(f"{when} {what}" for when in ("current", "final", "override") for what in ("score", "grade", "points"))


@dataclass(frozen=True, slots=True)
class Person:
    """One row of a roster.

    Attributes:
        index: Row of the table's frame.
        row: Spreadsheet row number.
        ids: Every id of the person, in the order of the columns.
    """

    index: int
    row: int
    ids: tuple[str, ...]


@dataclass(frozen=True)
class RosterMatch:
    """Which candidate is which person.

    Attributes:
        matched: Candidate to person.
        ambiguous: Candidate to the spreadsheet rows that could be meant.
        unmatched: Candidates that are not in the roster.
        absent: Spreadsheet rows of people that no candidate is.
    """

    matched: Mapping[str, Person]
    ambiguous: Mapping[str, tuple[int, ...]]
    unmatched: tuple[str, ...]
    absent: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Roster:
    """A gradebook with its people; rows that are no person are left out.

    Attributes:
        table: The table it was read from.
        people: The people, in the order of the file.
        points_row: Row of the frame that holds the points possible, or None.
        problems: Rows that are no person for lack of an id.
    """

    table: Table
    people: tuple[Person, ...]
    points_row: int | None
    problems: tuple[Note, ...] = ()

    def points_possible(self, position: int) -> float | None:
        """Points possible of an assignment column, None if the file does not say."""
        if self.points_row is None:
            return None
        return parse_number(self.table.texts(position)[self.points_row], self.table.decimal)

    def match(self, candidates: Iterable[str]) -> RosterMatch:
        """Match ids exactly, else without regard to case.

        A candidate who fits two people, or shares one with another candidate, is ambiguous.
        """
        exact: defaultdict[str, dict[int, Person]] = defaultdict(dict)
        loose: defaultdict[str, dict[int, Person]] = defaultdict(dict)
        for person in self.people:
            for one in person.ids:
                exact[one][person.row] = person
                loose[one.casefold()][person.row] = person
        claims: defaultdict[int, list[str]] = defaultdict(list)
        found: dict[str, dict[int, Person]] = {}
        for candidate in dict.fromkeys(candidates):
            name = candidate.strip()
            found[candidate] = exact.get(name) or loose.get(name.casefold()) or {}
            for row in found[candidate]:
                claims[row].append(candidate)
        ambiguous = {
            one: tuple(sorted(rows))
            for one, rows in found.items()
            if len(rows) > 1 or any(len(claims[row]) > 1 for row in rows)
        }
        matched = {one: next(iter(rows.values())) for one, rows in found.items() if rows and one not in ambiguous}
        return RosterMatch(
            matched=matched,
            ambiguous=ambiguous,
            unmatched=tuple(one for one, rows in found.items() if not rows),
            absent=tuple(person.row for person in self.people if person.row not in claims),
        )


def is_total(header: str) -> bool:
    """Whether a gradebook column holds a total, which Canvas computes and does not import."""
    name = re.sub(r" \([^()]*\)$", "", flat(header))
    return name.endswith(_TOTALS)


def read_roster(table: Table) -> Roster:
    """The people of a Canvas gradebook.

    Raises:
        InputError: The table has no id column of a gradebook.
    """
    headers = Headers.of(table.headers)
    ids = [at for at in (headers.find(name) for name in ID_COLUMNS) if at is not None]
    if not ids:
        raise InputError(
            f"{table.name}: no column with ids; found: {', '.join(map(repr, table.labels[:12]))}; "
            "allowed: 'ID', 'SIS User ID', 'SIS Login ID' or 'Integration ID'"
        )
    student = headers.find("student", "lastname")
    columns = [[restore(text).strip() for text in table.texts(at)] for at in ids]
    names = table.texts(student) if student is not None else [""] * len(table.rows)
    first = headers.find("firstname")
    if first is not None:
        names = [f"{last}, {given}" if given else last for last, given in zip(names, table.texts(first), strict=True)]
    log = NoteLog()
    people: list[Person] = []
    points_row = None
    for index, row in enumerate(table.rows):
        own = tuple(dict.fromkeys(column[index] for column in columns if column[index]))
        name = flat(names[index])
        if name.startswith("points possible"):
            points_row = index if points_row is None else points_row
        elif own and name != TEST_STUDENT:
            people.append(Person(index, row, own))
        elif name and name != TEST_STUDENT:
            log.add("no-candidate", "no id, so the row gets no mark", row=row)
    return Roster(table, tuple(people), points_row, log.notes())
