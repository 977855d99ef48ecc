"""Table files on one's own disk as frames whose rows carry the numbers that a spreadsheet shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pandas as pd

from grader.formats.limits import Limits
from grader.formats.neutral import restore
from grader.formats.streaming import PIECE, Pieces, read_pieces
from grader.formats.table import Table, read_table

#: A file on one's own disk may be larger than one that is sent to the service.
LIMITS = Limits(
    max_bytes=1_000_000_000,
    max_uncompressed_bytes=4_000_000_000,
    max_rows=2_000_000,
    max_cells=100_000_000,
    max_cell_chars=131_072,
    max_notes=5,
)


def read_frame(path: Path, sheet: str | None = None) -> tuple[pd.DataFrame, Table]:
    """The cells of a table file, named by the file's own row numbers, and the table they came from.

    Raises:
        InputError: It is no readable table.
    """
    table = read_table(path, name=path.name, limits=LIMITS, sheet=sheet)
    return frame_of(table), table


def open_pieces(path: Path, sheet: str | None = None, *, size: int = PIECE) -> Pieces:
    """A table file to be read ``size`` rows at a time, see `frames`.

    Raises:
        InputError: It is no readable table.
    """
    return read_pieces(path, limits=LIMITS, sheet=sheet, size=size)


def frames(pieces: Pieces) -> Iterator[pd.DataFrame]:
    """The pieces of a table file in their order."""
    for table in pieces.tables():
        yield frame_of(table, pieces.texts)


def frame_of(table: Table, texts: Collection[str] | None = None) -> pd.DataFrame:
    """The cells of ``table``, named by the file's own row numbers.

    Args:
        table: The table.
        texts: Labels of the columns that hold text; if not given, those without a cell of another type.
    """
    columns = {}
    for at, label in enumerate(table.labels):
        typed = [row[at] if at < len(row) else "" for row in table.values]
        is_typed = any(not isinstance(value, str) for value in typed) if texts is None else label not in texts
        if typed and is_typed:
            cells: list[object] = [None if value == "" else value for value in typed]
            columns[label] = pd.Series(cells, index=table.rows, dtype=object).infer_objects()
        else:
            columns[label] = pd.Series([restore(text) for text in table.texts(at)], index=table.rows, dtype=object)
    return pd.DataFrame(columns, index=pd.Index(table.rows))
