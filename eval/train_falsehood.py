"""Fits ``grader/models/falsehood.json``: when a statement is taken to be false.

    python -m eval.train_falsehood

The function of all measures is fitted to the triples of items that the contradiction model was not trained on, the
screen that decides what the model is asked about also to the authored answers. Of these, statements of the kinds
*negated* and *misconception* are false, those of answers without an error are right, those of *partly_wrong* answers
unknown. The cuts are chosen on authored answers without an error.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from eval.cache import packaged_encoder, packaged_judge
from eval.contradiction_triples import read_triples
from eval.viva import item_id
from grader import Bank, Grader, load_bank
from grader.evidence.falsehood import MEASURES, SIMILARITIES, similarity_measures, with_answers
from grader.evidence.judge import Judge
from grader.index import ItemIndex
from grader.reading import read_response

ROOT = Path(__file__).resolve().parent.parent
ANSWERS = ROOT / "eval" / "data" / "authored_answers.csv"
VERSION = "3"
FALSE_KINDS = ("negated", "misconception")
#: Shares of answers without an error that may be found false, and found false or referred.
MOST_FALSE, MOST_REFERRED = 0.05, 0.1
#: Statements an answer that the model is asked about, on average.
MOST_ASKED = 0.62
#: Strength of the penalty on large weights (the smaller the stronger).
PENALTY = 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Statements:
    """Statements with their measures.

    Attributes:
        table: Their measures, shape (n, len(MEASURES)).
        answer: Number of the answer each stands in.
        label: 1 false, 0 right, -1 unknown.
        erring: Of each answer whether it has an error.
    """

    table: Floats
    answer: NDArray[np.int64]
    label: NDArray[np.int64]
    erring: NDArray[np.bool_]


def of_answers(frame: pd.DataFrame, bank: Bank, grader: Grader, judge: Judge) -> Statements:
    """The statements of ``frame`` (columns question_id, answer, kind, has_error) to items of ``bank``."""
    frame = frame[[item_id(name) in bank for name in frame["question_id"]]].reset_index(drop=True)
    tables, places = [], []
    for row, (question, answer) in enumerate(zip(frame["question_id"], frame["answer"], strict=True)):
        index = grader.index(bank[item_id(question)])
        reading = read_response(str(answer), index)
        texts = [reading.statements[at].text for at in reading.chosen("claim")]
        if texts and index.misconceptions is not None:
            tables.append(_measured(index, texts, grader, judge))
            places += [row] * len(texts)
    erring = frame["has_error"].astype(float).to_numpy() >= 0.5
    false = frame["kind"].isin(FALSE_KINDS).to_numpy()
    label = np.where(false, 1, np.where(erring, -1, 0))
    return Statements(np.concatenate(tables), np.array(places), label[places], erring)


def of_triples(frame: pd.DataFrame, bank: Bank, grader: Grader, judge: Judge) -> Statements:
    """The statements of triples to items of ``bank``, each an answer of its own."""
    tables, labels = [], []
    for name, rows in frame[frame["item"].isin(list(bank))].groupby("item"):
        texts = [*rows["right"], *rows["other_words"], *rows["wrong"]]
        tables.append(_measured(grader.index(bank[str(name)]), texts, grader, judge))
        labels += [0] * (2 * len(rows)) + [1] * len(rows)
    label = np.array(labels)
    return Statements(np.concatenate(tables), np.arange(len(label)), label, label == 1)


def references(bank: Bank) -> pd.DataFrame:
    """The reference answers of ``bank`` and of its follow-up questions, as answers without an error."""
    texts = [
        (name, text)
        for name in bank
        for text in (bank[name].reference_answer, *(f.reference_answer for f in bank[name].follow_ups))
        if text
    ]
    frame = pd.DataFrame(texts, columns=["question_id", "answer"])
    return frame.assign(kind="full", has_error=0)


def _measured(index: ItemIndex, texts: Sequence[str], grader: Grader, judge: Judge) -> Floats:
    assert index.misconceptions is not None
    phrases = index.phrases(texts, grader.encoder.encode(texts))
    similar, _, right = similarity_measures(index.keys.align(phrases), index.misconceptions.align(phrases))
    answers = judge.predict([(text, index.keys.phrases[at].text) for text, at in zip(texts, right, strict=True)])
    return with_answers(similar, answers)


def fit(table: Floats, label: NDArray[np.int64]) -> tuple[Floats, float]:
    """Weights and bias of a logistic function of the measures, with a penalty on standardised weights."""
    known = label >= 0
    mean, spread = table[known].mean(axis=0), table[known].std(axis=0) + 1e-9
    model = LogisticRegression(C=PENALTY, max_iter=1000).fit((table[known] - mean) / spread, label[known])
    weights = model.coef_[0] / spread
    return weights, float(model.intercept_[0] - weights @ mean)


def probability(table: Floats, function: tuple[Floats, float]) -> Floats:
    """Values of a fitted function."""
    return np.asarray(1.0 / (1.0 + np.exp(-(table @ function[0] + function[1]))))


def highest(data: Statements, values: Floats) -> Floats:
    """The highest value of each answer, 0 where it has no statement."""
    found = np.zeros(len(data.erring))
    np.maximum.at(found, data.answer, values)
    return found


def cut(erring: NDArray[np.bool_], values: Floats, most: float) -> float:
    """The lowest cut that at most the share ``most`` of the answers without an error reach."""
    grid = np.round(np.arange(0.05, 0.995, 0.005), 3)
    return float(min(at for at in grid if (values >= at)[~erring].mean() <= most))


def asked_from(data: Statements, values: Floats) -> float:
    """The lowest cut of the screen with which no more statements an answer are asked about than allowed."""
    grid = np.round(np.arange(0.0, 0.995, 0.005), 3)
    return float(min(at for at in grid if (values >= at).sum() <= MOST_ASKED * len(data.erring)))


def _f1(truth: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    return 2.0 * float((truth & found).sum()) / max(1.0, float(truth.sum() + found.sum()))


def main() -> None:
    """Fits, prints how well it does on the authored answers, and writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "grader" / "models" / "falsehood.json")
    options = parser.parse_args()
    encoder, judge = packaged_encoder(ROOT / ".cache"), packaged_judge()
    bank, grader = load_bank(), Grader(encoder)
    authored = of_answers(pd.read_csv(ANSWERS, dtype={"answer": str}), bank, grader, judge)
    given = of_answers(references(bank), bank, grader, judge)
    triples = of_triples(read_triples(held_out=True), bank, grader, judge)
    encoder.flush()
    count = len(SIMILARITIES)
    table, label = np.concatenate([triples.table, authored.table]), np.concatenate([triples.label, authored.label])
    screen, judged = fit(table[:, :count], label), fit(triples.table, triples.label)
    asked = asked_from(authored, probability(authored.table[:, :count], screen))

    def falsest(data: Statements) -> Floats:
        screened = probability(data.table[:, :count], screen)
        return highest(data, np.where(screened >= asked, probability(data.table, judged), 0.0))

    found, right = falsest(authored), falsest(given)
    sure, suspected = (cut(authored.erring, found, most) for most in (MOST_FALSE, MOST_REFERRED))
    for name, at in (("sure", sure), ("suspected", suspected)):
        false = found >= at
        print(
            f"{name} from {at:.3f}: F1 {_f1(authored.erring, false):.3f}, found {false[authored.erring].mean():.3f}, "
            f"of answers without an error {false[~authored.erring].mean():.3f}, "
            f"of reference answers {(right >= at).mean():.3f}"
        )
    content = {
        "version": VERSION,
        "screen": _written(SIMILARITIES, screen),
        "asked": asked,
        "judged": _written(MEASURES, judged),
        "suspected": suspected,
        "sure": sure,
    }
    options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _written(names: Sequence[str], function: tuple[Floats, float]) -> dict[str, object]:
    weights, bias = function
    return {"weights": dict(zip(names, np.round(weights, 5).tolist(), strict=True)), "bias": round(bias, 5)}


if __name__ == "__main__":
    main()
