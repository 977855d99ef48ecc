"""Visible normalisation of a response, with offsets into the original, and its tokens.

Everything downstream reads the normalised text; every span it finds can be mapped back to the candidate's own
words with `Normalised.span`.
"""

from __future__ import annotations

import html
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from threading import local
from typing import NamedTuple

import regex
import snowballstemmer

_TAGS = (
    "a|abbr|b|blockquote|body|br|code|dd|div|dl|dt|em|font|h[1-6]|head|hr|html|i|img|kbd|li|mark|o:p|ol|p|pre|s|"
    "small|span|strike|strong|sub|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var"
)
_BLOCK = regex.compile(r"</?(br|p|div|li|tr|h[1-6]|pre|ul|ol|table|blockquote|hr|dd|dt)\b", regex.I)
_DROPPED = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff"
)
_FOLDED = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4\uff07", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2014\u2015", " - "),
    **dict.fromkeys("\u2190\u21d0", "<-"),
    **dict.fromkeys("\u2192\u21d2\u27a1\u279c\u27f6\u27f9", "->"),
    **dict.fromkeys("\u2022\u25cf\u25aa\u25e6\u2023", "-"),
    **dict.fromkeys("\r\x0b\x0c\x85\u2028\u2029", "\n"),
    "\r\n": "\n",
    "\u2026": "...",
    "\u00d7": "x",
    "\u2260": "!=",
    "\u2264": "<=",
    "\u2265": ">=",
}
_APOSTROPHE = regex.compile(r"(?<=\p{L})`(?=(?:t|s|d|m|re|ve|ll)\b)", regex.I)
_SPECIAL = regex.compile(
    r"""
    (?P<raw><(script|style)\b[^>]{0,500}>.*?</\2\s*>|<!--.*?-->)
  | (?P<tag></?(?:%s)(?:\s+[\w:-]+\s*=[^<>]{0,500}|\s*)/?>)
  | (?P<entity>&(?:\#\d{1,7}|\#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});)
  | (?P<fence>^[ \t]*(?:```|~~~)[^\n]{0,40}$)
  | (?P<tick>`+)
  | (?P<emphasis>(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*]))
  | (?P<drop>[%s]+)
  | (?P<cluster>\P{M}\p{M}+)
  | (?P<other>\r\n|[^\x20-\x7e\n])
    """
    % (_TAGS, _DROPPED),
    regex.X | regex.S | regex.I | regex.M,
)


@dataclass(frozen=True, slots=True)
class Normalised:
    """A normalised text and where each of its characters came from.

    Attributes:
        original: The text as it was written.
        text: The normalised text.
        starts: For each character of ``text``, where its source begins in ``original``.
        ends: For each character of ``text``, where its source ends in ``original``.
        code: Spans of ``text`` that were marked as code.
    """

    original: str
    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    code: tuple[tuple[int, int], ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of ``original`` behind ``text[start:end]``; empty at the place if the span is empty."""
        if start >= end or not self.starts:
            at = self.starts[min(start, len(self.starts) - 1)] if self.starts else 0
            return at, at
        return self.starts[start], self.ends[end - 1]

    def replace(self, changes: Iterable[tuple[int, int, str]]) -> Normalised:
        """A copy with spans of ``text`` replaced; ``changes`` are (start, end, new text), ascending, disjoint.

        No span may reach over the edge of a code span.
        """
        builder = _Builder(self.original)
        position = shift = 0
        edges, shifts = [0], [0]
        for start, end, new in changes:
            builder.copy(self, position, start)
            builder.add(new, *self.span(start, end))
            position = end
            shift += len(new) - (end - start)
            edges.append(end)
            shifts.append(shift)
        builder.copy(self, position, len(self.text))
        moved = [at + shifts[bisect_right(edges, at) - 1] for span in self.code for at in span]
        return builder.done(tuple(zip(moved[::2], moved[1::2], strict=True)))


class _Builder:
    def __init__(self, original: str) -> None:
        self.original = original
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, new: str, start: int, end: int) -> None:
        self.parts.append(new)
        self.starts.extend([start] * len(new))
        self.ends.extend([end] * len(new))

    def verbatim(self, start: int, end: int) -> None:
        self.parts.append(self.original[start:end])
        self.starts.extend(range(start, end))
        self.ends.extend(range(start + 1, end + 1))

    def copy(self, source: Normalised, start: int, end: int) -> None:
        self.parts.append(source.text[start:end])
        self.starts.extend(source.starts[start:end])
        self.ends.extend(source.ends[start:end])

    def done(self, code: tuple[tuple[int, int], ...]) -> Normalised:
        return Normalised(self.original, "".join(self.parts), tuple(self.starts), tuple(self.ends), code)


def _folded(char: str) -> str:
    """One character or base with its marks in the form the scorer reads."""
    if char in _FOLDED:
        return _FOLDED[char]
    category = unicodedata.category(char[0])
    if category == "Zs":
        return " "
    if category in ("Cc", "Cf"):
        return "\t" if char == "\t" else " "
    if category == "Cs":
        return "\ufffd"
    decomposition = unicodedata.decomposition(char) if len(char) == 1 else ""
    if decomposition.startswith(("<super>", "<sub>")):
        plain = unicodedata.normalize("NFKC", char)
        return ("^" if decomposition.startswith("<super>") else "_") + plain if plain.isdigit() else plain
    if decomposition.startswith("<fraction>"):
        return " " + unicodedata.normalize("NFKC", char).replace("\u2044", "/")
    return unicodedata.normalize("NFKC", char)


def normalise(original: str) -> Normalised:
    """``original`` without markup and typographic variety: what the scorer reads.

    Folds quotes, dashes, arrows, blanks and compatibility characters, drops zero-width characters, resolves HTML
    and Markdown, keeps the text of code spans, replaces control characters by blanks and lone surrogates by U+FFFD.
    Superscripts become ``^2`` (plain NFKC would turn 10\u00b2 into 102).

    >>> normalise("<p>\u201cIt\u2019s&nbsp;<b>shared</b>\u201d</p>").text.strip()
    '"It\\'s shared"'
    """
    builder = _Builder(original)
    code: list[tuple[int, int]] = []
    opened: int | None = None
    fenced = False
    length = position = 0
    for match in _SPECIAL.finditer(original):
        start, end = match.span()
        builder.verbatim(position, start)
        length += start - position
        position = end
        kind, found = match.lastgroup, match.group()
        new = _replacement(str(kind), found)
        if kind == "tick" and fenced:
            new = found
        elif kind == "tick" and opened is None and _APOSTROPHE.match(original, start):
            new = "'"
        elif kind in ("tick", "fence") or (kind == "tag" and regex.match(r"</?(code|pre|kbd|tt)\b", found, regex.I)):
            fenced = not fenced if kind == "fence" else fenced
            if opened is None and not found.startswith("</"):
                opened = length
            elif opened is not None:
                code.append((opened, length))
                opened = None
        builder.add(new, start, end)
        length += len(new)
    builder.verbatim(position, len(original))
    if fenced and opened is not None:
        code.append((opened, length + len(original) - position))
    return builder.done(tuple(code))


def _replacement(kind: str, found: str) -> str:
    if kind == "raw":
        return " "
    if kind == "tag":
        if _BLOCK.match(found):
            return "\n"
        return " " if regex.match(r"</?t[dh]\b", found, regex.I) else ""
    if kind == "entity":
        resolved = html.unescape(found)
        return "".join(_folded(char) for char in resolved) if resolved != found else found
    if kind in ("fence", "tick", "emphasis", "drop"):
        return ""
    if kind == "cluster":
        composed = unicodedata.normalize("NFC", found)
        return composed if len(composed) > 1 else _folded(composed)
    return _folded(found)


class Token(NamedTuple):
    """A word, code identifier or number at ``start:end`` of the text it was found in."""

    text: str
    start: int
    end: int
    kind: str

    @property
    def is_code(self) -> bool:
        """Whether it is an identifier."""
        return self.kind == "code"


_TOKEN = regex.compile(
    r"""
    (?P<code>[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)+(?:\(\))?   # optimizer.zero_grad()
          | \.[\p{L}_][\p{L}\p{N}_]*(?:\(\))?                              # .grad
          | [\p{L}_][\p{L}\p{N}_]*\(\)                                     # eval()
          | [\p{L}_]*_[\p{L}\p{N}_]+ )                                     # no_grad
  | (?P<number>\d{1,3}(?:,\d{3})+(?![,\d])(?:\.\d+)?                    # 1,000.5
          | (?<!\d,)\d+,\d+(?![,\d])                                      # 3,5
          | \d+(?:\.\d+)*)                                                # each of 2,3,4
  | (?P<word>[\p{L}][\p{L}\p{M}\p{N}]*(?:'[\p{L}]+)?)
    """,
    regex.X,
)


def tokenise(text: str) -> list[Token]:
    """Words, numbers and code identifiers (kept whole) of ``text`` in order.

    >>> [token.text for token in tokenise("Call optimizer.zero_grad() 2 times, don't wait.")]
    ['Call', 'optimizer.zero_grad()', '2', 'times', "don't", 'wait']
    >>> [token.text for token in tokenise("2,3,4 or 1,000.5 or 3,5 or v1.2.3")]
    ['2', '3', '4', 'or', '1,000.5', 'or', '3,5', 'or', 'v1', '2.3']
    """
    return list(_tokens(text))


@lru_cache(maxsize=10_000)
def _tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text, kept because every stage asks for those of the same statements."""
    return tuple(Token(m.group(), m.start(), m.end(), str(m.lastgroup)) for m in _TOKEN.finditer(text))


_SNOWBALL = {"en": "english", "de": "german", "hi": "hindi", "fr": "french", "es": "spanish", "it": "italian"}
_IRREGULAR = {"copies": "copi", "copying": "copi", "copied": "copi", "leaves": "leaf", "weights": "weight"}


class _Stemmers(local):
    """The stemmers of one thread: they keep the word they work on in themselves."""

    def __init__(self) -> None:
        self._made: dict[str, snowballstemmer.stemmer] = {}

    def __getitem__(self, language: str) -> snowballstemmer.stemmer:
        name = _SNOWBALL.get(language, "english")
        if name not in self._made:
            self._made[name] = snowballstemmer.stemmer(name)
        return self._made[name]


_STEMMERS = _Stemmers()


@lru_cache(maxsize=200_000)
def stem(word: str, language: str = "en") -> str:
    """The stem of one word, lower case; British -ise and American -ize fall together.

    >>> stem("normalises"), stem("normalizes")
    ('normal', 'normal')
    """
    word = word.casefold()
    if language == "en":
        word = regex.sub(r"(?<=\w{3})is(e|es|ed|ing|er|ers|ation|ations)$", r"iz\1", word)
        word = _IRREGULAR.get(word, word)
    return str(_STEMMERS[language].stemWord(word))


def stems(text: str, language: str = "en") -> list[str]:
    """Stems of the tokens of ``text``; an identifier gives itself and the stems of its parts."""
    return list(_stems(text, language))


@lru_cache(maxsize=50_000)
def _stems(text: str, language: str) -> tuple[str, ...]:
    found: list[str] = []
    for token in tokenise(text):
        if token.is_code:
            found.append(token.text.casefold().removesuffix("()").lstrip("."))
            found.extend(stem(part, language) for part in identifier_parts(token.text))
        else:
            found.append(stem(token.text, language))
    return tuple(found)


_PART = regex.compile(r"\p{Lu}+s?(?!\p{Ll})|\p{Lu}?\p{Ll}+|\d+")


def identifier_parts(identifier: str) -> list[str]:
    """The words an identifier is made of.

    >>> identifier_parts("optimizer.zero_grad()"), identifier_parts("CrossEntropyLoss")
    (['optimizer', 'zero', 'grad'], ['Cross', 'Entropy', 'Loss'])
    """
    return list(_parts(identifier))


@lru_cache(maxsize=50_000)
def _parts(identifier: str) -> tuple[str, ...]:
    return tuple(_PART.findall(identifier))
