"""Fits ``grader/models/falsehood.json``: when a statement is suspected to state the misconception it is most like.

    python -m eval.train_falsehood

Statements of the authored answers of the kinds *negated* and *misconception* are false, those of answers without an
error are right; *partly_wrong* answers are left out. The cut is chosen on answers to items that the function was not
fitted to.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from eval.cache import packaged_encoder, packaged_judge
from eval.viva import item_id
from grader import Bank, Grader, load_bank
from grader.evidence.falsehood import MEASURES, similarity_measures, with_answers
from grader.evidence.judge import Judge, worth_asking
from grader.reading import read_response

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "eval" / "data" / "authored_answers.csv"
VERSION = "1"
FALSE_KINDS = ("negated", "misconception")
#: Share of answers without an error that may be referred.
MOST_REFERRED = 0.1
#: Strength of the penalty on large weights (the smaller the stronger).
PENALTY = 0.3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements that are worth asking about.

    Attributes:
        table: Their measures, shape (n, len(MEASURES)).
        answer: Row of the answer each stands in.
        item: Item of each.
        label: 1 false, 0 right, -1 unknown.
        erring: Of each answer whether it has an error.
    """

    table: Floats
    answer: NDArray[np.int64]
    item: NDArray[np.str_]
    label: NDArray[np.int64]
    erring: NDArray[np.bool_]


def collect(frame: pd.DataFrame, bank: Bank, grader: Grader, judge: Judge) -> Statements:
    """The statements of ``frame`` (columns question_id, answer, kind, has_error) to items of ``bank``."""
    frame = frame[[item_id(name) in bank for name in frame["question_id"]]].reset_index(drop=True)
    similar, places, items, pairs = [], [], [], []
    for row, (question, answer) in enumerate(zip(frame["question_id"], frame["answer"], strict=True)):
        index = grader.index(bank[item_id(question)])
        reading = read_response(str(answer), index)
        texts = [reading.statements[at].text for at in reading.chosen("claim")]
        if not texts or index.misconceptions is None:
            continue
        phrases = index.phrases(texts, grader.encoder.encode(texts))
        measures, rows = similarity_measures(index.keys.align(phrases), index.misconceptions.align(phrases))
        for text, values, at in zip(texts, measures, rows, strict=True):
            known = index.misconceptions.phrases[int(at)].text
            if worth_asking(values[0], values[1], text, known):
                similar.append(values)
                places.append(row)
                items.append(index.item.id)
                pairs.append((text, known))
    erring = frame["has_error"].astype(float).to_numpy() >= 0.5
    false = frame["kind"].isin(FALSE_KINDS).to_numpy()
    label = np.where(false, 1, np.where(erring, -1, 0))
    table = with_answers(np.array(similar), judge.predict(pairs))
    return Statements(table, np.array(places), np.array(items), label[places], erring)


def fit(table: Floats, label: NDArray[np.int64]) -> tuple[Floats, float]:
    """Weights and bias of a logistic function of the measures, with a penalty on standardised weights."""
    known = label >= 0
    mean, spread = table[known].mean(axis=0), table[known].std(axis=0) + 1e-9
    model = LogisticRegression(C=PENALTY, max_iter=1000).fit((table[known] - mean) / spread, label[known])
    weights = model.coef_[0] / spread
    return weights, float(model.intercept_[0] - weights @ mean)


def left_out(data: Statements) -> Floats:
    """Probability of each statement from a function fitted to the other items."""
    found = np.zeros(len(data.table))
    for name in np.unique(data.item):
        own = data.item == name
        weights, bias = fit(data.table[~own], data.label[~own])
        found[own] = 1.0 / (1.0 + np.exp(-(data.table[own] @ weights + bias)))
    return found


def highest(data: Statements, probability: Floats) -> Floats:
    """The highest probability of each answer, 0 where no statement was worth asking about."""
    found = np.zeros(len(data.erring))
    np.maximum.at(found, data.answer, probability)
    return found


def cut(erring: NDArray[np.bool_], probability: Floats) -> float:
    """The lowest cut that refers no more answers without an error than allowed."""
    grid = np.round(np.arange(0.2, 0.96, 0.01), 2)
    return float(min(at for at in grid if (probability >= at)[~erring].mean() <= MOST_REFERRED))


def _f1(truth: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    return 2.0 * float((truth & found).sum()) / max(1.0, float(truth.sum() + found.sum()))


def main() -> None:
    """Fits, prints how well it does on left-out items, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "grader" / "models" / "falsehood.json")
    options = parser.parse_args()
    encoder = packaged_encoder(ROOT / ".cache")
    data = collect(pd.read_csv(ANSWERS, dtype={"answer": str}), load_bank(), Grader(encoder), packaged_judge())
    encoder.flush()
    probability = highest(data, left_out(data))
    suspected = cut(data.erring, probability)
    found = probability >= suspected
    print(
        f"from {suspected:.2f}: F1 {_f1(data.erring, found):.3f}, found {found[data.erring].mean():.3f}, "
        f"of answers without an error {found[~data.erring].mean():.3f}"
    )
    weights, bias = fit(data.table, data.label)
    content = {
        "version": VERSION,
        "weights": dict(zip(MEASURES, np.round(weights, 5).tolist(), strict=True)),
        "bias": round(bias, 5),
        "suspected": suspected,
    }
    options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
