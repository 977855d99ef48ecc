"""Questions whose answers may be labelled: what the grader knows of each answer, and how labels are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.baselines import words
from eval.cache import SCORING, digest, source_hash
from eval.frames import items_of, split_rows
from eval.grading import GraderSystem, warm
from eval.protocols import training_rows
from grader import Item
from grader.reading import read_response
from grader.representation import Representation

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

#: Answers of a question kept for testing where a data set has no test split; half of them where there are few.
LEAST_TEST = 10


@dataclass(frozen=True, slots=True)
class Question:
    """All answers to one question, labelled or not.

    Attributes:
        frame: The answers.
        rows: What the grader knows of them before any label: marks and vectors.
        counts: Which words occur, shape (n, v).
        pool: Rows that labels are drawn from.
        test: Rows that are tested on, or ``None``: the last ten of each drawing of ``pool``.
    """

    frame: pd.DataFrame
    rows: Representation
    counts: Floats
    pool: Rows
    test: Rows | None

    def draw(self, seed: int) -> tuple[Rows, Rows]:
        """Labelled rows in the order in which they are used, and test rows."""
        order = self.pool[np.random.default_rng((seed, len(self.pool))).permutation(len(self.pool))]
        if self.test is not None:
            return order, self.test
        kept = min(LEAST_TEST, len(order) // 2)
        return order[:-kept], order[-kept:]

    def target(self, rows: Rows) -> Floats:
        """Marks of the rows on 0..1."""
        return self.frame["fraction"].to_numpy(np.float64)[rows]

    def correct(self, rows: Rows) -> Flags:
        """Two-way labels of the rows."""
        return self.frame["correct"].to_numpy(bool)[rows]

    @property
    def three_way(self) -> bool:
        """Whether every answer has a three-way label."""
        return bool(self.frame["label3"].notna().all())


def questions(frame: pd.DataFrame, system: GraderSystem, cache: Path | None = None) -> list[Question]:
    """The questions of a prepared frame that have answers to label and answers to test on.

    Answers that get no mark, because they are in another language, are left out: they go to a person in any case.

    Args:
        frame: Train and UA are used where there are such splits, else everything that is no test split.
        system: Gives the grader before any label.
        cache: Folder in which representations are kept.
    """
    train, test = split_rows(frame, "train"), split_rows(frame, "test_ua")
    both = pd.concat([train, test], ignore_index=True) if len(test) else training_rows(frame)
    items = items_of(both)
    found = []
    for name, places in sorted(both.groupby("question_id").indices.items()):
        rows = both.iloc[places]
        rows = rows[_marked(items[str(name)], rows["answer"], system)].reset_index(drop=True)
        is_test = (rows["split"] == "test_ua").to_numpy() if len(test) else np.zeros(len(rows), dtype=bool)
        pool = np.flatnonzero(~is_test)
        if len(pool) < 2 or (len(test) and not is_test.any()):
            continue
        held = np.flatnonzero(is_test) if len(test) else None
        known = represented(items[str(name)], list(rows["answer"]), system, cache)
        found.append(Question(rows, known, _counts(rows), pool, held))
    return found


def _marked(item: Item, texts: Iterable[str], system: GraderSystem) -> Flags:
    """Whether each text gets a mark."""
    index = system.grader.index(item)
    return np.array([read_response(text, index).gradable for text in texts], dtype=bool)


def represented(item: Item, texts: Sequence[str], system: GraderSystem, cache: Path | None) -> Representation:
    """What the grader knows of the texts; kept in ``cache``."""
    grader = system.grader
    key = digest([_scoring_hash(), system.salt, grader.signature(item), item.content_hash, *texts])
    file = None if cache is None else cache / "representations" / f"{key}.npz"
    if file is not None and file.is_file():
        with np.load(file) as stored:
            return Representation(**{name: stored[name] for name in stored.files})
    warm(grader.encoder, [(item, text) for text in texts], grader.index)
    rows = grader.represent(item, texts)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = dict(rows.columns())
        np.savez_compressed(file.with_suffix(".part.npz"), **arrays)
        file.with_suffix(".part.npz").replace(file)
    return rows


@lru_cache(maxsize=1)
def _scoring_hash() -> str:
    return source_hash(*SCORING)


def _counts(rows: pd.DataFrame) -> Floats:
    """Words of the answers as 0 and 1, each answer of unit length, shape (n, v)."""
    listed = [set(words(str(text))) for text in rows["answer"]]
    vocabulary = {word: at for at, word in enumerate(sorted(set().union(*listed)))}
    table = np.zeros((len(listed), max(len(vocabulary), 1)))
    for row, found in enumerate(listed):
        table[row, [vocabulary[word] for word in found]] = 1.0
    return np.asarray(table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9))
