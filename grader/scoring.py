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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.errors import ModelError
from grader.evidence.features import FEATURES
from grader.rubric import Component, Item, Scale
from grader.score import Status, Step

Floats = NDArray[np.float32]

#: Elements with two to the power of this many wordings or more are scored by the rubric curve.
MANY_WORDINGS = 2.0
#: Credits from here on count as present, from ``PARTIAL`` on as partial.
PRESENT, PARTIAL = 0.65, 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A logistic function of the features.

    Attributes:
        weights: One a feature, in the order of `FEATURES`.
        bias: Added to the weighted sum.
        stretch: How far the curve is stretched beyond 0 and 1 before it is clipped.
    """

    weights: Floats
    bias: float
    stretch: float

    def __call__(self, table: Floats) -> Floats:
        """Credits, 0 to 1, shape (k,), of features of shape (k, len(FEATURES))."""
        logits = table.astype(np.float64) @ self.weights.astype(np.float64) + self.bias
        stretched = (1 + 2 * self.stretch) / (1.0 + np.exp(-logits)) - self.stretch
        return np.round(np.clip(stretched, 0.0, 1.0), 5).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """The shipped scorer of elements.

    Attributes:
        version: Appears in signatures.
        rubric: For elements with several wordings, whose similarity to one another sets the scale.
        reference: For elements with hardly more than one, and for items that are only model answers.
    """

    version: str
    rubric: Curve
    reference: Curve

    def credits(self, table: Floats, *, model_answer: bool = False) -> Floats:
        """Credit of each key statement, 0 to 1, shape (k,).

        Args:
            table: Features, shape (k, len(FEATURES)).
            model_answer: Whether the item is only one or more model answers.
        """
        if model_answer:
            return self.reference(table)
        many = table[:, list(FEATURES).index("wordings")] >= MANY_WORDINGS
        return np.where(many, self.rubric(table), self.reference(table)).astype(np.float32)


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
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return Prior(f"{data['version']}@{digest}", _curve(data["rubric"]), _curve(data["reference"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path} is not a prior for these features: {error!r}") from error


def _curve(data: dict[str, Any]) -> Curve:
    weights = np.array([data["weights"][name] for name in FEATURES], dtype=np.float32)
    return Curve(weights, float(data["bias"]), float(data["stretch"]))


def component_credit(component: Component, elements: Sequence[float], places: Sequence[int | None]) -> float:
    """Credit of a component, 0 to 1, from the credits of its elements.

    Args:
        component: The component.
        elements: Credit of each element, 0 to 1.
        places: Statement in which each element is said, ``None`` if it is not; only order matters.
    """
    weights = [element.weight for element in component.elements]
    if component.rule == "at_least":
        top = sorted(elements, reverse=True)[: component.n]
        return sum(top) / len(top)
    if component.rule == "in_order":
        kept = _in_order(places)
        elements = [credit if at in kept else credit / 2 for at, credit in enumerate(elements)]
    return sum(w * c for w, c in zip(weights, elements, strict=True)) / sum(weights)


def _in_order(places: Sequence[int | None]) -> frozenset[int]:
    """Indices of a longest run of elements whose places do not go back."""
    runs: list[list[int]] = []
    for at, place in enumerate(places):
        if place is None:
            continue
        before = [run for run in runs if (places[run[-1]] or 0) <= place]
        longest: list[int] = sorted(before, key=len)[-1] if before else []
        runs.append([*longest, at])
    return frozenset(sorted(runs, key=len)[-1]) if runs else frozenset()


def status(credit: float) -> Status:
    """``present``, ``partial`` or ``missing``."""
    if credit >= PRESENT:
        return "present"
    return "partial" if credit >= PARTIAL else "missing"


@dataclass(frozen=True, slots=True)
class Mark:
    """A raw score, before rounding, with the lines it is the sum of."""

    raw: float
    steps: tuple[Step, ...]

    def corrected(self, raw: float) -> Mark:
        """The mark moved to ``raw`` by the item's calibration, as a line of its own."""
        change = round(raw - self.raw, 2)
        if not change:
            return self
        return Mark(round(self.raw + change, 2), (*self.steps, Step(label="calibration", points=change)))

    def rounded(self, scale: Scale) -> tuple[float, tuple[Step, ...]]:
        """The score point nearest to the raw score, and all lines including the rounding."""
        score = scale.round(self.raw)
        if score == self.raw:
            return score, self.steps
        return score, (*self.steps, Step(label="rounding", points=round(score - self.raw, 6)))


def mark(
    item: Item,
    points: Mapping[str, float],
    *,
    error_deduction: float = 0.0,
    caps: Mapping[str, float] | None = None,
    honest: bool = False,
) -> Mark:
    """The raw score after the marking guide; the points of its steps sum to it.

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
    return Mark(total, tuple(steps))
