"""Hand-written triples: a right statement, the same in other words, and a wrong statement about the same point.

`TRIPLES` has one a row: ``item`` (empty for other subjects), ``component``, ``element`` (or the subject), ``kind`` of
the difference, ``right``, ``other_words``, ``wrong``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.contradiction_data import NEUTRAL, NOT_ENTAILED, ONLY_CONTRADICTS, ONLY_ENTAILS, Pair, in_test_tenth
from eval.contradiction_graded import HELD_OUT_ITEMS
from grader.encoder import Encoder
from grader.evidence.crossencoder import ENTAILS, PARTLY
from grader.rubric import Item

TRIPLES = Path(__file__).resolve().parent / "data" / "triples.csv"
_NOT_FAR = frozenset({ENTAILS, PARTLY})
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
    pairs = []
    for text in true:
        if believed:
            pairs.append(Pair(text, _nearest(text, believed, vectors)[0], NOT_ENTAILED, "triple:not-believed"))
        key, cosine = _nearest(text, keys, vectors)
        pairs.append(Pair(text, key, _NOT_FAR if cosine >= _SAME_POINT else _NOT_FAR | NEUTRAL, "triple:key"))
    pairs += [Pair(text, _nearest(text, keys, vectors)[0], NOT_ENTAILED, "triple:not-key") for text in false]
    return pairs


def _nearest(text: str, others: Sequence[str], vectors: Mapping[str, NDArray[np.float32]]) -> tuple[str, float]:
    """What of ``others`` is nearest to ``text``, with the cosine."""
    values = np.stack([vectors[other] for other in others]) @ vectors[text]
    return others[int(values.argmax())], float(values.max())
