"""Numbers as people type them: decimal point or comma, thousands, blanks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal

from grader.errors import InputError

Decimal = Literal[".", ","]

_SHAPE = re.compile(r"[+-]?(?:\d[\d.,]*|[.,]\d+)", re.ASCII)
_SPACES = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(?:\D|$))")
# A group of exactly three digits could be thousands, so it says nothing about the decimal mark.
_POINT = re.compile(r"[+-]?\d*\.(?:\d{1,2}|\d{4,})", re.ASCII)
_COMMA = re.compile(r"[+-]?\d*,(?:\d{1,2}|\d{4,})", re.ASCII)


def parse_number(text: str, decimal: Decimal = ".") -> float | None:
    """The number a cell holds, or None when it holds none.

    Both marks are understood: ``decimal`` only decides where one value allows two readings
    (``1,234`` is 1234 with a decimal point and 1.234 with a decimal comma).

    >>> parse_number("18,5"), parse_number("1.234,56"), parse_number("EX")
    (18.5, 1234.56, None)
    """
    bare = _SPACES.sub("", text.strip().replace("\u2212", "-"))
    if not _SHAPE.fullmatch(bare):
        return None
    sign, digits = ("-", bare[1:]) if bare[0] == "-" else ("", bare.lstrip("+"))
    mark = _decimal_mark(digits, decimal)
    if mark is None:
        return None
    grouping = "," if mark == "." else "."
    whole, _, part = digits.partition(mark)
    if grouping in part or (grouping in whole and not _grouped(whole, grouping)):
        return None
    value = float(f"{sign}{whole.replace(grouping, '') or '0'}.{part or '0'}")
    return value if math.isfinite(value) else None


def _decimal_mark(digits: str, decimal: Decimal) -> Decimal | None:
    """Which of the two marks separates the decimals; None when neither reading is possible."""
    points, commas = digits.count("."), digits.count(",")
    if points and commas:
        last: Decimal = "." if digits.rfind(".") > digits.rfind(",") else ","
        return last if digits.count(last) == 1 else None
    if not points and not commas:
        return decimal
    mark: Decimal = "." if points else ","
    other: Decimal = "," if points else "."
    if points + commas > 1 or (mark != decimal and _grouped(digits, mark)):
        return other
    return mark


def _grouped(digits: str, mark: str) -> bool:
    head, *groups = digits.split(mark)
    return 1 <= len(head) <= 3 and head != "0" and all(len(group) == 3 for group in groups)


def guess_decimal(texts: Iterable[str], delimiter: str | None = None) -> Decimal:
    """``,`` or ``.``, whichever the unambiguous numbers use; ``;`` as delimiter hints at ``,``."""
    points = commas = 0
    for text in texts:
        bare = text.strip()
        points += bool(_POINT.fullmatch(bare))
        commas += bool(_COMMA.fullmatch(bare))
    if points == commas:
        return "," if delimiter == ";" else "."
    return "." if points > commas else ","


def format_number(value: float, decimal: Decimal = ".") -> str:
    """The shortest plain text of a number: 3 for 3.0, 2.5 or 2,5; at most ten significant digits.

    Raises:
        InputError: The value is not finite.
    """
    if not math.isfinite(value):
        raise InputError(f"score {value} cannot be written; allowed: a finite number, or None for no score")
    text = f"{value:.10g}"
    if "e" in text:
        text = f"{value:.15f}".rstrip("0").rstrip(".")
    text = "0" if text in {"-0", ""} else text
    return text.replace(".", decimal)
