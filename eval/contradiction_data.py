"""Sentence pairs for the contradiction model, each with the set of classes that its label allows.

A label that leaves something open is not forced into one class: a neutral pair may be *partly* or *unrelated*, a
pair that is only known not to be entailed may be anything but *entails*.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from grader.evidence.crossencoder import CONTRADICTS, ENTAILS, PARTLY, UNRELATED

Allowed = frozenset[int]

ONLY_ENTAILS: Allowed = frozenset({ENTAILS})
ONLY_PARTLY: Allowed = frozenset({PARTLY})
ONLY_CONTRADICTS: Allowed = frozenset({CONTRADICTS})
ONLY_UNRELATED: Allowed = frozenset({UNRELATED})
NEUTRAL: Allowed = frozenset({PARTLY, UNRELATED})
NOT_ENTAILED: Allowed = frozenset({PARTLY, CONTRADICTS, UNRELATED})

GENERAL_LABELS: Mapping[str, Allowed] = {
    "entailment": ONLY_ENTAILS,
    "paraphrase": ONLY_ENTAILS,
    "contradiction": ONLY_CONTRADICTS,
    "neutral": NEUTRAL,
    "not_entailment": NOT_ENTAILED,
    "not_paraphrase": NOT_ENTAILED,
}
#: Rows a label at most that are taken of a general set; sets that are not named here are not used for training.
GENERAL_SHARES: Mapping[str, int] = {
    "cad_nli": 5000,
    "snli": 6000,
    "mnli": 5000,
    "cannot_components": 3500,
    "breaking_nli": 1500,
    "hans": 2000,
    "pawsx": 2500,
    "conjnli": 1500,
    "scitail": 1500,
    "med": 1200,
    "help_partial": 1000,
    "fever_symmetric": 700,
    "fm2": 700,
}
#: Sets of which no row is trained on.
GENERAL_TESTS = ("neg_nli_hossain",)


@dataclass(frozen=True, slots=True)
class Pair:
    """A premise (the candidate's words) and a hypothesis (what should be said).

    Attributes:
        premise: The candidate's words.
        hypothesis: The key statement.
        allowed: Classes that the label permits.
        source: Data set or edit rule.
    """

    premise: str
    hypothesis: str
    allowed: Allowed
    source: str


def in_test_tenth(text: str) -> bool:
    """Whether ``text`` falls in the tenth that is kept for testing, the same in every data set."""
    return hashlib.sha256(" ".join(text.casefold().split()).rstrip(" .").encode()).digest()[0] < 26


def general_pairs(folder: Path, *, test: bool = False, seed: int = 0) -> list[Pair]:
    """Pairs of the general sets under ``folder``: the training part, or the tenth kept for testing."""
    names = [*GENERAL_SHARES, *(GENERAL_TESTS if test else ())]
    return [pair for name in names for pair in _general_set(folder / f"{name}.parquet", name, test, seed)]


def _general_set(path: Path, name: str, test: bool, seed: int) -> list[Pair]:
    if not path.is_file():
        return []
    frame = pd.read_parquet(path, columns=["premise", "hypothesis", "label", "lang", "note"])
    frame = frame[(frame["lang"] == "en") & frame["label"].isin(list(GENERAL_LABELS))]
    if name == "mnli":
        frame = frame[frame["note"] == "gold"]
    frame = frame.dropna(subset=["premise", "hypothesis"])
    if name not in GENERAL_TESTS:
        frame = frame[[in_test_tenth(str(text)) == test for text in frame["premise"]]]
    cap = GENERAL_SHARES.get(name, 5000)
    frame = frame.sample(frac=1.0, random_state=seed)
    frame = frame.groupby("label", sort=True).head(min(cap, 600) if test else cap)
    return [
        Pair(str(row.premise), str(row.hypothesis), GENERAL_LABELS[str(row.label)], name) for row in frame.itertuples()
    ]


def allowed_matrix(pairs: Iterable[Pair]) -> NDArray[np.float32]:
    """One row a pair, one column a class, 1 where the label permits the class."""
    rows = [[float(c in pair.allowed) for c in range(4)] for pair in pairs]
    return np.array(rows, dtype=np.float32).reshape(-1, 4)
