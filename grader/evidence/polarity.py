"""Words that turn a meaning round: negations and frames that deny, and the numbers in a statement."""

from __future__ import annotations

import re
from functools import lru_cache

from grader.languages import negations as denying_words
from grader.text import Token, tokenise

#: No word that denies in one of the two languages stands in the other.
_DENYING = denying_words("en") | denying_words("de")
_TURNING = frozenset("fail fails failed failing lack lacks lacking unable impossible".split())
_HARMLESS = frozenset(("only", "just", "necessarily", "merely", "surprisingly", "nur", "unbedingt"))
#: "It is a mistake to think that …" denies what follows as "not" does; "not true" has its "not" already.
_DENIALS = re.compile(
    r"\b(?:wrong|false|untrue|incorrect|mistake|mistaken|misconception|misunderstanding|myth|error)"
    r" (?:is )?(?:that|to (?:say|think|believe|assume|claim|suppose))\b"
    r"|\b(?:but|yet|although|though|which) (?:that |this |it )?(?:is|'s) "
    r"(?:wrong|false|untrue|incorrect|a (?:mistake|myth))\b"
    r"|\b(?:doubts?|den(?:y|ies)) that\b",
    re.I,
)
_CONTRAST = re.compile(r"(?:[,;:(\u2013\u2014-]|\b(?:and|but)|^)\s*$", re.I)
_ANSWER = re.compile(r"\s*(?:,|\.|!|;|:|-|\u2013|\u2014)")


@lru_cache(maxsize=10_000)
def negations(text: str) -> int:
    """Number of words and frames that turn the meaning of a statement round.

    A contrast turns nothing ("A, not B", "not B but A", "not only"), nor does a "No," that opens an answer; "A without
    B" and "fails to" do.
    """
    tokens = tokenise(text)
    count = len(_DENIALS.findall(text))
    for at, token in enumerate(tokens):
        word = token.text.casefold()
        if word in _DENYING or word in _TURNING or word.endswith("n't"):
            count += not _is_harmless(text, tokens, at)
    return count


def _is_harmless(text: str, tokens: list[Token], at: int) -> bool:
    token, word = tokens[at], tokens[at].text.casefold()
    following = [other.text.casefold() for other in tokens[at + 1 : at + 9]]
    if at == 0 and word in ("no", "nope"):
        return _ANSWER.match(text, token.end) is not None
    if word not in ("not", "nicht"):
        return False
    if following[:1] and following[0] in _HARMLESS:
        return True
    return _CONTRAST.search(text[: token.start]) is not None or bool({"but", "sondern"} & set(following[1:]))


def numbers(text: str) -> frozenset[str]:
    """The numbers in ``text`` as written with a point."""
    return frozenset(token.text.replace(",", ".") for token in tokenise(text) if token.kind == "number")
