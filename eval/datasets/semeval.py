"""SemEval-2013 task 7 (Beetle and SciEntsBank): one XML file a question, labels in 5, 3 or 2 classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree.ElementTree import Element

import pandas as pd

from eval.datasets.files import XmlFile, files_in, one_line, parts_below, split_of, text_of
from eval.datasets.schema import Row, frame_of, input_error

LABELS: Mapping[int, tuple[str, ...]] = {
    5: ("correct", "partially_correct_incomplete", "contradictory", "irrelevant", "non_domain"),
    3: ("correct", "contradictory", "incorrect"),
    2: ("correct", "incorrect"),
}
_ALL_LABELS = tuple(dict.fromkeys(label for ways in (5, 3) for label in LABELS[ways]))
_LEVELS = {True: "0/0.5/1", False: "0/1 (5-way label missing; partial answers score 0)"}


@dataclass(frozen=True, slots=True)
class _Answer:
    """One student answer as it stands in the file, before its label is read."""

    file: Path
    dataset: str
    split: str
    ways: int | None
    question_id: str
    question: str
    references: tuple[str, ...]
    answer_id: str
    text: str
    accuracy: str
    line: int
    extra: Mapping[str, object]


def read_semeval(
    path: Path | Sequence[Path], *, dataset: str | None = None, include_extra: bool = False
) -> pd.DataFrame:
    """The answers of one XML file or of every XML file below a folder, in the common schema.

    The split comes from the folder names (``train``, ``test-unseen-answers``, ...), the number of classes
    from a folder name such as ``semeval-5way`` or else from the labels that occur. Where there are several
    versions of an answer, the one with most classes is kept. Labels become scores: correct 1,
    partially correct 0.5 (0 where only 3 or 2 classes are known), all others 0; report them as F1.

    Args:
        path: A file or a folder of the release, or several.
        dataset: ``beetle`` or ``scientsbank``; by default read from folder names or from the file.
        include_extra: Also read folders named ``Extra``, which are not part of the official task.

    Raises:
        InputError: Broken XML, a missing element or attribute, or an unknown label.
    """
    answers: list[_Answer] = []
    for root in [path] if isinstance(path, Path) else path:
        for file in files_in(root, (".xml",)):
            names = parts_below(file, root)
            if include_extra or "extra" not in names:
                answers += _answers(file, names, dataset)
    guessed = _guess_ways({answer.accuracy for answer in answers if answer.ways is None})
    best: dict[tuple[str, str, str], int] = {}
    for answer in answers:
        key = (answer.dataset, answer.split, answer.answer_id)
        best[key] = max(best.get(key, 0), answer.ways or guessed)
    return frame_of(
        _row(answer, answer.ways or guessed)
        for answer in answers
        if (answer.ways or guessed) == best[(answer.dataset, answer.split, answer.answer_id)]
    )


def _answers(file: Path, names: tuple[str, ...], dataset: str | None) -> list[_Answer]:
    xml = XmlFile(file)
    return [
        _answer(xml, question, element, names, dataset or _dataset_name(names, question))
        for question in xml.questions()
        for element in question.findall("studentAnswers/studentAnswer")
    ]


def _answer(xml: XmlFile, question: Element, element: Element, names: tuple[str, ...], dataset: str) -> _Answer:
    ways = _ways(xml.path)
    accuracy = xml.attribute(element, "accuracy")
    allowed = LABELS[ways] if ways else _ALL_LABELS
    if accuracy not in allowed:
        message = f"label {accuracy!r} is unknown; allowed are {', '.join(allowed)}"
        raise xml.error(element, message, "accuracy")
    references = question.findall("referenceAnswers/referenceAnswer")
    count = element.get("count")
    return _Answer(
        file=xml.path,
        dataset=dataset,
        split=split_of(names),
        ways=ways,
        question_id=xml.attribute(question, "id"),
        question=one_line(xml.child_text(question, "questionText")),
        references=tuple(one_line(text_of(reference)) for reference in references),
        answer_id=xml.attribute(element, "id"),
        text=one_line(text_of(element)),
        accuracy=accuracy,
        line=xml.line(element),
        extra={
            "count": int(count) if count and count.isdigit() else None,
            "answer_match": element.get("answerMatch") or None,
            "ref_ids": [reference.get("id") for reference in references],
            "ref_categories": [reference.get("category") for reference in references],
            "module": question.get("module"),
            "qtype": question.get("qtype"),
        },
    )


def _dataset_name(names: tuple[str, ...], question: Element) -> str:
    for name in names:
        if "beetle" in name:
            return "beetle"
        if "scientsbank" in name or name == "seb":
            return "scientsbank"
    # Only Beetle says what type of question it is and grades its reference answers.
    return "beetle" if question.get("qtype") else "scientsbank"


def _ways(file: Path) -> int | None:
    for folder in file.resolve().parents:
        match = re.search(r"(?<![0-9a-z])([235])[-_ ]?way(?![a-z])", folder.name.lower())
        if match:
            return int(match.group(1))
    return None


def _guess_ways(labels: set[str]) -> int:
    if "incorrect" not in labels:
        return 5
    return 3 if "contradictory" in labels else 2


def _row(answer: _Answer, ways: int) -> Row:
    if answer.accuracy not in LABELS[ways]:
        # Happens only where no folder name says how many classes there are.
        raise input_error(
            answer.file,
            f"label {answer.accuracy!r} and the label 'incorrect' of another answer do not go together; "
            f"allowed are {' | '.join(', '.join(labels) for labels in LABELS.values())}",
            line=answer.line,
            field="accuracy",
        )
    label = answer.accuracy if ways == 5 else None
    label3 = None if ways == 2 else answer.accuracy
    if label3 not in (None, *LABELS[3]):
        label3 = "incorrect"
    label2 = "correct" if answer.accuracy == "correct" else "incorrect"
    partial = answer.accuracy == "partially_correct_incomplete"
    return Row(
        dataset=answer.dataset,
        split=answer.split,
        question_id=answer.question_id,
        question=answer.question,
        reference_answers=answer.references,
        answer_id=answer.answer_id,
        answer=answer.text,
        score=1.0 if label2 == "correct" else 0.5 if partial else 0.0,
        max_score=1.0,
        label=label,
        extra={
            "label3": label3,
            "label2": label2,
            **answer.extra,
            "score_is_mapped_from_label": True,
            "score_levels": _LEVELS[ways == 5],
        },
    )
