"""ASAP Short Answer Scoring (Kaggle 2012): tab-separated, ten prompts, two raters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from eval.datasets.files import read_text
from eval.datasets.schema import Row, frame_of, input_error, number

HEADER: tuple[str, ...] = ("Id", "EssaySet", "Score1", "Score2", "EssayText")
MAX_SCORE: Mapping[int, int] = {1: 3, 2: 3, 3: 2, 4: 2, 5: 3, 6: 3, 7: 2, 8: 2, 9: 2, 10: 2}


def read_asap_sas(path: Path, *, split: str = "train", prompts: Mapping[int, str] | None = None) -> pd.DataFrame:
    """The answers of ``train.tsv`` or ``train_rel_2.tsv``, in the common schema.

    ``score`` is Score1, the official one; ``score2`` is the second rater's, which only shows how well
    raters agree. The file holds neither prompts nor references: both stay empty unless given.

    Args:
        path: The tab-separated file; a text may or may not stand in double quotes.
        split: What to write into ``split``.
        prompts: Wording of the prompts by EssaySet (1 to 10).

    Raises:
        InputError: A column is missing, a line has too few fields, an EssaySet or score is not allowed.
    """
    # Only "\n" ends a line: answers contain characters that str.splitlines() breaks at.
    lines = [line.removesuffix("\r") for line in read_text(path).split("\n")]
    header = lines[0].split("\t")
    if tuple(name.strip() for name in header) != HEADER:
        raise input_error(path, f"columns {', '.join(header)}; needed are {', '.join(HEADER)}, tab-separated", line=1)
    rows = [
        _row(line, path, place, split, prompts or {}) for place, line in enumerate(lines[1:], start=2) if line.strip()
    ]
    return frame_of(rows)


def _row(text: str, path: Path, line: int, split: str, prompts: Mapping[int, str]) -> Row:
    fields = text.split("\t", len(HEADER) - 1)
    if len(fields) < len(HEADER):
        raise input_error(path, f"{len(fields)} fields; needed are {', '.join(HEADER)}", line=line)
    identifier, essay_set, score1, score2, answer = fields
    if not essay_set.strip().isdecimal() or int(essay_set) not in MAX_SCORE:
        raise input_error(path, f"{essay_set!r} is not allowed; 1 to 10", line=line, field="EssaySet")
    which = int(essay_set)
    return Row(
        dataset="asap_sas",
        split=split,
        question_id=str(which),
        question=prompts.get(which, ""),
        reference_answers=[],
        answer_id=identifier.strip(),
        answer=_unquoted(answer).strip(),
        score=number(score1, path, "Score1", line=line),
        max_score=float(MAX_SCORE[which]),
        score2=number(score2, path, "Score2", line=line) if score2.strip() else None,
    )


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('""', '"')
    return text
