"""Words that turn a meaning round: negations, and the numbers in a statement."""

from __future__ import annotations

from grader.text import tokenise
from grader.words import NEGATIONS

_TURNING = frozenset("fail fails failed failing lack lacks lacking unable impossible".split())


def negations(text: str) -> int:
    """Number of words that turn a meaning round ("without", "fails", "not only" does not count)."""
    words = [token.text.casefold() for token in tokenise(text)]
    count = 0
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        turns = word in NEGATIONS or word in _TURNING or word.endswith("n't")
        count += turns and not (word == "not" and following in ("only", "just", "necessarily"))
    return count


def numbers(text: str) -> frozenset[str]:
    """The numbers in ``text`` as written with a point."""
    return frozenset(token.text.replace(",", ".") for token in tokenise(text) if token.kind == "number")
