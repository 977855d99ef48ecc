"""Short Answer Feedback (SebOchs/SAF): XML, one file a question, or JSON (lines) as published later."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from eval.datasets.files import XmlFile, files_in, parts_below, read_text, split_of, text_of
from eval.datasets.schema import Row, frame_of, input_error, number

_LABELS = {"correct": "Correct", "partially correct": "Partially correct", "incorrect": "Incorrect"}
_LANGUAGES = {"english": "en", "german": "de"}
_JSON_FIELDS = ("question", "reference_answer", "provided_answer", "verification_feedback", "score")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a row stands, for messages and names."""

    file: Path
    names: tuple[str, ...]
    dataset: str | None

    @property
    def language(self) -> str | None:
        return next((_LANGUAGES[word] for word in _LANGUAGES if any(word in name for name in self.names)), None)

    @property
    def name(self) -> str:
        return self.dataset or (f"saf_{self.language}" if self.language else "saf")


def read_saf(
    path: Path, *, dataset: str | None = None, language: str | None = None, max_score: float | None = None
) -> pd.DataFrame:
    """The answers of one SAF file or of every ``.xml``, ``.json`` and ``.jsonl`` below a folder.

    The split comes from folder or file names (``training``, ``unseen_answers``, ``unseen_questions``;
    ``validation`` counts as train). The files do not say what an answer is worth: ``max_score`` of a
    question is the highest score of its answers labelled Correct in any of the files read, or the highest
    score at all but at least 1 where none is labelled so.

    Args:
        path: A file or a folder, for instance ``data`` of the repository.
        dataset: Name to use; by default ``saf_en``, ``saf_de`` or ``saf``, after the folder's language.
        language: ``en`` or ``de``: read only files below a folder of that language.
        max_score: Points for a perfect answer, for all questions, instead of the rule above.

    Raises:
        InputError: Broken XML or JSON, a missing field, a score that is no number, an unknown label.
    """
    rows: list[Row] = []
    for file in files_in(path, (".xml", ".json", ".jsonl")):
        names = parts_below(file, path)
        if file.suffix.lower() != ".xml":
            names = (file.stem.lower(), *names)
        place = _Place(file, names, dataset)
        if language is None or place.language == language:
            rows += _xml_rows(place) if file.suffix.lower() == ".xml" else _json_rows(place)
    if not rows:
        raise input_error(path, f"no answers in language {language!r}; known are en (english), de (german)")
    return frame_of(_with_max_score(rows, max_score))


def _xml_rows(place: _Place) -> list[Row]:
    xml = XmlFile(place.file)
    split = split_of(place.names)
    rows: list[Row] = []
    for question in xml.questions():
        identifier = f"{xml.attribute(question, 'id')}|{place.file.stem}"
        prompt = xml.child_text(question, "questionText")
        references = [text_of(item) for item in question.findall("referenceAnswers/referenceAnswer")]
        for element in question.findall("studentAnswers/studentAnswer"):
            line = xml.line(element)
            source_id = element.get("id")
            feedback = element.find("response_feedback")
            rows.append(
                Row(
                    dataset=place.name,
                    split=split,
                    question_id=identifier,
                    question=prompt,
                    reference_answers=references,
                    answer_id=f"{split}/{place.file.stem}/{source_id or len(rows)}/{len(rows)}",
                    answer=xml.child_text(element, "response"),
                    score=number(xml.child_text(element, "score"), place.file, "score", line=line),
                    max_score=1.0,
                    label=_label(xml.child_text(element, "verification_feedback"), place.file, line=line),
                    feedback=text_of(feedback) if feedback is not None else None,
                    extra={"lang": place.language, "source_id": source_id},
                )
            )
    return rows


def _label(text: str, file: Path, *, line: int | None = None, row: int | None = None) -> str:
    label = _LABELS.get(text.strip().lower())
    if label is None:
        raise input_error(
            file,
            f"label {text!r} is unknown; allowed are {', '.join(_LABELS.values())}",
            line=line,
            row=row,
            field="verification_feedback",
        )
    return label


def _records(file: Path) -> list[tuple[int, object]]:
    """The values of a file with their line (lines) or position from 1 (one array)."""
    text = read_text(file)
    if file.suffix.lower() != ".jsonl":
        whole = _parsed(text, file, 1)
        return list(enumerate(whole if isinstance(whole, list) else [whole], start=1))
    lines = enumerate(text.split("\n"), start=1)
    return [(line, _parsed(content, file, line)) for line, content in lines if content.strip()]


def _parsed(text: str, file: Path, first_line: int) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise input_error(file, f"not JSON ({error.msg})", line=first_line + error.lineno - 1) from error


def _json_rows(place: _Place) -> list[Row]:
    as_lines = place.file.suffix.lower() == ".jsonl"
    return [
        _json_row(value, place, position, line=position if as_lines else None)
        for position, value in _records(place.file)
    ]


def _json_row(record: object, place: _Place, position: int, *, line: int | None) -> Row:
    row = position if line is None else None
    missing = [name for name in _JSON_FIELDS if not isinstance(record, dict) or record.get(name) is None]
    if not isinstance(record, dict) or missing:
        message = f"missing; an object with {', '.join(_JSON_FIELDS)} is needed"
        raise input_error(place.file, message, line=line, row=row, field=", ".join(missing))
    split = split_of(place.names)
    prompt = str(record["question"]).strip()
    # These files carry no question id; the same wording must give the same id in every split.
    identifier = "q-" + hashlib.sha256(prompt.encode()).hexdigest()[:10]
    source_id = record.get("id")
    reference = str(record["reference_answer"]).strip()
    return Row(
        dataset=place.name,
        split=split,
        question_id=identifier,
        question=prompt,
        reference_answers=[reference] if reference else [],
        answer_id=str(source_id or f"{split}/{place.file.stem}/{position}"),
        answer=str(record["provided_answer"]).strip(),
        score=number(str(record["score"]), place.file, "score", line=line, row=row),
        max_score=1.0,
        label=_label(str(record["verification_feedback"]), place.file, line=line, row=row),
        feedback=str(record.get("answer_feedback") or "").strip() or None,
        extra={"lang": place.language, "source_id": source_id, "part": place.file.stem},
    )


def _with_max_score(rows: list[Row], given: float | None) -> list[Row]:
    if given is not None:
        return [replace(row, max_score=given) for row in rows]
    correct: dict[str, float] = {}
    highest: dict[str, float] = {}
    for row in rows:
        highest[row.question_id] = max(highest.get(row.question_id, 1.0), row.score)
        if row.label == "Correct" and row.score > 0:
            correct[row.question_id] = max(correct.get(row.question_id, 0.0), row.score)
    return [replace(row, max_score=correct.get(row.question_id, highest[row.question_id])) for row in rows]
