"""Hand-written triples: a right statement, the same in other words, and a wrong statement about the same point.

`TRIPLES` has one a row: ``item`` (empty for other subjects), ``component``, ``element`` (or the subject), ``kind`` of
the difference, ``right``, ``other_words``, ``wrong``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from eval.contradiction_data import NEUTRAL, NOT_ENTAILED, ONLY_CONTRADICTS, ONLY_ENTAILS, Pair, in_test_tenth
from eval.contradiction_graded import HELD_OUT_ITEMS, NOT_FAR, nearest
from grader.encoder import Encoder
from grader.rubric import Item

TRIPLES = Path(__file__).resolve().parent / "data" / "triples.csv"
#: From this cosine on the nearest key statement is about the same point.
_SAME_POINT = 0.6


def read_triples(path: Path = TRIPLES, *, held_out: bool = False) -> pd.DataFrame:
    """The triples that are trained on, or those kept for testing: all of the held-out items and of the statistics
    items, and a tenth of the other subjects."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame[_kept_for_testing(frame) == held_out].reset_index(drop=True)


def _kept_for_testing(frame: pd.DataFrame) -> pd.Series:
    items = frame["item"].isin(HELD_OUT_ITEMS) | (frame["pack"] == "statistics")
    return items | ((frame["item"] == "") & frame["right"].map(in_test_tenth))


def triple_pairs(frame: pd.DataFrame, items: Mapping[str, Item], encoder: Encoder) -> list[Pair]:
    """Every statement of a triple against the others, and against what the rubric says nearest to it."""
    pairs: list[Pair] = []
    for row in frame.itertuples():
        right, same, wrong = str(row.right), str(row.other_words), str(row.wrong)
        pairs += [Pair(same, right, ONLY_ENTAILS, "triple:same"), Pair(right, same, ONLY_ENTAILS, "triple:same")]
        for true in (right, same):
            pairs.append(Pair(wrong, true, ONLY_CONTRADICTS, "triple:wrong"))
            pairs.append(Pair(true, wrong, ONLY_CONTRADICTS, "triple:wrong"))
    for name, rows in frame.groupby("item"):
        if name in items:
            pairs += _rubric_side(rows, items[str(name)], encoder)
    return pairs


def _rubric_side(rows: pd.DataFrame, item: Item, encoder: Encoder) -> list[Pair]:
    keys = [text for c in item.components.values() for e in c.elements for text in e.key_statements]
    believed = [text for known in item.misconceptions for text in known.statements]
    true, false = [*rows["right"], *rows["other_words"]], [*rows["wrong"]]
    texts = list(dict.fromkeys([*keys, *believed, *true, *false]))
    vectors = {text: e.pooled for text, e in zip(texts, encoder.encode(texts), strict=True)}
    believed_by, said_by = dict(nearest(true, believed, vectors, 1)), dict(nearest([*true, *false], keys, vectors, 1))
    pairs = []
    for text in true:
        if text in believed_by:
            pairs.append(Pair(text, believed_by[text], NOT_ENTAILED, "triple:not-believed"))
        same_point = float(vectors[said_by[text]] @ vectors[text]) >= _SAME_POINT
        pairs.append(Pair(text, said_by[text], NOT_FAR if same_point else NOT_FAR | NEUTRAL, "triple:key"))
    return pairs + [Pair(text, said_by[text], NOT_ENTAILED, "triple:not-key") for text in false]
