"""Tables of questions and model answers, in and out."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.errors import InputError
from grader.formats.headers import Headers
from grader.formats.neutral import restore
from grader.formats.notes import NoteLog
from grader.formats.numeric import parse_number
from grader.formats.question import ModelQuestion, plain
from grader.formats.table import read_table
from grader.formats.writers import write_csv
from grader.rubric import Item

NAME = ("id", "item", "name", "title", "titel")
PROMPT = ("question", "prompt", "question text", "frage")
ANSWER = ("reference answer", "reference_answer", "model answer", "model_answer", "sample answer", "answer")
ANSWER_DE = ("musterlösung", "musterantwort", "antwort")
SCORE = ("max score", "max_score", "max", "points", "punkte")
LANGUAGE = ("language", "lang", "sprache")
_CODE = re.compile("[a-z]{2}")


def read_table_answers(data: bytes, name: str, log: NoteLog) -> list[ModelQuestion]:
    """One question a row; rows without question or answer are noted.

    Raises:
        InputError: The file holds no table, or has no columns for question and answer.
    """
    table = read_table(data, name=name)
    headers = Headers.of(table.headers)
    prompt, answer = headers.find(*PROMPT), headers.find(*ANSWER, *ANSWER_DE)
    if prompt is None or answer is None:
        found = ", ".join(map(repr, table.labels[:12]))
        allowed = f"a column {PROMPT[0]!r} or {PROMPT[1]!r} and a column 'answer', 'model answer' or 'reference answer'"
        raise InputError(f"{name}: no column for the {'question' if prompt is None else 'model answer'}; "
                         f"found: {found}; allowed: {allowed}")  # fmt: skip
    title, score, language = headers.find(*NAME), headers.find(*SCORE), headers.find(*LANGUAGE)
    questions = []
    for row, cells in zip(table.rows, table.frame.itertuples(index=False), strict=True):
        text, model = plain(restore(cells[prompt])), plain(restore(cells[answer]))
        if not text or not model:
            log.add("no-answer", f"no {'question' if not text else 'model answer'}", row=row)
            continue
        top = parse_number(cells[score], table.decimal) if score is not None else None
        code = cells[language].strip().lower() if language is not None else ""
        questions.append(
            ModelQuestion(
                name=cells[title].strip() if title is not None else "",
                prompt=text,
                answers=(model,),
                max_score=top if top and 0 < top <= 1000 else None,
                language=code if _CODE.fullmatch(code) else None,
            )
        )
    return questions


def write_table_answers(items: Iterable[Item]) -> bytes:
    """CSV with id, language, max_score, question and reference_answer, one row an item."""
    header = ("id", "language", "max_score", "question", "reference_answer")
    rows = [(item.id, item.language, item.scale.max, item.prompt, item.reference_answer) for item in items]
    return write_csv([header, *rows])
