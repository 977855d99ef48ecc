"""Tables of answers that people marked, as the calibration commands read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.common import note
from grader.errors import InputError
from grader.formats.numeric import parse_number

if TYPE_CHECKING:
    import pandas as pd

    from grader.rubric import Item

_MARKS = ("human_score", "human_score_2")


@dataclass(frozen=True, slots=True)
class Labelled:
    """The marked rows of one item; every column has one value a row.

    Attributes:
        rows: Their numbers in the file.
        responses: What candidates wrote.
        scores: Marks in points.
        second: Marks of a second rater, ``None`` where there is none; ``None`` without such a column.
        components: Points by component, ``None`` where it was not marked.
        subgroups: Subgroup of each; ``None`` if none was asked for.
        chances: Probability that the answer was chosen to be marked; ``None`` if none was given.
    """

    rows: list[int]
    responses: list[str]
    scores: list[float]
    second: list[float | None] | None = None
    components: dict[str, list[float | None]] = field(default_factory=dict)
    subgroups: list[str] | None = None
    chances: list[float] | None = None


def read_rows(file: Path) -> pd.DataFrame:
    """The cells of a table file; what had to be guessed is noted on standard error."""
    from grader.sources import read_frame

    frame, table = read_frame(file)
    for warning in table.warnings:
        note(f"{file.name}: {warning}")
    return frame


def of_item(frame: pd.DataFrame, item: Item) -> pd.DataFrame:
    """Rows of ``item``; all rows of a table without a column item.

    Raises:
        InputError: No row belongs to it.
    """
    if "item" not in frame:
        return frame
    names = {item.id, *item.aliases}
    chosen = frame[[str(name).strip() in names for name in frame["item"]]]
    if chosen.empty:
        raise InputError(f"column 'item': no row belongs to item '{item.id}'")
    return chosen


def column(frame: pd.DataFrame, name: str, file: str) -> list[str]:
    """The cells of a column as text.

    Raises:
        InputError: There is no such column; says which there are.
    """
    if name not in frame:
        extra = " (a column 'score' is the machine's and is not read as a person's)" if "score" in frame else ""
        raise InputError(f"{file}: no column '{name}'; it has {', '.join(map(str, frame.columns))}{extra}")
    return ["" if value is None or value != value else str(value) for value in frame[name]]


def labelled_rows(
    frame: pd.DataFrame, item: Item, file: str, *, subgroup: str | None = None, chance: str | None = None
) -> Labelled:
    """The rows of ``item`` that a person has marked.

    Args:
        frame: The table.
        item: The item.
        file: Its name, for messages.
        subgroup: Column with the subgroup of each response.
        chance: Column with the probability that each answer was chosen to be marked.

    Raises:
        InputError: A column is missing or names no component, or a cell is no number or outside its range; names row
            and column.
    """
    chosen = of_item(frame, item)
    marks = _cells(chosen, "human_score", file, lambda text: _within(text, item.scale.max))
    kept = [at for at, mark in enumerate(marks) if mark is not None]
    marked = chosen.iloc[kept]
    responses = column(marked, "response", file)

    def points(name: str, top: float) -> list[float | None]:
        return _cells(marked, name, file, lambda text: _within(text, top))

    return Labelled(
        rows=[int(row) for row in marked.index],
        responses=responses,
        scores=[float(marks[at] or 0.0) for at in kept],
        second=points("human_score_2", item.scale.max) if "human_score_2" in marked else None,
        components={name: points(f"human_{name}", weight) for name, weight in _components(marked, item, file).items()},
        subgroups=[value.strip() or "(none)" for value in column(marked, subgroup, file)] if subgroup else None,
        chances=[1.0 if value is None else value for value in points(chance, 1.0)] if chance else None,
    )


def _components(frame: pd.DataFrame, item: Item, file: str) -> dict[str, float]:
    """Weights of the components that have a column with marks."""
    found = {}
    for label in map(str, frame.columns):
        name = label.removeprefix("human_")
        if name == label or label in _MARKS or not any(cell.strip() for cell in column(frame, label, file)):
            continue
        if name not in item.components:
            known = ", ".join(f"human_{one}" for one in item.components)
            raise InputError(f"{file}: column '{label}' names no component of '{item.id}'; allowed: {known}")
        found[name] = item.components[name].weight
    return found


def _cells(frame: pd.DataFrame, name: str, file: str, read: Callable[[str], float | None]) -> list[float | None]:
    """The numbers in a column, ``None`` for empty cells."""
    found: list[float | None] = []
    for row, text in zip(frame.index, column(frame, name, file), strict=True):
        try:
            found.append(read(text.strip()) if text.strip() else None)
        except ValueError as error:
            raise InputError(f"row {row}, column '{name}': {text!r} is no mark; allowed: {error}") from None
    return found


def _within(text: str, top: float) -> float:
    value = parse_number(text)
    if value is None or not 0 <= value <= top:
        raise ValueError(f"0 to {top:g}")
    return value
