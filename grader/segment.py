"""A text cut into statements: the units that are compared with key statements."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import regex
from sentencex import get_sentence_boundaries

from grader.text import Normalised, tokenise
from grader.words import FUNCTION_WORDS

MAX_WORDS = 45
_CODE_BLOCK_LINES = 8

_BULLET = regex.compile(r"[ \t]*(?:[-*+]|\(?\d{1,2}[.)]|\(?[a-z]\)|#{1,6})[ \t]+(?=\S)")
_CODE_LINE = regex.compile(
    r"""\s*(?:>>>|import\s+[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+)*\s*(?:[;\#].*)?$|from\s+[\w.]+\s+import\b
    |def\s+\w+\(|class\s+\w+[(:]|return\b.*[(=]|@\w[\w.]*(?:\(.*\))?\s*$
    |for\s(?=.*:)[\w,\s()]{1,100}\sin\s|(?:while|with|if|elif)\b(?=.*:\s*(?:\#.*)?$).*[\w)\]]\s*[(\[=<>%]
    |else\s*:\s*(?:\#.*)?$
    |[A-Za-z_][\w.]*(?:\[[^\]]*\])?(?:\s*,\s*[A-Za-z_][\w.]*)*\s*[-+*/|]?=\s*[\w\[("'{.-]+[\w.]*\s*[(\[.+*/@-]
    |[A-Za-z_][\w.]*\([^)]*\).*(?:[;)\]]|\#.*)\s*$)""",
    regex.X,
)
_CODE_CONTINUES = regex.compile(r"\s*(?:\#|\.\.\.\s|[A-Za-z_][\w.]*\([^()]*\)\s*(?:\#.*)?$)")
_CODE_SIGN = regex.compile(r"[=()\[\]{}<>]|\w\.\w")
#: Function words that are none of Python's own words.
_PROSE = FUNCTION_WORDS - set("and as for from if in is not or with while".split())
#: So many words such as "the" or "because" make a sentence.
_SENTENCE = 3
_SQUEEZED = regex.compile(
    r"(?<=\p{Ll}{2})[.!?](?=(?:The|This|That|These|It|So|Because|If|When|We|You|In|For|But|And|Then|Also|Without|A)\b)"
)
_IN_CODE = regex.compile(r"(?<=[\p{L}\p{N}_)\]])\.(?=[\p{L}_])|(?<=\d)\.(?=\d)|(?<=\s)\.(?=\p{L})|!(?==)")
_CLAUSE = regex.compile(
    r"[;:]\s|,?\s(?=(?:but|while|whereas|because|since|so that|which means|and then|therefore|however|otherwise)\s)|,\s"
)
_ABBREVIATION = regex.compile(r"(?<!\p{L})(?:e\.?g|i\.?e|z\.?\s?B|d\.?\s?h)\.,?\s*$", regex.I)
#: How far around a cut it matters what stands there.
_NEAR = 120


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, bullet, clause or block of code at ``start:end`` of a normalised text."""

    text: str
    start: int
    end: int
    is_code: bool = False


def statements(source: Normalised) -> list[Statement]:
    """The statements of ``source`` in order; together they cover every word of it.

    Lines that wrap are joined, bullets and semicolons separate, neighbouring lines of code stay together, and a
    sentence of more than 45 words is cut at a clause, so that no encoder truncates it.
    """
    found: list[Statement] = []
    for start, end, is_code in _blocks(source):
        if is_code:
            found.extend(_pieces(source.text, start, end, True))
            continue
        for left, right in _sentences(source.text, start, end):
            found.extend(_pieces(source.text, left, right, False))
    return found


def looks_like_code(text: str) -> bool:
    """Whether ``text`` has a sign of code and fewer than three words such as "the", whatever marks stand around it."""
    tokens = tokenise(text)
    prose = sum(token.text.casefold() in _PROSE for token in tokens)
    return prose < _SENTENCE and (_CODE_SIGN.search(text) is not None or any(token.is_code for token in tokens))


def _blocks(source: Normalised) -> list[tuple[int, int, bool]]:
    """Paragraphs of prose and runs of code lines as (start, end, is code)."""
    text = source.text
    blocks: list[tuple[int, int, bool]] = []
    position, code_lines, open_line = 0, 0, False
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        if not line.strip():
            open_line = False
            continue
        at = bisect_right(source.code, (start, len(text))) - 1
        in_fence = at >= 0 and position - 1 <= source.code[at][1]
        after_code = bool(blocks) and blocks[-1][2] and blocks[-1][1] == start
        is_code = bool(_CODE_LINE.match(line) or (after_code and _CODE_CONTINUES.match(line)))
        is_code = is_code or (in_fence and looks_like_code(line))
        bullet = None if is_code else _BULLET.match(line)
        start += bullet.end() if bullet else 0
        wraps = open_line and not bullet and line.lstrip()[:1].islower()
        if blocks and is_code and blocks[-1][2] and code_lines < _CODE_BLOCK_LINES:
            blocks[-1] = (blocks[-1][0], position, True)
            code_lines += 1
        elif blocks and not is_code and not blocks[-1][2] and wraps:
            blocks[-1] = (blocks[-1][0], position, False)
        else:
            blocks.append((start, position, is_code))
            code_lines = 1
        open_line = not is_code and line.rstrip()[-1] not in ".!?:;"
    return blocks


def _sentences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Sentence spans of a paragraph; dots inside identifiers and numbers never end one."""
    part = text[start:end].replace("\n", " ")
    cuts = {match.end() for match in _SQUEEZED.finditer(part)}
    cuts |= {match.end() for match in regex.finditer(r";\s", part) if _both_sides_say_something(part, match.end())}
    dots = {match.start() for match in _IN_CODE.finditer(part) if match.end() not in cuts}
    masked = list(part)
    for at in dots:
        masked[at] = "_"
    cuts |= {boundary["end_index"] for boundary in get_sentence_boundaries("en", "".join(masked))}
    cuts -= {cut for cut in cuts if _ABBREVIATION.search(part, max(cut - 20, 0), cut)}
    spans, left = [], 0
    for cut in sorted(cuts | {len(part)}):
        if part[left:cut].strip():
            spans.append((start + left, start + cut))
        left = cut
    return spans


def _both_sides_say_something(part: str, cut: int) -> bool:
    """Whether a semicolon separates clauses; between terms it is only a comma."""
    left = regex.split(r"[;.]\s", part[max(cut - _NEAR, 0) : cut - 1])[-1]
    right = regex.split(r"[;.](?:\s|$)", part[cut : cut + _NEAR])[0]
    return len(left.split()) >= 4 and len(right.split()) >= 4


def _pieces(text: str, start: int, end: int, is_code: bool) -> list[Statement]:
    """One statement, or several if it has more than ``MAX_WORDS`` words."""
    words = [(start + word.start, start + word.end) for word in tokenise(text[start:end])]
    if not words:
        return []
    cuts = [start]
    first = 0
    while len(words) - first > MAX_WORDS:
        early, late = words[first + MAX_WORDS // 3][0], words[first + MAX_WORDS - 1][1]
        clauses = [early + match.end() for match in _CLAUSE.finditer(text[early:late])]
        cuts.append(clauses[-1] if clauses else late)
        while first < len(words) and words[first][0] < cuts[-1]:
            first += 1
    found = []
    for left, right in zip(cuts, [*cuts[1:], end], strict=True):
        piece = text[left:right]
        left += len(piece) - len(piece.lstrip())
        found.append(Statement(piece.strip(), left, left + len(piece.strip()), is_code))
    return found
