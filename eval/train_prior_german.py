"""Learns the curve of credits for German items: how much of a reference answer a response says, in its letters.

    python -m eval.train_prior_german [--data DIR]

The evidence is that of `grader.subword`, which knows no synonyms. Only how much of the reference a whole response says
is used: with two or three features r on unseen answers was lower (.59 and .585 against .60). Fitted by least squares to
the raters' scores of the training split of SAF German, every question with the same weight, and to as many answers of
the other questions, which earn nothing: without them a text about something else earned a quarter of the mark, because
most answers of the data set are right. Writes grader/models/prior_de.json.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize

from eval.datasets import load_available
from grader import Item
from grader.evidence.features import FEATURES, features
from grader.index import build_index
from grader.reading import counted_statements, read_response
from grader.subword import SubwordEncoder

USED = ("full_recall",)
STRETCH = 0.1
PENALTY = 5e-5
VERSION = "1"
TARGET = Path(__file__).resolve().parent.parent / "grader" / "models" / "prior_de.json"
#: What the references of SAF say about points: "(0.25 P)".
_POINTS = re.compile(r"\s*\((?:je )?\d[.,]\d+(?:\s*-\s*\d[.,]\d+)?\s*P\)")

Floats = NDArray[np.float64]


def evidence(frame: pd.DataFrame) -> Floats:
    """The features in use for each row of ``frame``, shape (n, len(USED)); zeros where nothing counts."""
    encoder = SubwordEncoder("de")
    columns = [list(FEATURES).index(name) for name in USED]
    table = np.zeros((len(frame), len(USED)))
    for _, rows in frame.groupby("question_id"):
        first = rows.iloc[0]
        references = [_POINTS.sub("", text) for text in first["reference_answers"]]
        index = build_index(Item.from_reference(first["question"], references, language="de"), encoder)
        for place, answer in zip(frame.index.get_indexer(rows.index), rows["answer"], strict=True):
            reading = read_response(str(answer), index)
            counted = counted_statements(reading)
            texts = [reading.statements[at].text for at in counted]
            if texts:
                found, _ = features(index, index.phrases(texts, encoder.encode(texts)), {})
                table[place] = found[:, columns].max(axis=0)
    return table


def with_strangers(frame: pd.DataFrame, share: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """``frame`` with answers of other questions added to each question, ``share`` as many as it has, with score 0."""
    added = []
    for question, rows in frame.groupby("question_id"):
        others = frame[frame["question_id"] != question].sample(round(share * len(rows)), random_state=seed)
        stranger = pd.concat([rows.iloc[:1]] * len(others), ignore_index=True)
        added.append(stranger.assign(answer=others["answer"].to_numpy(), score=0.0))
    return pd.concat([frame, *added], ignore_index=True)


def fit(table: Floats, scores: Floats, weights: Floats) -> tuple[Floats, float]:
    """Weights, none of them negative, and bias of the curve with the least squared error."""

    def loss(parameters: Floats) -> float:
        error = curve(table, parameters[:-1], parameters[-1]) - scores
        return float(np.average(error**2, weights=weights) + PENALTY * (parameters[:-1] ** 2).sum())

    bounds = [(0.0, None)] * len(USED) + [(None, None)]
    found = minimize(loss, np.append(np.ones(len(USED)), -1.0), bounds=bounds, method="L-BFGS-B").x
    return found[:-1], float(found[-1])


def curve(table: Floats, weights: Floats, bias: float) -> Floats:
    """Credits, 0 to 1, as `grader.scoring.Curve` computes them."""
    stretched = (1 + 2 * STRETCH) / (1 + np.exp(-(table @ weights + bias))) - STRETCH
    return np.asarray(np.clip(stretched, 0, 1), dtype=np.float64)


def main() -> None:
    """Fits the curve and writes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="Folder with the data sets.")
    frame = load_available(parser.parse_args().data, ["saf_de_v1"]).frames["saf_de_v1"]
    train = with_strangers(frame[frame["split"] == "train"])
    scores = (train["score"] / train["max_score"]).to_numpy(dtype=np.float64)
    shares = 1.0 / train.groupby("question_id")["score"].transform("count").to_numpy(dtype=np.float64)
    weights, bias = fit(evidence(train), scores, shares)
    named = dict.fromkeys(FEATURES, 0.0) | {n: round(float(w), 5) for n, w in zip(USED, weights, strict=True)}
    content = {"weights": named, "bias": round(bias, 5), "stretch": STRETCH}
    text = json.dumps({"version": f"de-{VERSION}", "rubric": content, "reference": content}, indent=1)
    TARGET.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
