"""What turns the meaning of a statement that says nearly what a key statement says: a "not", two names, a number.

Similarity finds which key statement a statement is about; these rules name what is wrong with it, so that feedback can
say so. They compare words and clauses and need no parse; they are not complete and stay silent when in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

from grader.evidence.opposites import OPPOSITES
from grader.evidence.polarity import negations
from grader.text import Token, stem, tokenise
from grader.words import FUNCTION_WORDS, NEGATIONS

TurnKind = Literal["negation", "roles", "number", "antonym"]

#: Share of content words of either text found in the other from which on a comparison word for word makes sense.
SAME_CONTENT = 0.6
#: Content words that a number must share with its neighbourhood to be a number for the same thing.
_BESIDE = 3
_CLAUSE = re.compile(r"[;.:]|,?\s*\b(?:while|whereas|but|and|however)\b|,(?!\d)", re.I)
_SENTENCE = re.compile(r"(?<=[.!?;]) +")
_LINK = re.compile(
    r"^(?P<a>.+?),?\s+(?P<link>because|since|so|therefore|hence|before|after|then|until|than)\b(?P<b>.+)$", re.I
)
#: Links where the first clause is what the second is with the other links of the family.
_TURNED_LINKS = {"because": "cause", "since": "cause", "after": "order", "until": "order"}
_STRAIGHT_LINKS = {
    "so": "cause", "therefore": "cause", "hence": "cause", "before": "order", "then": "order", "than": "comparison",
}  # fmt: skip
_SYMMETRIC = frozenset(
    "same equal equals equally both differ differs difference different between either neither identical alike".split()
)
_UNITS = frozenset(
    """bit bits byte bytes kb mb gb tb kilobytes megabytes gigabytes second seconds minute minutes hour hours day days
    millisecond milliseconds ms microseconds metre metres meter meters centimetre centimetres kilometre kilometres mm cm
    km gram grams kilogram kilograms kg litre litres volt volts ampere amperes watt watts joule joules newton newtons
    percent degrees""".split()
)


@dataclass(frozen=True, slots=True)
class Turn:
    """What turns the meaning.

    Attributes:
        kind: Negation, two names in each other's place, another number or unit, or an opposite word.
        said: The candidate's words that do it, one or two; none where a negation is missing.
    """

    kind: TurnKind
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Term:
    stem: str
    text: str
    start: int


def turned(statement: str, key: str, language: str = "en") -> Turn | None:
    """What turns ``statement`` against ``key``, or ``None`` if nothing is found."""
    key = closest_sentence(statement, key, language)
    said, wanted = _terms(statement, language), _terms(key, language)
    found = roles(statement, key, language)
    if found or _shared(said, wanted) < SAME_CONTENT:
        return found
    return _number(statement, key) or _polarity(statement, key, language)


def closest_sentence(statement: str, key: str, language: str = "en") -> str:
    """The sentence of a longer key statement that says most of what ``statement`` does."""
    sentences = _SENTENCE.split(key)
    if len(sentences) == 1:
        return key
    said = _terms(statement, language)
    return max(sentences, key=lambda part: _shared(said, _terms(part, language)))


@lru_cache(maxsize=10_000)
def _terms(text: str, language: str) -> tuple[_Term, ...]:
    """Content words: no function word, no negation; functions by their last name."""
    found = []
    for token in tokenise(text):
        word = token.text.casefold()
        if word in FUNCTION_WORDS or word in NEGATIONS or token.kind == "number":
            continue
        found.append(_Term(_name(token, language), token.text, token.start))
    return tuple(found)


def _name(token: Token, language: str) -> str:
    if not token.is_code:
        return stem(token.text, language)
    bare = re.sub(r"\(.*$", "", token.text).rstrip(".").rpartition(".")[2] or token.text
    return stem(bare, language)


def _shared(said: Sequence[_Term], wanted: Sequence[_Term]) -> float:
    """Share of the content words of the poorer text that both have."""
    mine, theirs = {term.stem for term in said}, {term.stem for term in wanted}
    return len(mine & theirs) / max(1, len(mine), len(theirs))


def _polarity(statement: str, key: str, language: str) -> Turn | None:
    """An odd number of negations and opposites between the two."""
    said, wanted = _terms(statement, language), _terms(key, language)
    opposite = _opposite(said, wanted)
    differs = negations(statement) % 2 != negations(key) % 2
    if differs == bool(opposite):
        return None
    if opposite:
        return None if _converse(statement, key, language) else Turn("antonym", (opposite,))
    mine, theirs = {term.stem for term in said}, {term.stem for term in wanted}
    if mine - theirs and theirs - mine:
        return None
    return Turn("negation", tuple(found.group() for found in [_NEGATED.search(statement)] if found))


def _opposite(said: Sequence[_Term], wanted: Sequence[_Term]) -> str:
    """A word whose opposite stands in the key statement instead; empty if there is none or more than one."""
    mine, theirs = {term.text.casefold() for term in said}, {term.text.casefold() for term in wanted}
    found = [word for word in sorted(mine - theirs) if any(other in theirs - mine for other in OPPOSITES.get(word, ()))]
    return found[0] if len(found) == 1 else ""


_NEGATED = re.compile(
    r"(?:\b\w+ )?\b(?:not|never|no|without|nothing|none|cannot|fails? to)\b(?: \w+)?|\w+n't(?: \w+)?", re.I
)


def _number(statement: str, key: str) -> Turn | None:
    """The same thing counted with another number, or the same number with another unit."""
    mine, theirs = _numbers(statement), _numbers(key)
    if not mine or not theirs or len(mine) != len(theirs):
        return None
    for (number, unit, text), (other, wanted, _) in zip(mine, theirs, strict=True):
        if number != other and unit == wanted:
            return Turn("number", (text,))
        if number == other and unit != wanted and {unit, wanted} <= _UNITS:
            return Turn("number", (f"{text} {unit}",))
    return None


def _numbers(text: str) -> list[tuple[str, str, str]]:
    """Each number with the word behind it and as it is written."""
    tokens = tokenise(text)
    return [
        (
            token.text.replace(",", "."),
            tokens[at + 1].text.casefold() if at + 1 < len(tokens) else "",
            token.text,
        )
        for at, token in enumerate(tokens)
        if token.kind == "number"
    ]


def roles(statement: str, key: str, language: str = "en") -> Turn | None:
    """Two things in each other's place: between clauses, around a link such as *because*, around a verb."""
    if negations(statement) % 2 != negations(key) % 2:
        return None
    return _contrast(statement, key, language) or _linked(statement, key, language) or _verb(statement, key, language)


def _contrast(statement: str, key: str, language: str) -> Turn | None:
    """Two names, each with what the key statement says of the other ("A copies while B shares")."""
    mine, theirs = _clauses(statement, language), _clauses(key, language)
    names = [term for clause in mine for term in clause if _once(term.stem, mine) and _once(term.stem, theirs)]
    best: tuple[int, Turn] | None = None
    for first, second in combinations(names, 2):
        own, other = _beside(first.stem, mine), _beside(second.stem, mine)
        there, opposite = _beside(first.stem, theirs), _beside(second.stem, theirs)
        if second.stem in own | there or first.stem in other | opposite:
            continue
        straight = len(own & there) + len(other & opposite)
        crossed = len(own & opposite) + len(other & there)
        if own & opposite and other & there and crossed - straight > (best[0] if best else 0):
            best = crossed - straight, Turn("roles", (first.text, second.text))
    return best[1] if best else None


def _clauses(text: str, language: str) -> list[tuple[_Term, ...]]:
    return [terms for part in _CLAUSE.split(text) if (terms := _terms(part, language))]


def _once(name: str, clauses: Iterable[Sequence[_Term]]) -> bool:
    return sum(term.stem == name for clause in clauses for term in clause) == 1


def _beside(name: str, clauses: Iterable[Sequence[_Term]]) -> set[str]:
    """What stands in the clause of ``name``."""
    for clause in clauses:
        found = {term.stem for term in clause}
        if name in found:
            return found - {name}
    return set()


def _linked(statement: str, key: str, language: str) -> Turn | None:
    """Cause and effect, or earlier and later, changed places."""
    mine, theirs = _sides(statement, language), _sides(key, language)
    if mine is None or theirs is None or mine.family != theirs.family:
        return None
    straight, crossed = mine.common(theirs), mine.common(theirs.turned())
    enough = min(crossed) > 0 and (mine.family != "comparison" or sum(crossed) > 2)
    if enough and sum(crossed) > sum(straight) + 1 and not _opposite(mine.terms, theirs.terms):
        return Turn("roles", (mine.first[-1].text, mine.second[-1].text))
    return None


def _converse(statement: str, key: str, language: str) -> bool:
    """Whether one is a comparison from the other end: "B is smaller than A" for "A is larger than B"."""
    mine, theirs = _sides(statement, language), _sides(key, language)
    if mine is None or theirs is None or (mine.family, theirs.family) != ("comparison", "comparison"):
        return False
    return min(mine.common(theirs.turned())) > 0


@dataclass(frozen=True, slots=True)
class _Sides:
    """What stands on the two sides of a link, turned as with *so*, *before* and *than*."""

    family: str
    first: tuple[_Term, ...]
    second: tuple[_Term, ...]

    @property
    def terms(self) -> tuple[_Term, ...]:
        return self.first + self.second

    def turned(self) -> _Sides:
        return _Sides(self.family, self.second, self.first)

    def common(self, other: _Sides) -> tuple[int, int]:
        """Number of words that the first sides, and that the second sides, have in common."""
        return _common(self.first, other.first), _common(self.second, other.second)


def _sides(text: str, language: str) -> _Sides | None:
    found = _LINK.match(text.strip(" ."))
    if found is None:
        return None
    link = found["link"].casefold()
    first, second = _terms(found["a"], language), _terms(found["b"], language)
    if not first or not second:
        return None
    if link in _TURNED_LINKS:
        return _Sides(_TURNED_LINKS[link], second, first)
    return _Sides(_STRAIGHT_LINKS[link], first, second)


def _common(first: Sequence[_Term], second: Sequence[_Term]) -> int:
    return len({term.stem for term in first} & {term.stem for term in second})


def _verb(statement: str, key: str, language: str) -> Turn | None:
    """Two things around the same words in the other order ("the host calls the guest")."""
    said, wanted = _terms(statement, language), _terms(key, language)
    mine, theirs = [t.stem for t in said], [t.stem for t in wanted]
    if sorted(mine) != sorted(theirs) or len(set(mine)) != len(mine) or len(mine) < _BESIDE:
        return None
    moved = [at for at, (own, other) in enumerate(zip(mine, theirs, strict=True)) if own != other]
    if len(moved) != 2 or moved[1] - moved[0] < 2 or _passive(statement) != _passive(key):
        return None
    if _SYMMETRIC & {token.text.casefold() for token in tokenise(statement)}:
        return None
    return Turn("roles", (said[moved[0]].text, said[moved[1]].text))


def _passive(text: str) -> bool:
    return re.search(r"\bby\b", text) is not None
