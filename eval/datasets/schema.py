"""The one frame schema of labelled answers, and how readers build and check it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from grader.errors import InputError

COLUMNS: tuple[str, ...] = (
    "dataset", "split", "question_id", "question", "reference_answers", "answer_id", "answer",
    "score", "max_score", "label", "score2", "feedback", "extra",
)  # fmt: skip
SPLITS: tuple[str, ...] = ("train", "test_ua", "test_uq", "test_ud", "none")
_TEXT = ("dataset", "split", "question_id", "question", "answer_id", "answer")
_NULLABLE_TEXT = ("label", "feedback", "extra")
_NUMBER = ("score", "max_score", "score2")


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled answer.

    Attributes:
        dataset: Short name of the data set.
        split: One of :data:`SPLITS`.
        question_id: Unique within the data set; the same in all its splits.
        question: The prompt; empty when the source has none.
        reference_answers: Full-mark answers by the authors; may be empty.
        answer_id: Unique within the data set.
        answer: What the candidate wrote; may be empty.
        score: Points, 0 to ``max_score``.
        max_score: Points for a perfect answer.
        label: The source's own class name, if any.
        score2: Points by a second rater, if any.
        feedback: What the rater wrote to the candidate, if anything.
        extra: Whatever else the source says; stored as JSON.
    """

    dataset: str
    split: str
    question_id: str
    question: str
    reference_answers: Sequence[str]
    answer_id: str
    answer: str
    score: float
    max_score: float
    label: str | None = None
    score2: float | None = None
    feedback: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


def input_error(
    path: Path, message: str, *, line: int | None = None, row: int | None = None, field: str | None = None
) -> InputError:
    """An :class:`InputError` that starts with the place: ``file:line: row 3: field 'score': ...``."""
    place = f"{path}:{line}" if line else str(path)
    parts = [place]
    if row is not None:
        parts.append(f"row {row}")
    if field is not None:
        parts.append(f"field {field!r}")
    return InputError(": ".join([*parts, message]))


def number(text: str, path: Path, field: str, *, line: int | None = None, row: int | None = None) -> float:
    """``text`` as a finite number; otherwise an error naming file, line or row, and field."""
    try:
        value = float(text.strip())
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"{text!r} is not allowed; a finite number is needed"
        raise input_error(path, message, line=line, row=row, field=field)
    return value


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` with the schema's column order and types."""
    types = {**dict.fromkeys((*_TEXT, *_NULLABLE_TEXT), "str"), **dict.fromkeys(_NUMBER, "float64")}
    return frame[list(COLUMNS)].astype(types).reset_index(drop=True)


def frame_of(rows: Iterable[Row]) -> pd.DataFrame:
    """A frame with the columns :data:`COLUMNS`, one line per row, in the given order."""
    listed = list(rows)
    data: dict[str, list[object]] = {name: [getattr(row, name) for row in listed] for name in COLUMNS}
    data["reference_answers"] = [list(row.reference_answers) for row in listed]
    data["extra"] = [json.dumps(dict(row.extra), ensure_ascii=False) for row in listed]
    data["score2"] = [math.nan if row.score2 is None else row.score2 for row in listed]
    return _typed(pd.DataFrame(data, columns=list(COLUMNS)))


def validated(frame: pd.DataFrame, source: Path) -> pd.DataFrame:
    """``frame`` in the schema's types; an :class:`InputError` names file, row and field otherwise.

    Args:
        frame: A frame somebody else wrote.
        source: Where it came from, for messages.

    Returns:
        A new frame whose ``reference_answers`` are lists of text. Rows are counted from 0.

    Raises:
        InputError: A column is missing, a text is missing, a score is no number, references are no
            list of texts, or ``extra`` is no JSON object.
    """
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise input_error(source, f"columns are missing: {', '.join(missing)}; needed are {', '.join(COLUMNS)}")
    result = frame.copy()
    for name in _TEXT:
        _require(result[name].map(lambda value: isinstance(value, str)), source, name, "a text is needed")
    for name in _NUMBER:
        numbers = pd.to_numeric(result[name], errors="coerce")
        _require(numbers.notna() | result[name].isna(), source, name, "a number is needed")
        result[name] = numbers
    result["reference_answers"] = [
        _references(value, source, row) for row, value in enumerate(result["reference_answers"])
    ]
    for row, value in enumerate(result["extra"]):
        _check_extra(value, source, row)
    return _typed(result)


def _require(good: pd.Series[bool], source: Path, name: str, need: str) -> None:
    bad = [row for row, is_good in enumerate(good) if not is_good]
    if bad:
        raise input_error(source, f"{need} ({len(bad)} such rows)", row=bad[0], field=name)


def _references(value: object, source: Path, row: int) -> list[str]:
    items: object = value.tolist() if hasattr(value, "tolist") else value
    if items is None or isinstance(items, float):
        return []
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise input_error(source, "a list of texts is needed", row=row, field="reference_answers")
    return list(items)


def _check_extra(value: object, source: Path, row: int) -> None:
    if not isinstance(value, str):
        return
    try:
        content = json.loads(value)
    except json.JSONDecodeError as error:
        raise input_error(source, f"a JSON object is needed ({error})", row=row, field="extra") from error
    if not isinstance(content, dict):
        raise input_error(source, f"a JSON object is needed, not {type(content).__name__}", row=row, field="extra")


def extra_field(frame: pd.DataFrame, name: str) -> pd.Series:
    """One entry of the JSON in ``extra`` per row (``None`` where absent), as a series of objects.

    >>> rows = [Row("d", "none", "q", "Why?", [], "a", "so", 1.0, 1.0, extra={"lang": "en"})]
    >>> extra_field(frame_of(rows), "lang").tolist()
    ['en']
    """
    values = [json.loads(text).get(name) if isinstance(text, str) else None for text in frame["extra"]]
    return pd.Series(values, index=frame.index, dtype="object", name=name)
