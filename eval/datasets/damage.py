"""Traces that a wrong character encoding or a lost conversion leaves in a text."""

from __future__ import annotations

import re

# Windows-1252 and Latin-1 readings of the UTF-8 continuation bytes 80 to BF.
_NEXT = (
    "[\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d"
    "\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178]"
)
_QUOTE = "[\u201e\u201c\u201d\u2018\u2019\u201a\u2039\u203a\u00ab\u00bb\u2013\u2014\u2026]"

# Kind of damage -> pattern, the surest first. UTF-8 read as Latin-1 turns "ü" into "Ã¼", a curly quote
# into "â€™", Greek, Cyrillic, Devanagari and emoji into similar runs. "Ä“" alone may be German.
KINDS: dict[str, re.Pattern[str]] = {
    "U+FFFD": re.compile("\ufffd"),
    "mojibake": re.compile(rf"[ÂÃÎÏÐÑ]{_NEXT}|[ÄÅ](?!{_QUOTE}){_NEXT}|â{_NEXT}{_NEXT}|à[¤¥]{_NEXT}|ðŸ{_NEXT}{_NEXT}"),
    "control character": re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
    "private-use character or inner BOM": re.compile("[\ue000-\uf8ff\ufeff]"),
    "HTML entity or break": re.compile(r"&(?:[a-zA-Z]{2,8}|#\d{2,6}|#x[0-9a-fA-F]{2,6});|<br\s*/?>", re.I),
}
# These lose or falsify what was written; the others are only untidy.
SERIOUS: frozenset[str] = frozenset({"U+FFFD", "mojibake", "control character"})


def damage(text: str) -> dict[str, str]:
    """Kind of damage to the first place where it shows (up to 12 characters to both sides).

    >>> damage("groÃŸe Frage")
    {'mojibake': 'groÃŸe Frage'}
    >>> damage("große „Ä“ Frage, naïve café, Ångström")
    {}
    """
    found: dict[str, str] = {}
    for kind, pattern in KINDS.items():
        match = pattern.search(text)
        if match:
            found[kind] = text[max(0, match.start() - 12) : match.end() + 12]
    return found
