"""Mohler, Bunescu and Mihalcea 2011 (University of North Texas): introductory data structures.

Layout of the release, below one folder: ``data/raw/questions`` and ``data/raw/answers`` (an id, then the
prompt or the reference), ``data/raw/1.1`` ... (the id, then one answer), ``data/scores/1.1/me``, ``other``
and ``ave`` (one number a line), optionally ``data/docs/files`` (the ids in use; ``#`` before an unused one).
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Literal

import pandas as pd

from eval.datasets.files import read_text
from eval.datasets.schema import Row, frame_of, input_error, number

_BREAK = re.compile(r"<\s*(?:br|/p|/li|/div)\b[^<>]*>", re.IGNORECASE)
# Only known tags go: answers on C++ contain <iostream>, vector<int> and a<b.
_TAG = re.compile(
    r"<\s*/?\s*(?:a|b|big|blockquote|center|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|s|small|span|"
    r"strong|sub|sup|table|tbody|td|th|tr|tt|u|ul)\b(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_LINE = re.compile(r"^\s*(\d+\.\d+)(?:\s+(.*))?$")


def read_mohler(folder: Path, *, gold: Literal["average", "first"] = "average") -> pd.DataFrame:
    """The answers of the release, in the common schema, each on the scale of its own question.

    The two exams (11 and 12) are on 0 to 10, all other questions on 0 to 5. The published averages of the
    exams were halved; they are brought back to 0 to 10 where the two raters' scores show it.

    Args:
        folder: The folder that holds ``data`` (or holds the only folder that does).
        gold: ``average``: ``score`` is the published average and ``score2`` empty, since a rater against
            an average looks better than raters agree. ``first``: ``score`` is ``me``, ``score2`` ``other``.

    Raises:
        InputError: A file is missing, a line has no id, counts of answers and scores differ, a score is
            no number.
    """
    data = _data_folder(folder)
    questions = _by_id(data / "raw" / "questions")
    references = _by_id(data / "raw" / "answers")
    rows: list[Row] = []
    for identifier in _identifiers(data):
        if identifier not in questions:
            raise input_error(data / "raw" / "questions", "no line for this question", field=identifier)
        reference = references.get(identifier, "")
        known = [reference] if reference else []
        rows += _question_rows(data, identifier, questions[identifier], known, gold)
    return frame_of(rows)


def _data_folder(folder: Path) -> Path:
    for candidate in (folder, folder / "data", *sorted(folder.glob("*/data"))):
        if (candidate / "raw" / "questions").is_file():
            return candidate
    raise input_error(folder, "no data/raw/questions here; give the folder that holds data")


def clean(text: str) -> str:
    r"""``text`` without HTML: breaks become line feeds, known tags go, entities are resolved.

    >>> clean("Use <b>cin</b>.<br>#include &lt;iostream&gt; or <iostream>")
    'Use cin.\n#include <iostream> or <iostream>'
    """
    plain = html.unescape(_TAG.sub("", _BREAK.sub("\n", text))).replace("\u00a0", " ")
    lines = [" ".join(line.split()) for line in plain.split("\n")]
    return "\n".join(line for line in lines if line)


def _numbered(path: Path) -> list[tuple[str, str]]:
    """(id, text) of every line that starts with an id; a line without one continues the line above."""
    result: list[tuple[str, str]] = []
    for place, line in enumerate(read_text(path).split("\n"), start=1):
        match = _LINE.match(line.rstrip("\r"))
        if match:
            result.append((match.group(1), match.group(2) or ""))
        elif line.strip() and not result:
            raise input_error(path, f"{line.strip()[:40]!r} has no id such as 1.1", line=place)
        elif line.strip():
            result[-1] = (result[-1][0], f"{result[-1][1]}\n{line}")
    return result


def _by_id(path: Path) -> dict[str, str]:
    return {identifier: clean(text) for identifier, text in _numbered(path)}


def _identifiers(data: Path) -> list[str]:
    """The question ids in use, in the order of exams and questions."""
    listing = data / "docs" / "files"
    if listing.is_file():
        lines = (line.strip() for line in read_text(listing).split("\n"))
        return [line for line in lines if re.fullmatch(r"\d+\.\d+", line)]
    names = [file.name for file in (data / "raw").iterdir() if re.fullmatch(r"\d+\.\d+", file.name)]
    return sorted(names, key=lambda name: tuple(int(part) for part in name.split(".")))


def _scores(path: Path) -> list[float]:
    lines = enumerate(read_text(path).split("\n"), start=1)
    return [number(text, path, path.name, line=place) for place, text in lines if text.strip()]


def _question_rows(
    data: Path, identifier: str, question: str, references: list[str], gold: Literal["average", "first"]
) -> list[Row]:
    file = data / "raw" / identifier
    answers = _numbered(file)
    for position, (found, _) in enumerate(answers):
        if found != identifier:
            raise input_error(file, f"id {found!r}; allowed is {identifier!r}", row=position, field="id")
    scores = {name: _scores(data / "scores" / identifier / name) for name in ("me", "other", "ave")}
    for name, values in scores.items():
        if len(values) != len(answers):
            place = data / "scores" / identifier / name
            raise input_error(place, f"{len(values)} scores for {len(answers)} answers; one a line is needed")
    exam = int(identifier.partition(".")[0]) in (11, 12)
    factor = _average_factor(scores) if exam else 1.0
    return [
        Row(
            dataset="mohler",
            split="none",
            question_id=identifier,
            question=question,
            reference_answers=references,
            answer_id=f"{identifier}/{position}",
            answer=clean(text),
            score=average * factor if gold == "average" else me,
            max_score=10.0 if exam else 5.0,
            score2=None if gold == "average" else other,
            extra={"me": me, "other": other, "ave": average, "ave_factor": factor},
        )
        for position, ((_, text), me, other, average) in enumerate(
            zip(answers, scores["me"], scores["other"], scores["ave"], strict=True)
        )
    ]


def _average_factor(scores: dict[str, list[float]]) -> float:
    """2 where the averages are nearer to half the raters' mean than to the mean itself, else 1."""
    means = [(me + other) / 2 for me, other in zip(scores["me"], scores["other"], strict=True)]
    whole = sum(abs(mean - average) for mean, average in zip(means, scores["ave"], strict=True))
    half = sum(abs(mean - 2 * average) for mean, average in zip(means, scores["ave"], strict=True))
    return 2.0 if half < whole else 1.0
