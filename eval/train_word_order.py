"""Learns the counts of `grader.fluency`: which class of word follows which.

    python -m eval.train_word_order [--data DIR]

From the statements of the public training splits, a sample of general English pairs and the statements of the
rubrics; a minute on one core. Prints which share of held-out answers and of their words in random order the shipped
cut calls out of order.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from eval.datasets import load_available
from grader import Bank, load_bank
from grader.fluency import ENOUGH_WORDS, WordOrder, out_of_order
from grader.segment import statements
from grader.text import normalise, tokenise

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "grader" / "models" / "word_order.json"
VERSION = "1"
SETS = ("scientsbank", "beetle", "saf_en_v2", "hbrs_nn")
GENERAL = ("cad_nli", "mnli", "snli")
GENERAL_ROWS = 4000
SEED = 20261130


def main() -> None:
    """Reads the data, learns, writes and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the data sets")
    arguments = parser.parse_args()
    frames = load_available(arguments.data, SETS).frames
    answers = pd.concat([frames[name] for name in SETS if name in frames])
    trained = answers[answers["split"] == "train"]
    texts = [
        *_cut(trained["answer"]),
        *_general(arguments.data / "nli"),
        *_rubrics(load_bank()),
    ]
    counts = WordOrder.learn(texts, version=VERSION)
    TARGET.write_text(counts.to_json(), "utf-8")
    print(f"{len(texts)} statements, {len(counts.counts)} counts, {TARGET.stat().st_size // 1000} kB")
    right = answers[(answers["split"] != "train") & (answers["score"] >= 0.8 * answers["max_score"])]
    authored = pd.read_csv(ROOT / "eval" / "data" / "authored_answers.csv")
    report("right answers of the test splits", list(_cut(right["answer"])), counts)
    report("authored answers", list(_cut(authored.loc[authored["score"] >= 1, "answer"])), counts)


def report(name: str, texts: list[str], counts: WordOrder) -> None:
    """Prints quantiles of the gain for texts as written and shuffled, and the shares called out of order."""
    rng = np.random.default_rng(SEED)
    long = [text for text in texts if len(tokenise(text)) >= ENOUGH_WORDS]
    shuffled = [" ".join(rng.permutation(text.split())) for text in long]
    for kind, chosen in (("as written", long), ("shuffled", shuffled)):
        quantiles = np.quantile([counts.gain(text) for text in chosen], [0.01, 0.1, 0.5, 0.9]).round(2).tolist()
        share = np.mean([out_of_order(text, counts) for text in chosen])
        print(f"{name}, {kind}: n {len(chosen)}, 1/10/50/90 % of the gain {quantiles}, out of order {share:.3f}")


def _cut(answers: pd.Series) -> Iterator[str]:
    for answer in answers.astype(str):
        yield from (part.text for part in statements(normalise(answer)) if not part.is_code)


def _general(folder: Path) -> Iterator[str]:
    for name in GENERAL:
        if (folder / f"{name}.parquet").is_file():
            frame = pd.read_parquet(folder / f"{name}.parquet")
            chosen = frame.sample(min(GENERAL_ROWS, len(frame)), random_state=SEED)
            for column in ("premise", "hypothesis"):
                yield from chosen[column].dropna().astype(str)


def _rubrics(bank: Bank) -> Iterator[str]:
    for item in bank.values():
        yield from _cut(pd.Series([item.reference_answer]))
        for component in item.components.values():
            for element in component.elements:
                yield from element.key_statements
        for misconception in item.misconceptions:
            yield from misconception.statements


if __name__ == "__main__":
    main()
