"""Figures on authored viva answers with intervals, beside baselines and the second rater."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.measures import Estimate
from eval.results import plain_estimates
from eval.viva import COMPONENTS, VivaResult, run_viva
from grader import Bank, Grader
from grader.agreement import pearson, qwk_continuous, rmse, round_to_scale
from grader.intervals import Metric, bootstrap_intervals

Floats = npt.NDArray[np.float64]
SCALE, STEP = 5.0, 0.5


def viva_results(path: Path, bank: Bank, grader: Grader, *, n_boot: int = 1000, seed: int = 0) -> dict[str, Any]:
    """The viva part of the results: all rows, rows without false kinds, and means by kind.

    Args:
        path: A file of viva answers.
        bank: The items; answers to others are left out.
        grader: The grader.
        n_boot: Resamples.
        seed: Of the resamples.
    """
    result = run_viva(path, bank, grader)
    if result.frame.empty:
        return {}
    everything = pd.Series(True, index=result.frame.index)
    parts = {"all rows": everything, "without false kinds": result.without_false()}
    found: dict[str, Any] = {name: _part(result, rows, n_boot, seed) for name, rows in parts.items() if rows.any()}
    found["by kind"] = {
        "rows": [
            {
                "kind": str(kind),
                "n": len(rows),
                "human": round(float(rows["human"].mean()), 4),
                "machine": round(float(rows["machine"].mean()), 4),
            }
            for kind, rows in result.frame.groupby("kind")
        ]
    }
    return found


def _part(result: VivaResult, rows: pd.Series, n_boot: int, seed: int) -> dict[str, Any]:
    frame = result.frame[rows].reset_index(drop=True)
    human, codes = frame["human"].to_numpy(float), pd.factorize(frame["question_id"], sort=True)[0]

    def estimates(metrics: dict[str, Metric], *arrays: npt.NDArray[np.generic]) -> dict[str, Any]:
        found = bootstrap_intervals(metrics, *arrays, groups=codes, n_boot=n_boot, seed=seed)
        return plain_estimates({name: Estimate(e.value, e.low, e.high) for name, e in found.items()})

    present = frame[list(COMPONENTS)].to_numpy(float) >= 0.5
    ours = frame[[f"machine_{name}" for name in COMPONENTS]].to_numpy(float) >= 0.5
    wrong = frame[["has_error", "machine_error"]].to_numpy(float) >= 0.5
    own = estimates(_marks(), human, frame["machine"].to_numpy(float))
    own |= estimates({"f1_components": component_f1}, present, ours)
    if wrong[:, 0].any():
        own |= estimates({"f1_has_error": hit_f1}, wrong[:, 0], wrong[:, 1])
    systems = {"uncalibrated": own}
    if "score_2" in frame and frame["score_2"].notna().all():
        systems["second rater"] = estimates(_marks(), human, frame["score_2"].to_numpy(float))
    for name, values in result.baselines.items():
        metrics: dict[str, Metric] = _marks() if name in ("constant", "question mean") else {"r": pearson}
        systems[name] = estimates(metrics, human, np.asarray(values, dtype=float)[rows.to_numpy()])
    return {"n": len(frame), "questions": int(codes.max()) + 1, "measures": own, "systems": systems}


def _marks() -> dict[str, Metric]:
    return {"r": pearson, "qwk": _qwk, "rmse": rmse}


def _qwk(human: Floats, machine: Floats) -> float:
    return qwk_continuous(*(round_to_scale(x, scale_max=SCALE, step=STEP) for x in (human, machine)))


def component_f1(present: npt.NDArray[np.bool_], found: npt.NDArray[np.bool_]) -> float:
    """Mean over the components of macro-F1 of present and absent, 0..1; both of shape (n, components)."""
    values = [(hit_f1(p, f) + hit_f1(~p, ~f)) / 2 for p, f in zip(present.T, found.T, strict=True)]
    return float(np.mean(values))


def hit_f1(present: npt.NDArray[np.bool_], found: npt.NDArray[np.bool_]) -> float:
    """F1 of one label, 0..1; 0 where neither side used it."""
    used = int(present.sum() + found.sum())
    return 2 * int((present & found).sum()) / used if used else 0.0
