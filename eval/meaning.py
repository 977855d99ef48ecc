"""Whether right is told from wrong: graded answers, edited right statements, hand-written contrasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.contradiction_data import general_pairs
from eval.contradiction_graded import HELD_OUT_ITEMS, flip_pairs, graded_frame, templated
from grader.evidence.crossencoder import CONTRADICTS, ENTAILS, PARTLY, UNRELATED
from grader.rubric import Item

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


def flips_table(judge: Judge, statements: Sequence[tuple[str, str]], *, held_out: bool = True) -> pd.DataFrame:
    """How edits of right statements are judged, a rule a row.

    Args:
        judge: What is measured.
        statements: Right statements with what they are right about, none of it trained on.
        held_out: Use the rules that training never uses.
    """
    pairs = flip_pairs(list(statements), 99, held_out=held_out, most=3)
    values = judge([(pair.premise, pair.hypothesis) for pair in pairs])
    frame = pd.DataFrame(
        {
            "rule": [pair.source.removeprefix("flip:") for pair in pairs],
            "wrong": [CONTRADICTS in pair.allowed for pair in pairs],
            "called wrong": values[:, CONTRADICTS] > DEFAULT_CUT,
            "called right": values[:, ENTAILS] > DEFAULT_CUT,
        }
    )
    grouped = frame.groupby(["wrong", "rule"], sort=True)
    return grouped.agg(pairs=("called wrong", "size"), **_shares()).reset_index()


def _shares() -> dict[str, tuple[str, str]]:
    return {"called wrong": ("called wrong", "mean"), "called right": ("called right", "mean")}


def made_table(judge: Judge, count: int = 1500) -> pd.DataFrame:
    """How made statements in wordings that training never saw are judged, a family and verdict a row."""
    pairs = templated(count, 2026, held_out=True)
    values = judge([(pair.premise, pair.hypothesis) for pair in pairs])
    names = {ENTAILS: "right", CONTRADICTS: "wrong", PARTLY: "partly"}
    frame = pd.DataFrame(
        {
            "family": [pair.source.removeprefix("made:") for pair in pairs],
            "verdict": [names[min(pair.allowed)] for pair in pairs],
            "called wrong": values[:, CONTRADICTS] > DEFAULT_CUT,
            "called right": values[:, ENTAILS] > DEFAULT_CUT,
        }
    )
    frame = frame[frame["verdict"] != "partly"]
    return frame.groupby(["verdict", "family"]).agg(pairs=("called wrong", "size"), **_shares()).reset_index()


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


def general_table(judge: Judge, folder: Path) -> pd.DataFrame:
    """Share of held-out general pairs whose likeliest class the label permits, a data set a row."""
    pairs = general_pairs(folder / "nli", test=True)
    values = judge([(pair.premise, pair.hypothesis) for pair in pairs])
    allowed = [float(values[at, sorted(pair.allowed)].sum()) > DEFAULT_CUT for at, pair in enumerate(pairs)]
    frame = pd.DataFrame({"data set": [pair.source for pair in pairs], "right": allowed})
    return frame.groupby("data set").agg(pairs=("right", "size"), right=("right", "mean")).reset_index()


def untrained_statements(folder: Path, items: Sequence[Item]) -> list[tuple[str, str]]:
    """Right statements of unseen questions (SciEntsBank, Beetle) and of the items held out of training."""
    found: dict[str, str] = {}
    for name, split in (("scientsbank", "test_uq"), ("beetle", "test_uq"), ("scientsbank", "test_ud")):
        frame = graded_frame(folder, name, split)
        found.update({str(r): str(r) for rs in frame["reference_answers"] for r in rs if len(str(r).split()) <= 30})
    for item in items:
        if item.id in HELD_OUT_ITEMS:
            texts = [t for c in item.components.values() for e in c.elements for t in e.key_statements]
            found.update({text: text for text in texts if len(text.split()) <= 30})
    return sorted(found.items())
