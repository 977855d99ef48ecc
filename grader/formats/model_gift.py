"""GIFT, Moodle's plain text format: short answers, and essays whose general feedback is the model answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.errors import InputError
from grader.formats.notes import NoteLog, shorten
from grader.formats.question import ModelQuestion, plain

_BLOCK = re.compile(r"(?<!\\)\{")
_TITLE = re.compile(r"::(.*?)(?<!\\)::", re.S)
_FORMAT = re.compile(r"\[(?:html|moodle|plain|markdown)\]", re.I)
_ESCAPED = re.compile(r"\\([~=#{}:n\\])")
_PART = re.compile(r"(?<!\\)(?=[=~])")
_WEIGHT = re.compile(r"%(-?\d+(?:\.\d+)?)%")
_FEEDBACK = re.compile(r"(?<!\\)#")
_GENERAL = re.compile(r"(?<!\\)####")
_KINDS = (
    (re.compile(r"\s*(?:T|F|TRUE|FALSE)\s*(?:#.*)?", re.S | re.I), "true or false"),
    (re.compile(r"\s*#.*", re.S), "numerical"),
    (re.compile(r".*(?<!\\)->.*", re.S), "matching"),
    (re.compile(r".*(?<!\\)~.*", re.S), "multiple choice"),
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One question of the file as written."""

    line: int
    text: str


def looks_like_gift(text: str) -> bool:
    """Whether ``text`` has a title between double colons, or a block in braces after a question."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]
    return any(line.startswith(("::", "$CATEGORY")) for line in lines) or bool(
        re.search(r"^[^\n,;\t]*(?<!\\)\{[^{}]*\}", "\n".join(lines), re.M)
    )


def read_gift(text: str, name: str, log: NoteLog) -> list[ModelQuestion]:
    """The questions with a model answer; other types and essays without a key are noted.

    Raises:
        InputError: A brace is not closed.
    """
    found = []
    for number, entry in enumerate(_entries(text), 1):
        question = _question(entry, number, name, log)
        if question is not None:
            found.append(question)
    return found


def _entries(text: str) -> list[_Entry]:
    """Runs of lines between blank lines, without comments and categories; a blank line in braces separates nothing."""
    entries: list[_Entry] = []
    lines: list[str] = []
    start, depth = 1, 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.lstrip().startswith(("//", "$CATEGORY")):
            continue
        if not line.strip() and depth <= 0:
            if lines:
                entries.append(_Entry(start, "\n".join(lines)))
            lines, depth = [], 0
            continue
        if not lines:
            start = number
        lines.append(line)
        depth += len(re.findall(r"(?<!\\)\{", line)) - len(re.findall(r"(?<!\\)\}", line))
    if lines:
        entries.append(_Entry(start, "\n".join(lines)))
    return entries


def _question(entry: _Entry, number: int, name: str, log: NoteLog) -> ModelQuestion | None:
    text = entry.text.strip()
    title = _TITLE.match(text)
    label = _plain(title[1]) if title else f"question {number}"
    text = _FORMAT.sub("", text[title.end() :] if title else text, count=1)
    opening = _BLOCK.search(text)
    if opening is None:
        log.add("no-answer", f"{shorten(label)} is a description without an answer", row=entry.line)
        return None
    closing = re.search(r"(?<!\\)\}", text[opening.end() :])
    if closing is None:
        raise InputError(f"{name}: line {entry.line}: '{{' of {shorten(label)} is not closed; allowed: {{…}}, or \\{{")
    inside = text[opening.end() : opening.end() + closing.start()]
    rest = text[opening.end() + closing.end() :].strip()
    prompt = _plain(f"{text[: opening.start()]}{' _____ ' + rest if rest else ''}")
    answers = _answers(inside, label, entry.line, log)
    return ModelQuestion(label, prompt, answers) if prompt and answers else None


def _answers(inside: str, label: str, line: int, log: NoteLog) -> tuple[str, ...]:
    body, *general = _GENERAL.split(inside, maxsplit=1)
    for pattern, kind in _KINDS:
        if pattern.fullmatch(body) and body.strip():
            log.add("type", f"{shorten(label)} is {kind}; only essays and short answers are read", row=line)
            return ()
    if not body.strip():
        answer = _plain(general[0]) if general else ""
        if not answer:
            log.add("no-answer", f"{shorten(label)} is an essay without model answer (####…)", row=line)
        return (answer,) if answer else ()
    full = {_plain(_FEEDBACK.split(part[1:])[0]) for part in map(_full_mark, _PART.split(body.strip())) if part}
    if not full:
        log.add("no-answer", f"{shorten(label)} has no answer for full marks", row=line)
    return tuple(sorted((text for text in full if text), key=lambda text: (-len(text), text)))


def _full_mark(part: str) -> str | None:
    """``part`` without its weight if it earns full marks."""
    if not part.startswith("="):
        return None
    weight = _WEIGHT.match(part[1:])
    if weight is None:
        return part
    return "=" + part[1 + weight.end() :] if float(weight[1]) == 100 else None


def _plain(text: str) -> str:
    unescaped = _ESCAPED.sub(lambda match: "\n" if match[1] == "n" else match[1], text)
    return plain(unescaped)
