"""Tables of any length: checked in one pass over their pieces and graded in another, in constant memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from grader.errors import InputError
from grader.formats.headers import flat
from grader.formats.streaming import Pieces
from grader.grading import Grader
from grader.rubric import Item
from grader.sinks import column_types
from grader.sources import frames
from grader.tables import Calibrations, Plan, Progress, plan


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """A table that has been checked and waits to be graded.

    Attributes:
        pieces: The table.
        bank: Items by id; ``None`` for a table that brings its own questions.
        rows: Responses in it that can be graded.
        items: Items that occur, by id.
        components: Components that occur, in the order of their first item.
        types: Arrow schema of the input's columns, one row a response.
        refused: Number of each row that cannot be graded, and why.
    """

    pieces: Pieces
    bank: Mapping[str, Item] | None
    rows: int
    items: Mapping[str, Item]
    components: tuple[str, ...]
    types: Any
    refused: Mapping[int, str] = field(default_factory=dict)

    def plans(self) -> Iterator[Plan]:
        """The rows that can be graded, piece by piece."""
        for frame in frames(self.pieces):
            kept = frame.drop(index=[row for row in frame.index if row in self.refused]) if self.refused else frame
            if len(kept):
                yield plan(kept, self.bank, components=self.components)

    def blocks(
        self,
        grader: Grader,
        *,
        size: int,
        language: str = "en",
        progress: Progress | None = None,
        calibrations: Calibrations | None = None,
    ) -> Iterator[pd.DataFrame]:
        """The result in the order of the input, at most ``size`` rows at a time; see `grader.tables.Plan.blocks`."""
        for planned in self.plans():
            yield from planned.blocks(
                grader, size=size, language=language, progress=progress, calibrations=calibrations
            )


def check_table(
    pieces: Pieces,
    bank: Mapping[str, Item] | None,
    check: Callable[[pd.DataFrame], None] | None = None,
    *,
    tolerant: bool = False,
) -> CheckedTable:
    """Reads the table once, without grading anything.

    Args:
        pieces: The table.
        bank: Items by id for a long or wide table; ``None`` for an ad-hoc one.
        check: Called with the input's columns of each piece; may refuse them.
        tolerant: Whether rows that are not acceptable are set aside with their reasons.

    Raises:
        InputError: The table is not acceptable, see `grader.tables.plan`; if ``tolerant``, its columns are not.
    """
    rows, types = 0, None
    items: dict[str, Item] = {}
    components: tuple[str, ...] = ()
    seen: set[bytes] = set()
    refused: dict[int, str] = {}
    for frame in frames(pieces):
        plan(frame.iloc[:0], bank)
        for planned in _acceptable(frame, bank, refused) if tolerant else [plan(frame, bank)]:
            repeats = _repeats(planned, seen) if bank is not None else {}
            if repeats and not tolerant:
                _refuse_repeats(pieces, bank)
            refused.update(repeats)
            rows += sum(row not in repeats for row in planned.kept.index)
            components = tuple(dict.fromkeys([*components, *planned.components]))
            items.update((job.item.id, job.item) for job in planned.jobs)
            types = column_types(planned.kept, types)
            if check is not None:
                check(planned.kept)
    plan(next(frames(pieces)).iloc[:0], bank, components=components)  # a column may bear a later component's name
    return CheckedTable(pieces, bank, rows, items, components, types, refused)


def _acceptable(frame: pd.DataFrame, bank: Mapping[str, Item] | None, refused: dict[int, str]) -> Iterator[Plan]:
    """Plans of all rows but those that are not acceptable, which are found by halving and added to ``refused``."""
    try:
        yield plan(frame, bank)
    except InputError as error:
        if len(frame) == 1:
            refused[int(frame.index[0])] = str(error)
            return
        middle = len(frame) // 2
        yield from _acceptable(frame.iloc[:middle], bank, refused)
        yield from _acceptable(frame.iloc[middle:], bank, refused)


def _repeats(planned: Plan, seen: set[bytes]) -> dict[int, str]:
    """Rows whose candidate has answered the item in an earlier piece; the others are added to ``seen``."""
    repeats = {}
    for row, (candidate, item) in zip(planned.kept.index, _answered(planned), strict=True):
        key = hashlib.blake2b(f"{candidate}\0{item}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key in seen:
            repeats[int(row)] = f"row {row}: candidate '{candidate}' answers item '{item}' twice; the first row counts"
        seen.add(key)
    return repeats


def _answered(planned: Plan) -> list[tuple[str, str]]:
    """Candidate and item of each row."""
    label = next(label for label in planned.kept.columns if flat(str(label)) == "candidate")
    names = planned.kept[label].tolist()
    return [(str(name).strip(), job.item.id) for name, job in zip(names, planned.jobs, strict=True)]


def _refuse_repeats(pieces: Pieces, bank: Mapping[str, Item] | None) -> None:
    """Finds the two rows, which are in different pieces."""
    first: dict[tuple[str, str], object] = {}
    for frame in frames(pieces):
        planned = plan(frame, bank)
        for row, key in zip(planned.kept.index, _answered(planned), strict=True):
            if key in first:
                raise InputError(
                    f"rows {first[key]} and {row}: candidate '{key[0]}' answers item '{key[1]}' twice; "
                    "keep one row, or give each attempt a candidate of its own"
                )
            first[key] = row
