"""What a batch came to, item by item."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from rich.table import Table
from rich.text import Text

from grader.cli.common import safe

_MOST = 40


@dataclass(slots=True)
class _Line:
    count: int = 0
    marks: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    pairs: list[tuple[float, float]] = field(default_factory=list)
    codes: Counter[str] = field(default_factory=Counter)
    referred: int = 0


class Tally:
    """Counts marks, condition codes and referrals, and compares with ``human_score`` where it is there."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def add(self, block: pd.DataFrame) -> None:
        """Counts the rows of a block of results."""
        names = {str(label).strip().casefold(): label for label in block.columns}
        items = block[names["item"]] if "item" in names else pd.Series("all", index=block.index)
        human = pd.to_numeric(block[names["human_score"]], errors="coerce") if "human_score" in names else None
        for at, item in enumerate(items):
            line = self._lines.setdefault(str(item), _Line())
            line.count += 1
            score, code = block["score"].iloc[at], block["condition_code"].iloc[at]
            if not np.isnan(score):
                line.marks.append(float(score))
                line.shares.append(float(score) / float(block["max_score"].iloc[at]))
                if human is not None and not np.isnan(human.iloc[at]):
                    line.pairs.append((float(human.iloc[at]), float(score)))
            line.codes.update([code] if code else [])
            line.referred += bool(block["referred"].iloc[at])

    def table(self) -> Table:
        """One line an item and one for all of them."""
        with_human = any(line.pairs for line in self._lines.values())
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
        total.count += line.count
        total.marks += line.marks
        total.shares += line.shares
        total.pairs += line.pairs
        total.codes.update(line.codes)
        total.referred += line.referred
    return total


def _cells(name: str, line: _Line, with_human: bool) -> list[Text]:
    mean = f"{np.mean(line.marks):.2f}" if line.marks else "-"
    share = f"{np.mean(line.shares):.0%}" if line.shares else "-"
    cells = [safe(name), str(line.count), mean, share]
    if with_human:
        cells += [f"{np.mean([human for human, _ in line.pairs]):.2f}" if line.pairs else "-", _correlation(line.pairs)]
    return [Text(cell) for cell in (*cells, str(line.codes.total()), str(line.referred))]


def _correlation(pairs: list[tuple[float, float]]) -> str:
    """Pearson's r, ``-`` where one side is constant."""
    if len(pairs) < 3:
        return "-"
    human, machine = np.array(pairs).T
    if np.ptp(human) == 0 or np.ptp(machine) == 0:
        return "-"
    return f"{np.corrcoef(human, machine)[0, 1]:.2f}"
