"""Whether right is told from wrong: graded answers, edited right statements, hand-written contrasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.contradiction_graded import graded_frame
from grader.evidence.crossencoder import CONTRADICTS, ENTAILS, PARTLY, UNRELATED

Floats = NDArray[np.float32]
#: What is measured: pairs (candidate's statement, key statement) to probabilities of the four classes.
Judge = Callable[[Sequence[tuple[str, str]]], Floats]

SPLITS = (
    ("scientsbank", "test_ua"), ("scientsbank", "test_uq"), ("scientsbank", "test_ud"),
    ("beetle", "test_ua"), ("beetle", "test_uq"),
)  # fmt: skip
THREE_WAY = ("correct", "contradictory", "incorrect")
CONTRASTS = Path(__file__).resolve().parent / "data" / "contrasts.csv"
#: A statement is taken to contradict above this probability, unless a table says otherwise.
DEFAULT_CUT = 0.5


def three_way(values: Floats) -> list[str]:
    """The likeliest of correct, contradictory and incorrect (partly said or unrelated) for each row."""
    table = np.stack([values[:, ENTAILS], values[:, CONTRADICTS], values[:, PARTLY] + values[:, UNRELATED]], axis=1)
    return [THREE_WAY[int(at)] for at in table.argmax(axis=1)]


def macro_f1(truth: Sequence[str], found: Sequence[str], labels: Sequence[str]) -> tuple[float, dict[str, float]]:
    """Mean F1 over ``labels``, and the F1 of each."""
    each = {}
    for label in labels:
        hits = sum(a == b == label for a, b in zip(truth, found, strict=True))
        each[label] = 2 * hits / max(1, list(truth).count(label) + list(found).count(label))
    return float(np.mean(list(each.values()))), each


def auc(positive: Floats, negative: Floats) -> float:
    """Chance that a random positive is above a random negative (ties count half); nan if one is empty."""
    if not len(positive) or not len(negative):
        return float("nan")
    ranks = pd.Series(np.concatenate([positive, negative])).rank().to_numpy()[: len(positive)]
    return float((ranks.sum() - len(positive) * (len(positive) + 1) / 2) / (len(positive) * len(negative)))


def graded_table(judge: Judge, folder: Path, splits: Sequence[tuple[str, str]] = SPLITS) -> pd.DataFrame:
    """3-way and 2-way macro-F1, F1 of *contradictory*, and AUC of correct against contradictory, a split a row."""
    rows = []
    for name, split in splits:
        frame = graded_frame(folder, name, split)
        truth = [_label3(str(extra), label) for extra, label in zip(frame["extra"], frame["label"], strict=True)]
        values = judge(list(zip(frame["answer"].astype(str), frame["reference"].astype(str), strict=True)))
        found = three_way(values)
        mean, each = macro_f1(truth, found, THREE_WAY)
        right = np.array(truth) == "correct"
        against = np.array(truth) == "contradictory"
        two = macro_f1([str(t == "correct") for t in truth], [str(f == "correct") for f in found], ("True", "False"))
        score = values[:, CONTRADICTS] - values[:, ENTAILS]
        rows.append(
            {
                "data set": name,
                "split": split,
                "answers": len(frame),
                "macro-F1 3-way": mean,
                "F1 contradictory": each["contradictory"],
                "macro-F1 2-way": two[0],
                "AUC": auc(score[against], score[right]),
            }
        )
    return pd.DataFrame(rows)


def _label3(extra: str, label: object) -> str:
    import json

    known = json.loads(extra).get("label3") if extra.startswith("{") else None
    return str(known or {"correct": "correct", "contradictory": "contradictory"}.get(str(label), "incorrect"))


def contrast_table(judge: Judge, path: Path = CONTRASTS) -> pd.DataFrame:
    """How the hand-written contrasts are judged, a kind a row: wrong ones caught, right ones wrongly caught."""
    frame = pd.read_csv(path)
    values = judge(list(zip(frame["response"], frame["key_statement"], strict=True)))
    frame["p"] = values[:, CONTRADICTS]
    frame["caught"] = frame["p"] > DEFAULT_CUT
    frame["ranked"] = _wrong_above_right(frame)
    rows = []
    for kind, part in [*frame.groupby("kind"), ("all", frame)]:
        wrong, right = part[part["wrong"] == 1], part[part["wrong"] == 0]
        rows.append(
            {
                "kind": kind,
                "pairs": len(part),
                "wrong caught": wrong["caught"].mean(),
                "right caught": right["caught"].mean(),
                "wrong above right": wrong["ranked"].mean(),
                "AUC": auc(wrong["p"].to_numpy(), right["p"].to_numpy()),
            }
        )
    return pd.DataFrame(rows)


def _wrong_above_right(frame: pd.DataFrame) -> pd.Series:
    """For each wrong response whether its P(contradicts) is above that of the right one to the same statement."""
    right = frame[frame["wrong"] == 0].groupby("key_statement")["p"].max()
    return frame["p"] > frame["key_statement"].map(right).fillna(1.0)
