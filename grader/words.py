"""What is known about English words offline: frequency, information content, function words.

The frequency table is the one that comes with symspellpy (82,834 words, counts from Google Books n-grams crossed
with SCOWL). It is fixed, so nothing about a mark depends on who else is graded, and its hash is in the signature.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from importlib import resources

from grader.text import identifier_parts

_TOTAL = 6.0e11
_RARE, _COMMON = 6.0, 1.5

FUNCTION_WORDS = frozenset(
    """a about above after again all also although always am an and any are aren't as at be because been before being
    below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during
    each either else etc even every few for from further get gets got had hadn't has hasn't have haven't having
    he hence her here hers him his how however i i'd i'll i'm i've if in instead into is isn't it it's its
    itself just let let's like made make makes many may me might more most much must my neither no nor not now
    of off on once one only onto or other otherwise our out over own per quite rather really same shall she
    should shouldn't since so some still such than that that's the their them then there therefore these they
    they're this those though through thus to too toward towards under unless until up upon us use used uses
    using very via was wasn't we we're well were weren't what when whenever where whereas whether which while
    who whom whose why will with within without won't would wouldn't yes yet you you're your e.g i.e eg ie""".split()
)

NEGATIONS = frozenset(
    """not no never none nothing neither nor nobody nowhere without cannot can't don't doesn't didn't isn't aren't
    wasn't weren't won't wouldn't shouldn't couldn't hasn't haven't hadn't ain't dont doesnt didnt isnt arent
    wasnt werent wont wouldnt shouldnt couldnt hasnt havent cant""".split()
)


@lru_cache(maxsize=1)
def frequencies() -> dict[str, int]:
    """Counts by lower-case English word."""
    content = _table().decode("utf-8-sig")
    pairs = (line.split() for line in content.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def _table() -> bytes:
    return (resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt").read_bytes()


@lru_cache(maxsize=1)
def table_hash() -> str:
    """First eight hex digits of the SHA-256 of the frequency table."""
    return hashlib.sha256(_table()).hexdigest()[:8]


@lru_cache(maxsize=100_000)
def information(word: str) -> float:
    """Weight of a word from .05 (function words) to 1 (rare, unknown or an identifier), from its frequency.

    >>> information("the"), information("optimizer.zero_grad()") > information("water") > information("made")
    (0.05, True)
    """
    word = word.casefold()
    if word in FUNCTION_WORDS or word in NEGATIONS:
        return 0.05
    count = frequencies().get(word)
    if count is None and word.endswith("'s"):
        count = frequencies().get(word[:-2])
    if count is None:
        return 1.0
    rarity = math.log10(_TOTAL / count)
    return round(min(max((rarity - _COMMON) / (_RARE - _COMMON), 0.05), 1.0), 4)


def is_word(word: str) -> bool:
    """Whether ``word`` is a known English word or contraction, in any case."""
    word = word.casefold()
    return (
        word in frequencies() or word in FUNCTION_WORDS or word in NEGATIONS or word.removesuffix("'s") in frequencies()
    )


def readable_share(words: list[str], known: frozenset[str]) -> float:
    """Share of letters that stand in known words (``known`` adds an item's own vocabulary), 0 to 1."""
    total = sum(len(word) for word in words)
    if not total:
        return 0.0
    good = 0
    for word in words:
        if word.casefold() in known or is_word(word) or all(map(is_word, identifier_parts(word) or [word])):
            good += len(word)
    return good / total
