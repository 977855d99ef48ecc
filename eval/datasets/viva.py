"""Authored viva answers: component labels by one or two raters, one CSV line an answer."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pandas as pd

from eval.datasets.files import read_text
from eval.datasets.schema import Row, frame_of, input_error, number

COMPONENTS: tuple[str, ...] = ("definition", "reason", "example_or_pitfall")
_FLAGS = ("has_error", "says_how_to_find_out")
_TEXTS = ("question_id", "question", "answer_id", "kind", "answer")
VIVA_REQUIRED: tuple[str, ...] = (*_TEXTS, *COMPONENTS, *_FLAGS, "score", "comment")
VIVA_OPTIONAL: tuple[str, ...] = tuple(f"{name}_2" for name in (*COMPONENTS, *_FLAGS, "score", "comment"))


def read_viva(path: Path) -> pd.DataFrame:
    """The answers with their component labels; columns as in the file.

    Component labels are credits from 0 to 1, flags are 0 or 1, ``score`` is in points. Columns ending in
    ``_2`` hold the second rater's labels and may be absent or empty.

    Raises:
        InputError: An unknown or missing column, an empty text, a label that is not allowed, or an
            ``answer_id`` that occurs twice.
    """
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    rows: list[dict[str, object]] = []
    seen: dict[str, int] = {}
    try:
        header = [name.strip() for name in next(reader, [])]
        _check_header(header, path)
        for cells in reader:
            if not any(cells):
                continue
            row = _row(header, cells, path, reader.line_num)
            identifier = str(row["answer_id"])
            if identifier in seen:
                message = f"{identifier!r} occurs before, in line {seen[identifier]}; it must be unique"
                raise input_error(path, message, line=reader.line_num, field="answer_id")
            seen[identifier] = reader.line_num
            rows.append(row)
    except csv.Error as error:
        raise input_error(path, f"not well-formed CSV ({error})", line=reader.line_num) from error
    return pd.DataFrame(rows, columns=header).astype({name: _type(name) for name in header})


def _check_header(header: list[str], path: Path) -> None:
    allowed = (*VIVA_REQUIRED, *VIVA_OPTIONAL)
    missing = [name for name in VIVA_REQUIRED if name not in header]
    unknown = [name for name in header if name not in allowed]
    twice = sorted({name for name in header if header.count(name) > 1})
    for problem, names in (("missing", missing), ("unknown", unknown), ("there twice", twice)):
        if names:
            message = f"columns {problem}: {', '.join(names)}; allowed are {', '.join(allowed)}"
            raise input_error(path, message, line=1)


def _base(name: str) -> str:
    return name.removesuffix("_2")


def _type(name: str) -> str:
    if name in _FLAGS:
        return "int64"
    return "float64" if _base(name) in (*COMPONENTS, *_FLAGS, "score") else "str"


def _row(header: list[str], cells: list[str], path: Path, line: int) -> dict[str, object]:
    if len(cells) != len(header):
        raise input_error(path, f"{len(cells)} cells for {len(header)} columns", line=line)
    return {name: _cell(name, text, path, line) for name, text in zip(header, cells, strict=True)}


def _cell(name: str, text: str, path: Path, line: int) -> object:
    if _base(name) == "comment":
        return text
    if name in _TEXTS:
        if not text.strip() and name != "answer":
            raise input_error(path, "a text is needed", line=line, field=name)
        return text
    if name.endswith("_2") and not text.strip():
        return math.nan
    value = number(text, path, name, line=line)
    if _base(name) in _FLAGS and value not in (0, 1):
        raise input_error(path, f"{text!r} is not allowed; 0 or 1", line=line, field=name)
    if _base(name) in COMPONENTS and not 0 <= value <= 1:
        raise input_error(path, f"{text!r} is not allowed; 0 to 1", line=line, field=name)
    return value


def viva_as_answers(viva: pd.DataFrame, dataset: str = "viva_dev", max_score: float = 5.0) -> pd.DataFrame:
    """A frame of :func:`read_viva` in the common schema; labels go into ``extra``.

    Args:
        viva: The answers.
        dataset: Name to use.
        max_score: Points for a perfect answer.
    """
    labels = [name for name in viva.columns if _base(name) in (*COMPONENTS, *_FLAGS)]
    second = "score_2" in viva.columns
    return frame_of(
        Row(
            dataset=dataset,
            split="none",
            question_id=str(row["question_id"]),
            question=str(row["question"]),
            reference_answers=[],
            answer_id=str(row["answer_id"]),
            answer=str(row["answer"]),
            score=float(row["score"]),
            max_score=max_score,
            label=str(row["kind"]),
            score2=float(row["score_2"]) if second else None,
            feedback=str(row["comment"]) or None,
            extra={name: None if math.isnan(row[name]) else float(row[name]) for name in labels},
        )
        for row in viva.to_dict("records")
    )
