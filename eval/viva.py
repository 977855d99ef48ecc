"""How well marks of authored viva answers agree with their raters, beside the trivial baselines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from eval.datasets import read_viva
from grader import Bank, Grader
from grader.agreement import f1, pearson, qwk, rmse, round_to_scale
from grader.encoder import Encoder
from grader.score import Score

COMPONENTS = ("definition", "reason", "example_or_pitfall")
#: Kinds whose content is false: what the contradiction check is for.
FALSE_KINDS = ("negated", "misconception", "partly_wrong")
EMPTY_KINDS = ("echo", "stuffing", "stuffing_or_echo", "off_topic_or_gibberish")


@dataclass(frozen=True)
class VivaResult:
    """Marks of one file of viva answers beside its raters' marks."""

    frame: pd.DataFrame
    baselines: Mapping[str, np.ndarray]

    def figures(self, rows: pd.Series | None = None) -> dict[str, float]:
        """r, QWK on half points, RMSE and component macro-F1 on the chosen rows."""
        frame = self.frame if rows is None else self.frame[rows]
        human, machine = frame["human"].to_numpy(float), frame["machine"].to_numpy(float)
        marks = round_to_scale(machine, scale_max=5, step=0.5)
        figures = {
            "rows": float(len(frame)),
            "r": pearson(human, machine),
            "qwk": qwk(human, marks, scale_max=5, step=0.5),
            "rmse": rmse(human, machine),
        }
        for name in COMPONENTS:
            present = [str(int(v >= 0.5)) for v in frame[name]]
            found = [str(int(v >= 0.5)) for v in frame[f"machine_{name}"]]
            figures[f"f1_{name}"] = f1(present, found, ("0", "1"))
        figures["f1_components"] = float(np.mean([figures[f"f1_{name}"] for name in COMPONENTS]))
        errors = [str(int(v)) for v in frame["has_error"]]
        hits = [str(int(v)) for v in frame["machine_error"]]
        tp = sum(a == b == "1" for a, b in zip(errors, hits, strict=True))
        figures["f1_has_error"] = 2 * tp / max(errors.count("1") + hits.count("1"), 1)
        return figures

    def without_false(self) -> pd.Series:
        """Rows whose content is not false."""
        return ~self.frame["kind"].isin(FALSE_KINDS)

    def by_kind(self) -> pd.DataFrame:
        """Rows, mean human and mean machine mark of each kind."""
        grouped = self.frame.groupby("kind")
        return pd.DataFrame(
            {"rows": grouped.size(), "human": grouped["human"].mean(), "machine": grouped["machine"].mean()}
        )

    def by_item(self) -> pd.DataFrame:
        """Rows and r of each item."""
        return pd.DataFrame(
            {
                name: {"rows": len(rows), "r": pearson(rows["human"], rows["machine"])}
                for name, rows in self.frame.groupby("question_id")
            }
        ).T


def item_id(question: object) -> str:
    """Id in the bank of a question of the viva files (those of the second seed carry the prefix ``s2-``)."""
    name = str(question)
    return "overfitting-pytorch" if name == "s2-overfitting" else name.removeprefix("s2-")


def run_viva(path: Path, bank: Bank, grader: Grader, *, transform: Callable[[str], str] = str) -> VivaResult:
    """Grades the rows of a viva file whose items exist in ``bank``."""
    frame = read_viva(path)
    frame = frame[[item_id(name) in bank for name in frame["question_id"]]].reset_index(drop=True)
    scores: dict[int, Score] = {}
    for question, rows in frame.groupby("question_id"):
        item = bank[item_id(question)]
        graded = grader.grade_many(item, [transform(text) for text in rows["answer"]])
        scores.update(zip(rows.index, graded, strict=True))
    ordered = [scores[i] for i in frame.index]
    frame["human"] = frame["score"].astype(float)
    frame["machine"] = [0.0 if score.score is None else score.score for score in ordered]
    frame["machine_code"] = [score.condition_code for score in ordered]
    frame["machine_error"] = [bool(score.errors) for score in ordered]
    for name in COMPONENTS:
        frame[name] = frame[name].astype(float)
        credits = [[c.credit for c in score.components if c.name == name] for score in ordered]
        frame[f"machine_{name}"] = [found[0] if found else 0.0 for found in credits]
    return VivaResult(frame, _baselines(frame, bank, grader.encoder))


def _baselines(frame: pd.DataFrame, bank: Bank, encoder: Encoder) -> dict[str, np.ndarray]:
    answers = list(frame["answer"])
    references = [bank[item_id(name)].reference_answer for name in frame["question_id"]]
    pairs = zip(encoder.encode(answers), encoder.encode(references), strict=True)
    return {
        "constant": np.full(len(frame), frame["human"].mean()),
        "question mean": frame.groupby("question_id")["human"].transform("mean").to_numpy(float),
        "length": np.array([len(text.split()) for text in answers], dtype=float),
        "cosine to the reference answer": np.array([float(a.pooled @ b.pooled) for a, b in pairs]),
    }


def render(result: VivaResult) -> str:
    """The tables of a viva run as text."""
    lines = []
    for title, rows in (("all rows", None), ("without false kinds", result.without_false())):
        figures = result.figures(rows)
        lines.append(f"{title}: " + "  ".join(f"{name} {value:.3f}" for name, value in figures.items()))
    human = result.frame["human"].to_numpy(float)
    lines.append("baselines (r, all rows): ")
    lines += [f"  {name}: {pearson(human, values):.3f}" for name, values in result.baselines.items()]
    lines.append(result.by_kind().round(2).to_string())
    lines.append(result.by_item().round(2).to_string())
    return "\n".join(lines)
