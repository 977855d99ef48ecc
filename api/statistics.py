"""How items and candidates did: numbers in, numbers out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev, pvariance
from typing import Any

from pydantic import Field

from api.results import Total
from api.schemas import View


class PartStatistics(View):
    """How often one part was earned."""

    mean_share: float = Field(description="Mean points as a share of the weight, 0 to 1.")
    full: int
    partly: int
    none: int


class DriftView(View):
    """Whether the answers are still like those the calibration learned from."""

    total: int
    unusual: int = Field(description="Answers further from the labelled ones than 95 % of those from one another.")
    share: float
    expected: float
    warning: bool = Field(description="There are too many of them for chance: label some and calibrate again.")


class ItemStatistics(View):
    """One item over all answers; answers without a mark are counted apart."""

    item: str
    answers: int
    marked: int
    without_mark: int
    mean: float | None
    sd: float | None
    difficulty: float | None = Field(description="Mean as a share of the scale, 0 to 1.")
    discrimination: float | None = Field(description="Correlation with the rest of the exam, -1 to 1.")
    full: int
    zero: int
    distribution: dict[str, int] = Field(description="Score point to number of answers.")
    parts: dict[str, PartStatistics]
    condition_codes: dict[str, int]
    referred: int
    decided: int = Field(description="Marks that a person set or accepted.")
    calibration: str | None = Field(default=None, description="Name of the calibration in force, or null.")
    drift: DriftView | None = Field(default=None, description="Null without a calibration, or before it marked.")


class ExamStatistics(View):
    """The whole exam over the candidates whose answers are all marked."""

    candidates: int
    complete: int
    mean_percent: float | None
    sd_percent: float | None
    passed: int | None
    grades: dict[str, int]
    alpha: float | None = Field(description="Cronbach's alpha, a missing answer counted as 0.")
    items: list[ItemStatistics]


Row = tuple[float | None, str, Mapping[str, Any], Sequence[Mapping[str, Any]]]


def item_statistics(
    slug: str, maximum: float, answers: int, rows: Sequence[Row], discrimination: float | None
) -> ItemStatistics:
    """Statistics of one item.

    Args:
        slug: Item id.
        maximum: Top of the scale.
        answers: Number of answers, marked or not.
        rows: Score, origin, the scorer's result and the parts of each mark.
        discrimination: Correlation with the rest.
    """
    scores = [score for score, _, _, _ in rows if score is not None]
    codes = Counter(code for _, _, result, _ in rows if (code := result["condition_code"]))
    return ItemStatistics(
        item=slug,
        answers=answers,
        marked=len(rows),
        without_mark=answers - len(scores),
        mean=round(fmean(scores), 4) if scores else None,
        sd=round(pstdev(scores), 4) if scores else None,
        difficulty=round(fmean(scores) / maximum, 4) if scores else None,
        discrimination=discrimination,
        full=sum(score >= maximum for score in scores),
        zero=sum(score == 0 for score in scores),
        distribution={f"{score:g}": count for score, count in sorted(Counter(scores).items())},
        parts=_parts(rows),
        condition_codes=dict(codes),
        referred=sum(bool(result["referred"]) for _, _, result, _ in rows),
        decided=sum(origin != "machine" for _, origin, _, _ in rows),
    )


def _parts(rows: Sequence[Row]) -> dict[str, PartStatistics]:
    shares: dict[str, list[float]] = {}
    for _, _, result, parts in rows:
        shown = {part["label"]: part["points"] for part in parts}
        for component in result["components"]:
            if component["weight"] > 0:
                points = shown.get(component["name"], component["points"])
                shares.setdefault(component["name"], []).append(points / component["weight"])
    return {
        name: PartStatistics(
            mean_share=round(fmean(found), 4),
            full=sum(one >= 0.995 for one in found),
            partly=sum(0 < one < 0.995 for one in found),
            none=sum(one <= 0 for one in found),
        )
        for name, found in shares.items()
    }


def correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's r, ``None`` when one side does not vary or there are fewer than 3 pairs."""
    if len(left) < 3:
        return None
    spread = math.sqrt(pvariance(left) * pvariance(right))
    if spread < 1e-12:
        return None
    a, b = fmean(left), fmean(right)
    return round(fmean((x - a) * (y - b) for x, y in zip(left, right, strict=True)) / spread, 4)


def matrix(found: Sequence[Total], slugs: Sequence[str]) -> list[list[float]]:
    """Scores of the complete candidates, one row each, a missing answer as 0."""
    complete = [one for one in found if one.percent is not None]
    return [[(cell.score or 0.0) if (cell := one.cells.get(slug)) else 0.0 for slug in slugs] for one in complete]


def discriminations(table: Sequence[Sequence[float]]) -> list[float | None]:
    """For each column its correlation with the sum of the others."""
    width = len(table[0]) if table else 0
    return [correlation([row[at] for row in table], [sum(row) - row[at] for row in table]) for at in range(width)]


def alpha(table: Sequence[Sequence[float]]) -> float | None:
    """Cronbach's alpha, ``None`` with fewer than 2 items or 3 candidates or without spread."""
    width = len(table[0]) if table else 0
    if width < 2 or len(table) < 3:
        return None
    whole = pvariance([sum(row) for row in table])
    if whole < 1e-12:
        return None
    single = sum(pvariance([row[at] for row in table]) for at in range(width))
    return round(width / (width - 1) * (1 - single / whole), 4)
