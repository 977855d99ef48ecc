"""What the contradiction model makes of answers to plain references, as estimates that others can be averaged with."""

from __future__ import annotations

import numpy as np
import pandas as pd

from eval.boosting import Floats, Opinion
from eval.contradiction_graded import closest
from grader.evidence.crossencoder import CONTRADICTS, ENTAILS, PARTLY, UNRELATED
from grader.evidence.judge import Judge


def second_opinion(judge: Judge) -> Opinion:
    """Estimates of `eval.boosting.targets` by the model, each answer compared with the reference closest to it."""

    def estimates(frame: pd.DataFrame, count: int) -> Floats:
        pairs = [
            (str(answer), closest(str(answer), [str(text) for text in references]))
            for answer, references in zip(frame["answer"], frame["reference_answers"], strict=True)
        ]
        values = np.asarray(judge.predict(pairs), dtype=np.float64)
        right, against = values[:, ENTAILS], values[:, CONTRADICTS]
        neither = values[:, PARTLY] + values[:, UNRELATED]
        mark = right + values[:, PARTLY] / 2
        return np.column_stack([mark, right, right, against, neither])[:, :count]

    return estimates
