"""Header texts: folded for comparison, searched by alias, and paired with the column they belong to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.errors import InputError
from grader.formats.neutral import restore

_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_DASHES = str.maketrans("‐‑‒–—−", "------")
_MARK = r"score|feedback|human_[a-z0-9_]+"
_ATTACHED = re.compile(rf"(?P<base>.+?)(?:\s*\[(?P<bracket>{_MARK})\]|[ .:](?P<plain>{_MARK}))")


def flat(text: str) -> str:
    """A header folded for comparison: case, white space, dashes and invisible characters do not count.

    >>> flat("  E–Mail   Adresse ")
    'e-mail adresse'
    """
    folded = unicodedata.normalize("NFKC", restore(text)).translate(_INVISIBLE).translate(_DASHES)
    return " ".join(folded.split()).casefold()


def tidy(text: str) -> str:
    """A header on one line with single spaces, letters unchanged."""
    return " ".join(restore(text).translate(_INVISIBLE).split())


@dataclass(frozen=True)
class Headers:
    """The folded headers of a table, by position."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, headers: Iterable[str]) -> Headers:
        """Fold every header text."""
        return cls(tuple(flat(header) for header in headers))

    def find(self, *aliases: str) -> int | None:
        """Position of the first alias that occurs, in the order of the aliases."""
        for alias in aliases:
            if alias in self.names:
                return self.names.index(alias)
        return None

    def has(self, *names: str) -> bool:
        """Whether each of the names occurs."""
        return all(name in self.names for name in names)

    def numbered(self, pattern: str) -> dict[int, int]:
        """Number to position for headers such as ``response 3``; the first column of a number wins."""
        found: dict[int, int] = {}
        for position, name in enumerate(self.names):
            match = re.fullmatch(rf"(?:{pattern})\s*(\d{{1,6}})\.?", name, re.ASCII)
            if match:
                found.setdefault(int(match.group(1)), position)
        return found


@dataclass(frozen=True, slots=True)
class Attached:
    """A column that belongs to a question column.

    Attributes:
        question: Position of the question column.
        what: ``score``, ``feedback`` or ``human_...``.
    """

    question: int
    what: str


def attached_columns(names: tuple[str, ...]) -> dict[int, Attached]:
    """Columns named after another one: ``Q [Score]``, ``Q feedback``, ``Points - Q``, ``Q human_score``.

    Where a question text comes twice, a column belongs to the last one before it.
    """
    found: dict[int, Attached] = {}
    last: dict[str, int] = {}
    known = set(names)
    for position, name in enumerate(names):
        base, what = _split(name)
        if what and base in known and base != name:
            question = last.get(base, names.index(base))
            found[position] = Attached(question, what)
        else:
            last[name] = position
    return found


def _split(name: str) -> tuple[str, str]:
    for prefix, what in _PREFIXES:
        match = prefix.fullmatch(name)
        if match:
            return match.group(1), what
    match = _ATTACHED.fullmatch(name)
    return (match["base"], match["bracket"] or match["plain"]) if match else ("", "")


_PREFIXES = (
    (re.compile(r"(?:points|punkte) - (.+)"), "score"),
    (re.compile(r"(?:feedback) - (.+)"), "feedback"),
)


def unique_keys(texts: Iterable[str]) -> Iterator[str]:
    """The texts on one line, with ``(2)``, ``(3)`` after those that come again."""
    taken: set[str] = set()
    for text in texts:
        base = tidy(text)
        key, count = base, 1
        while key in taken:
            count += 1
            key = f"{base} ({count})"
        taken.add(key)
        yield key


def id_position(headers: Headers, labels: tuple[str, ...], chosen: str | None, aliases: Iterable[str]) -> int | None:
    """Position of the candidate column: the one the caller chose, else the first alias found.

    Raises:
        InputError: The caller chose a column that does not exist.
    """
    if chosen is None:
        return headers.find(*aliases)
    if chosen in labels:
        return labels.index(chosen)
    position = headers.find(flat(chosen))
    if position is None:
        raise InputError(f"no column {chosen!r} for the candidates; allowed: {', '.join(map(repr, labels[:30]))}")
    return position
