"""An answer cut into pieces, so that evidence and errors can be marked in it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.score import Score

_WORDS = re.compile(r"\s+|[^\s]+")
_MOST_WORDS = 3000


@dataclass(frozen=True, slots=True)
class Span:
    """A place in an answer and the part it is about: a number from 1, or 0 for an error."""

    start: int
    end: int
    number: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of characters.

    Attributes:
        text: The characters as written.
        numbers: Numbers of the parts they speak for.
        wrong: Whether they belong to a false statement.
    """

    text: str
    numbers: tuple[int, ...] = ()
    wrong: bool = False

    @property
    def label(self) -> str:
        """What is shown behind the piece."""
        return " ".join([*map(str, self.numbers), *(["✗"] if self.wrong else [])])


def spans_of(score: Score) -> list[Span]:
    """Evidence of each component (numbered from 1) and errors."""
    found = [
        Span(element.evidence.start, element.evidence.end, number)
        for number, component in enumerate(score.components, 1)
        for element in component.elements
        if element.evidence and element.credit > 0
    ]
    return [*found, *(Span(error.start, error.end, 0) for error in score.errors)]


def quoted(text: str, quotes: Sequence[Iterable[str]], errors: Iterable[str]) -> list[Span]:
    """The same from words instead of places: the quotes of each part in order, and of errors."""
    numbered = [(quote, number) for number, own in enumerate(quotes, 1) for quote in own]
    found = []
    for quote, number in [*numbered, *((quote, 0) for quote in errors)]:
        at = text.find(quote) if quote else -1
        if at >= 0:
            found.append(Span(at, at + len(quote), number))
    return found


def pieces(text: str, spans: Iterable[Span]) -> list[Piece]:
    """The whole text, cut wherever a span begins or ends.

    >>> [piece.label for piece in pieces("abcd", [Span(1, 3, 1), Span(2, 4, 0)])]
    ['', '1', '1 ✗', '✗']
    """
    clipped = [Span(max(0, one.start), min(len(text), one.end), one.number) for one in spans]
    clipped = [one for one in clipped if one.start < one.end]
    cuts = sorted({0, len(text), *(one.start for one in clipped), *(one.end for one in clipped)})
    found: list[Piece] = []
    for start, end in zip(cuts, cuts[1:], strict=False):
        numbers = {one.number for one in clipped if one.start <= start and one.end >= end}
        found.append(Piece(text[start:end], tuple(sorted(numbers - {0})), 0 in numbers))
    return found


@dataclass(frozen=True, slots=True)
class Change:
    """A run of words: ``same``, ``added`` or ``removed``."""

    kind: str
    text: str


def word_changes(old: str, new: str) -> list[Change]:
    """What was added and removed, word by word; nothing for very long texts, which would take too long."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if len(before) + len(after) > _MOST_WORDS:
        return []
    found: list[Change] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Change("same", "".join(after[c:d])))
            continue
        if a < b:
            found.append(Change("removed", "".join(before[a:b])))
        if c < d:
            found.append(Change("added", "".join(after[c:d])))
    return found
