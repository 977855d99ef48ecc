"""Raters' marks as a calibration takes them: checked, as shares of the scale, and weighted where they must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from grader.errors import InputError
from grader.representation import Array
from grader.rubric import Item

#: A label stands for at most this many answers, so that no single one decides everything.
MOST_ANSWERS = 20.0


def check_labels(item: Item, responses: Sequence[str], scores: Sequence[float], *, distinct: bool = True) -> Array:
    """Labels as shares of the scale; with ``distinct`` they must not all be equal.

    Raises:
        InputError: Lengths differ, a score is missing or outside the scale (its row is named), or all are equal.
    """
    if len(responses) != len(scores):
        raise InputError(f"{len(responses)} responses but {len(scores)} scores")
    values = np.asarray(scores, dtype=np.float64)
    for row, value in enumerate(values):
        if not np.isfinite(value):
            raise InputError(f"row {row + 1}: the score is missing or not a number")
        if not 0 <= value <= item.scale.max:
            raise InputError(f"row {row + 1}: score {value:g} is outside the scale 0 to {item.scale.max:g}")
    if distinct and len(values) and len(set(values.tolist())) == 1:
        raise InputError(f"all {len(values)} scores are {values[0]:g}: nothing can be learned from equal scores")
    return np.asarray(values / item.scale.max, dtype=np.float64)


def check_components(item: Item, count: int, components: Mapping[str, Sequence[float | None]]) -> dict[str, Array]:
    """Raters' points of components as credits, 0..1, ``nan`` where there are none; each of shape (count,).

    Args:
        item: The item.
        count: Number of labelled responses.
        components: Points by component, 0 to its weight; ``None`` or ``nan`` where it was not marked.

    Raises:
        InputError: The item has no such component, lengths differ, or points are outside 0 to the weight.
    """
    found = {}
    for name, points in components.items():
        if name not in item.components:
            known = ", ".join(item.components)
            raise InputError(f"item '{item.id}' has no component '{name}'; allowed: {known}")
        if len(points) != count:
            raise InputError(f"{count} responses but {len(points)} marks of component '{name}'")
        weight = item.components[name].weight
        values = np.array([np.nan if value is None else value for value in points], dtype=np.float64)
        bad = (values < 0) | (values > weight) | np.isinf(values)
        if bad.any():
            row = int(bad.argmax())
            raise InputError(f"row {row + 1}: {values[row]:g} for '{name}' is outside 0 to {weight:g}")
        if weight:
            found[name] = values / weight
    return found


def weights_of(chances: Sequence[float]) -> Array:
    """How many answers each label stands for, mean 1: the inverse of the chance that its answer was labelled.

    Overrides are made where answers were referred, so a referred answer is labelled for sure and any other only if it
    is in the audit sample (`grader.labelling.audit_sample`): its chance is that sample's share, and its label speaks
    for all the others that were not looked at. Chances below ``1 / MOST_ANSWERS`` count as that.

    Args:
        chances: Probability that each answer was labelled, above 0, at most 1.

    Raises:
        InputError: A chance is outside that range; names the row.

    >>> weights_of([1.0, 1.0, 0.25]).tolist()
    [0.5, 0.5, 2.0]
    """
    values = np.asarray(chances, dtype=np.float64)
    for row, value in enumerate(values):
        if not 0 < value <= 1:
            raise InputError(f"row {row + 1}: chance {value:g} of being labelled; allowed: above 0, at most 1")
    weights = np.minimum(1 / values, MOST_ANSWERS)
    return np.asarray(weights / weights.mean(), dtype=np.float64)


def label_weights(is_open: Array, chances: Sequence[float] | None = None) -> Array | None:
    """Weights of labels in intervals and probabilities, mean 1; ``None`` if all weigh the same.

    Responses whose mark a calibration never changes, such as blank ones, weigh nothing: their errors say nothing about
    those of the others.

    Args:
        is_open: 1 where a calibration may change the mark, shape (n,).
        chances: See `weights_of`; equal by default.

    Raises:
        InputError: As `weights_of`, or lengths differ.
    """
    weights = np.ones(len(is_open)) if chances is None else weights_of(chances)
    if len(weights) != len(is_open):
        raise InputError(f"{len(is_open)} labels but {len(weights)} chances")
    kept = weights * is_open if is_open.any() else weights
    return None if np.ptp(kept) == 0 else np.asarray(kept / kept.mean(), dtype=np.float64)


def duplicates_with_other_scores(responses: Sequence[str], scores: Sequence[float]) -> Mapping[str, list[int]]:
    """Rows (from 0) of responses that occur with different scores, by normalised response."""
    rows: dict[str, list[int]] = {}
    for at, response in enumerate(responses):
        rows.setdefault(" ".join(response.split()).casefold(), []).append(at)
    return {text: at for text, at in rows.items() if len({scores[row] for row in at}) > 1}
