"""Formula injection (CWE-1236): text that a spreadsheet would run is written with an apostrophe before it."""

from __future__ import annotations

import re

TRIGGERS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d+)*|[.,]\d+)(?:[eE][+-]?\d+)?%?", re.ASCII)


def neutralise(text: str) -> str:
    """The text, with ``'`` before it when a spreadsheet would take it for a formula.

    Numbers stay numbers, negative ones included, and so does a lone ``-``, which is how several systems
    write an empty answer. Text that already starts with apostrophes and then a formula gets one more,
    so that :func:`restore` gives back every text exactly.

    >>> neutralise("=1+1"), neutralise("-1.5"), neutralise("-x")
    ("'=1+1", '-1.5', "'-x")
    """
    return f"'{text}" if _runs(text) else text


def restore(text: str) -> str:
    """The text that :func:`neutralise` was given."""
    return text[1:] if text.startswith("'") and _runs(text[1:]) else text


def _runs(text: str) -> bool:
    body = text.lstrip("'")
    return body.startswith(TRIGGERS) and body != "-" and not _NUMBER.fullmatch(body)
