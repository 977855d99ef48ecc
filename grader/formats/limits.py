"""How large an uploaded table may be."""

from __future__ import annotations

from dataclasses import dataclass, fields

from grader.errors import InputError

# The csv module refuses longer fields; raising its limit would change it for the whole process.
_CSV_FIELD_LIMIT = 131_072


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds on one table; a file beyond any of them is refused, never cut.

    Attributes:
        max_bytes: Size of the file as sent.
        max_uncompressed_bytes: What the parts of an XLSX or Parquet file may expand to, all together.
        max_rows: Rows below the header.
        max_columns: Columns of the header, or cells of any row.
        max_cells: Rows times columns.
        max_cell_chars: Characters in one cell; at most 131,072, which is what the csv module reads.
        max_notes: Remarks of one kind that are listed one by one.
    """

    max_bytes: int = 20 * 1024 * 1024
    max_uncompressed_bytes: int = 200 * 1024 * 1024
    max_rows: int = 100_000
    max_columns: int = 1_000
    max_cells: int = 5_000_000
    max_cell_chars: int = 50_000
    max_notes: int = 50

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise InputError(f"{field.name} is {getattr(self, field.name)}; allowed: 1 or more")
        if self.max_cell_chars > _CSV_FIELD_LIMIT:
            raise InputError(f"max_cell_chars is {self.max_cell_chars:,}; allowed: at most {_CSV_FIELD_LIMIT:,}")


DEFAULT_LIMITS = Limits()


def check_limit(name: str, what: str, found: int, allowed: int) -> None:
    """Raise when ``found`` is more than ``allowed``.

    Raises:
        InputError: Naming the file, the size found and the size allowed.
    """
    if found > allowed:
        raise InputError(f"{name}: {found:,} {what}; allowed: at most {allowed:,}")
