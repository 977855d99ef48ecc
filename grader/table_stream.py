"""Tables of any length: checked in one pass over their pieces and graded in another, in constant memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
        rows: Responses in it.
        items: Items that occur, by id.
        components: Components that occur, in the order of their first item.
        types: Arrow schema of the input's columns, one row a response.
    """

    pieces: Pieces
    bank: Mapping[str, Item] | None
    rows: int
    items: Mapping[str, Item]
    components: tuple[str, ...]
    types: Any

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
        for frame in frames(self.pieces):
            planned = plan(frame, self.bank, components=self.components)
            yield from planned.blocks(
                grader, size=size, language=language, progress=progress, calibrations=calibrations
            )


def check_table(
    pieces: Pieces, bank: Mapping[str, Item] | None, check: Callable[[pd.DataFrame], None] | None = None
) -> CheckedTable:
    """Reads the table once, without grading anything.

    Args:
        pieces: The table.
        bank: Items by id for a long or wide table; ``None`` for an ad-hoc one.
        check: Called with the input's columns of each piece; may refuse them.

    Raises:
        InputError: The table is not acceptable, see `grader.tables.plan`.
    """
    rows, types = 0, None
    items: dict[str, Item] = {}
    components: tuple[str, ...] = ()
    seen: set[int] = set()
    for frame in frames(pieces):
        planned = plan(frame, bank, components=components)
        rows += len(planned.jobs)
        components = planned.components
        items.update((job.item.id, job.item) for job in planned.jobs)
        types = column_types(planned.kept, types)
        if check is not None:
            check(planned.kept)
        keys = [] if bank is None else [_digest(who, name) for who, name in _answered(planned)]
        if not seen.isdisjoint(keys):
            _refuse_repeats(pieces, bank)
        seen.update(keys)
    plan(next(frames(pieces)), bank, components=components)  # a column may bear the name of a later component
    return CheckedTable(pieces, bank, rows, items, components, types)


def _answered(planned: Plan) -> list[tuple[str, str]]:
    """Candidate and item of each row."""
    label = next(label for label in planned.kept.columns if flat(str(label)) == "candidate")
    names = planned.kept[label].tolist()
    return [(str(name).strip(), job.item.id) for name, job in zip(names, planned.jobs, strict=True)]


def _digest(candidate: str, item: str) -> int:
    text = f"{candidate}\0{item}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())


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
