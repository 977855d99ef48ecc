"""Evidence → credit → score point.

The credit of an element is a monotone function of its evidence, learned once from labelled answers
(``models/prior.json``, made by ``eval/train_prior.py``); nothing in it is set by hand or depends on who else is
graded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grader.errors import ModelError
from grader.evidence.features import FEATURES
from grader.rubric import Component, Item
from grader.score import Status, Step

Floats = NDArray[np.float32]

#: Credits from here on count as present, from ``PARTIAL`` on as partial.
PRESENT, PARTIAL = 0.65, 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The shipped scorer of elements.

    Attributes:
        version: Appears in signatures.
        weights: One a feature, in the order of `FEATURES`.
        bias: Added to the weighted sum.
        stretch: How far the logistic curve is stretched beyond 0 and 1 before it is clipped.
    """

    version: str
    weights: Floats
    bias: float
    stretch: float

    def credits(self, table: Floats) -> Floats:
        """Credit of each key statement, 0 to 1, shape (k,), from features of shape (k, len(FEATURES))."""
        logits = table.astype(np.float64) @ self.weights.astype(np.float64) + self.bias
        curve = 1.0 / (1.0 + np.exp(-logits))
        stretched = (1 + 2 * self.stretch) * curve - self.stretch
        return np.round(np.clip(stretched, 0.0, 1.0), 5).astype(np.float32)


def load_prior(path: Path | None = None) -> Prior:
    """The prior in ``path``, by default the shipped one.

    Raises:
        ModelError: The file is missing, altered or does not fit this version's features.
    """
    return _load_prior(path or Path(__file__).parent / "models" / "prior.json")


@lru_cache(maxsize=8)
def _load_prior(path: Path) -> Prior:
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text)
        weights = np.array([data["weights"][name] for name in FEATURES], dtype=np.float32)
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return Prior(f"{data['version']}@{digest}", weights, float(data["bias"]), float(data["stretch"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a prior for these features: {error!r}") from error


def component_credit(component: Component, elements: Sequence[float], places: Sequence[int | None]) -> float:
    """Credit of a component, 0 to 1, from the credits of its elements.

    Args:
        component: The component.
        elements: Credit of each element, 0 to 1.
        places: Statement in which each element is said, ``None`` if it is not; only order matters.
    """
    weights = [element.weight for element in component.elements]
    if component.rule == "at_least":
        best = sorted(elements, reverse=True)[: component.n]
        return sum(best) / len(best)
    if component.rule == "in_order":
        kept = _in_order(places)
        elements = [credit if at in kept else credit / 2 for at, credit in enumerate(elements)]
    return sum(w * c for w, c in zip(weights, elements, strict=True)) / sum(weights)


def _in_order(places: Sequence[int | None]) -> frozenset[int]:
    """Indices of a longest run of elements whose places do not go back."""
    best: dict[int, list[int]] = {}
    for at, place in enumerate(places):
        if place is None:
            continue
        before = [run for run in best.values() if (places[run[-1]] or 0) <= place]
        best[at] = [*max(before, key=len, default=[]), at]
    return frozenset(max(best.values(), key=len, default=[]))


def status(credit: float) -> Status:
    """``present``, ``partial`` or ``missing``."""
    if credit >= PRESENT:
        return "present"
    return "partial" if credit >= PARTIAL else "missing"


@dataclass(frozen=True, slots=True)
class Mark:
    """A score with the lines it is the sum of."""

    raw: float
    score: float
    steps: tuple[Step, ...]


def mark(
    item: Item,
    points: Mapping[str, float],
    *,
    error_deduction: float = 0.0,
    caps: Mapping[str, float] | None = None,
    honest: bool = False,
) -> Mark:
    """The score after the marking guide; the points of its steps sum to it exactly.

    Args:
        item: The item, for its scale and rules.
        points: Points of each component, two decimals.
        error_deduction: Points taken once for false statements; never below 0.
        caps: Upper limits by reason.
        honest: Whether the candidate says how they would find out; lifts a lower sum to the honest credit.
    """
    steps = [Step(label=name, points=value) for name, value in points.items()]
    total = round(sum(points.values()), 2)
    taken = round(min(error_deduction, total), 2)
    if taken:
        steps.append(Step(label="error_deduction", points=-taken))
        total = round(total - taken, 2)
    for reason, cap in sorted((caps or {}).items()):
        if total > cap:
            steps.append(Step(label=f"cap:{reason}", points=round(cap - total, 2)))
            total = round(cap, 2)
    if honest and total < item.honest_credit:
        steps.append(Step(label="honest_credit", points=round(item.honest_credit - total, 2)))
        total = round(item.honest_credit, 2)
    score = item.scale.round(total)
    if score != total:
        steps.append(Step(label="rounding", points=round(score - total, 6)))
    return Mark(total, score, tuple(steps))
