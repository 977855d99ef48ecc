"""What a batch came to, item by item."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from grader.cli.common import safe

_MOST = 40


@dataclass(slots=True)
class _Pairs:
    """Sums over pairs of a person's and the machine's marks; half points add up exactly."""

    count: int = 0
    human: float = 0.0
    machine: float = 0.0
    squares: float = 0.0
    machine_squares: float = 0.0
    products: float = 0.0

    def add(self, human: float, machine: float) -> None:
        self.count += 1
        self.human += human
        self.machine += machine
        self.squares += human * human
        self.machine_squares += machine * machine
        self.products += human * machine

    @property
    def correlation(self) -> float | None:
        """Pearson's r, ``None`` where one side is constant or there are less than three pairs."""
        n = self.count
        spread = n * self.squares - self.human**2, n * self.machine_squares - self.machine**2
        if n < 3 or min(spread) <= 1e-9 * n * n:
            return None
        return float((n * self.products - self.human * self.machine) / (spread[0] * spread[1]) ** 0.5)


@dataclass(slots=True)
class _Line:
    """Counts and sums, so that a tally of any number of rows takes the same memory."""

    count: int = 0
    marked: int = 0
    marks: float = 0.0
    shares: float = 0.0
    pairs: _Pairs = field(default_factory=_Pairs)
    codes: Counter[str] = field(default_factory=Counter)
    referred: int = 0


class Tally:
    """Counts marks, condition codes and referrals, and compares with ``human_score`` where it is there."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def add(self, block: pd.DataFrame) -> None:
        """Counts the rows of a block of results."""
        names = {str(label).strip().casefold(): label for label in block.columns}
        count = len(block)
        items = block[names["item"]].tolist() if "item" in names else ["all"] * count
        has_human = "human_score" in names
        human = pd.to_numeric(block[names["human_score"]], errors="coerce").tolist() if has_human else [np.nan] * count
        columns = (block[label].tolist() for label in ("score", "max_score", "condition_code", "referred"))
        for item, person, score, top, code, referred in zip(items, human, *columns, strict=True):
            line = self._lines.setdefault(str(item), _Line())
            line.count += 1
            if not np.isnan(score):
                line.marked += 1
                line.marks += float(score)
                line.shares += float(score) / float(top)
                if not np.isnan(person):
                    line.pairs.add(float(person), float(score))
            line.codes.update([code] if code else [])
            line.referred += bool(referred)

    def table(self) -> Table:
        """One line an item and one for all of them."""
        with_human = any(line.pairs.count for line in self._lines.values())
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("item", "n", "mean", "share", *(("human", "r") if with_human else ()), "codes", "referred"):
            table.add_column(name, justify="left" if name == "item" else "right", no_wrap=True)
        shown = list(self._lines.items())[:_MOST]
        for name, line in shown:
            table.add_row(*_cells(name, line, with_human))
        if len(self._lines) > len(shown):
            table.add_row(f"… {len(self._lines) - len(shown)} more items")
        if len(self._lines) != 1:
            table.add_row(*_cells("all", _sum(list(self._lines.values())), with_human), style="bold")
        return table

    def codes(self) -> str:
        """How often each condition code occurs, ``""`` when none does."""
        total = _sum(list(self._lines.values())).codes
        return ", ".join(f"{code} {count}" for code, count in sorted(total.items()))


def _sum(lines: list[_Line]) -> _Line:
    total = _Line()
    for line in lines:
        for name in ("count", "marked", "marks", "shares", "referred"):
            setattr(total, name, getattr(total, name) + getattr(line, name))
        for part in fields(_Pairs):
            setattr(total.pairs, part.name, getattr(total.pairs, part.name) + getattr(line.pairs, part.name))
        total.codes.update(line.codes)
    return total


def _cells(name: str, line: _Line, with_human: bool) -> list[Text]:
    mean = f"{line.marks / line.marked:.2f}" if line.marked else "-"
    share = f"{line.shares / line.marked:.0%}" if line.marked else "-"
    cells = [safe(name), str(line.count), mean, share]
    if with_human:
        r = line.pairs.correlation
        cells += [f"{line.pairs.human / line.pairs.count:.2f}" if line.pairs.count else "-"]
        cells += ["-" if r is None else f"{r:.2f}"]
    return [Text(cell) for cell in (*cells, str(line.codes.total()), str(line.referred))]
