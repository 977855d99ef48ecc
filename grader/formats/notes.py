"""Messages about a file, with the row and column a teacher sees in the spreadsheet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

_DEFAULT_REPEATS = 50


@dataclass(frozen=True, slots=True)
class Note:
    """One remark about a file that did not stop it from being read.

    Attributes:
        code: Stable short name of the kind of remark (``short-row``), for pages and translations.
        message: What is the case, which value, and what was done about it.
        row: Row number as the spreadsheet shows it, from 1; None when it is about no single row.
        column: Column label, or its letter; None when it is about no single column.
    """

    code: str
    message: str
    row: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        places = [f"row {self.row}"] if self.row is not None else []
        if self.column is not None:
            places.append(f"column {self.column!r}")
        return f"{', '.join(places)}: {self.message}" if places else self.message


class NoteLog:
    """Collects notes; from one kind it keeps the first ``repeats`` and says how many followed."""

    def __init__(self, repeats: int = _DEFAULT_REPEATS) -> None:
        self._repeats = repeats
        self._notes: list[Note] = []
        self._seen: Counter[str] = Counter()

    def add(self, code: str, message: str, *, row: int | None = None, column: str | None = None) -> None:
        """Record one remark."""
        self._seen[code] += 1
        if self._seen[code] <= self._repeats:
            self._notes.append(Note(code, message, row, column))

    def notes(self) -> tuple[Note, ...]:
        """All remarks in the order they came, then one line for each kind that was cut short."""
        cut = [
            Note(code, f"{count - self._repeats} more remarks of this kind are not listed")
            for code, count in self._seen.items()
            if count > self._repeats
        ]
        return (*self._notes, *cut)


def column_letter(position: int) -> str:
    """The spreadsheet's name of a column: 0 is A, 25 is Z, 26 is AA."""
    letters = ""
    number = position + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def shorten(text: str, width: int = 40) -> str:
    """The text in quotes for a message, at most ``width`` characters of it and on one line."""
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= width else flat[: width - 1] + "…")
