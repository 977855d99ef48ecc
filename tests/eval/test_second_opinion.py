"""The contradiction model's opinion beside a committee's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from eval.boosting import fit_with_answers
from eval.cache import CachedEncoder, RowCache
from eval.feature_table import feature_table
from eval.second_opinion import second_opinion
from eval.systems import Systems
from grader.encoder import HashEncoder
from grader.evidence.crossencoder import CLASSES


class Fixed:
    """Always of the same opinion; notes what it was asked."""

    signature = "fixed@1"

    def __init__(self, entails: float, partly: float, contradicts: float, unrelated: float) -> None:
        self.row = np.array([entails, partly, contradicts, unrelated], dtype=np.float32)
        self.asked: list[tuple[str, str]] = []

    def predict(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        self.asked += pairs
        return np.tile(self.row, (len(pairs), 1)).reshape(-1, len(CLASSES))


def test_classes_become_estimates_of_what_is_learned() -> None:
    frame = pd.DataFrame({"answer": ["The lamp is lit."], "reference_answers": [["It rains.", "The lamp is on."]]})
    judge = Fixed(0.5, 0.2, 0.2, 0.1)
    found = second_opinion(judge)(frame, 5)
    assert judge.asked == [("The lamp is lit.", "The lamp is on.")]
    assert found[0] == pytest.approx([0.6, 0.5, 0.5, 0.2, 0.3], abs=1e-6)
    assert second_opinion(judge)(frame, 2).shape == (1, 2)


def test_it_counts_as_much_as_the_committee(frames: dict[str, pd.DataFrame]) -> None:
    frame = next(iter(frames.values()))

    def tables(some: pd.DataFrame):
        return feature_table(some, CachedEncoder(HashEncoder, "hash@1", None), RowCache(None))

    alone = fit_with_answers(tables)({"d": frame})(frame)
    both = fit_with_answers(tables, second=second_opinion(Fixed(1, 0, 0, 0)))({"d": frame})(frame)
    inside = (alone.score > 0) & (alone.score < 1)  # elsewhere the committee's estimate was clipped
    assert inside.any()
    assert both.score[inside] == pytest.approx((alone.score[inside] + 1) / 2, abs=1e-6)


def test_only_with_a_contradiction_model(systems: Systems) -> None:
    assert "all + contradiction model" not in systems.official()
    with_judge = Systems(systems.encoder, systems.cache, judge=Fixed(1, 0, 0, 0))
    assert "all + contradiction model" in with_judge.official()
