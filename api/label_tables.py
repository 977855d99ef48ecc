"""Labelled tables: columns response, human_score, human_score_2, human_<component>, item; every bad cell is named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.problems import Problem, from_library
from api.settings import Settings
from api.uploads import limits_of, scrub
from grader.errors import InputError
from grader.formats.headers import flat
from grader.formats.neutral import restore
from grader.formats.numeric import parse_number
from grader.formats.table import Table, read_table
from grader.labels import duplicates_with_other_scores
from grader.rubric import Item

_SHOWN = 100
_SUBGROUP_CHARS = 200
_COMPONENT = re.compile(r"human_(?!score$|score_2$)(?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """One labelled answer.

    Attributes:
        row: Row number in the file, 0 if it comes from none.
        text: What the candidate wrote.
        human_score: The mark, in points.
        human_score_2: A second person's mark, or ``None``.
        components: Points by component, where they were given.
        subgroup: Value of the subgroup column, or ``None``.
    """

    row: int
    text: str
    human_score: float
    human_score_2: float | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    subgroup: str | None = None

    def to_list(self) -> list[Any]:
        """As plain data."""
        return [self.row, self.text, self.human_score, self.human_score_2, dict(self.components), self.subgroup]


@dataclass(frozen=True, slots=True)
class LabelledTable:
    """What a labelled table holds.

    Attributes:
        rows: The labelled answers.
        preview: What a teacher should look at before they are stored.
    """

    rows: Sequence[LabelledRow]
    preview: dict[str, Any]


class _Reader:
    """Reads one table and collects what is wrong with it, cell by cell."""

    def __init__(self, table: Table, item: Item, subgroup: str | None) -> None:
        self.table, self.item = table, item
        self.errors: list[tuple[str, str]] = []
        self.places = {flat(label): at for at, label in reversed(list(enumerate(table.labels)))}
        self.subgroup = self._chosen(subgroup)
        self.components = self._components()

    def _chosen(self, subgroup: str | None) -> int | None:
        if subgroup is None:
            return None
        if flat(subgroup) not in self.places:
            raise Problem("invalid-table", f"no column '{subgroup}'; allowed: {', '.join(self.table.labels)}")
        return self.places[flat(subgroup)]

    def _components(self) -> dict[str, int]:
        found = {}
        for name, at in self.places.items():
            match = _COMPONENT.fullmatch(name)
            if match is None or at == self.subgroup:
                continue
            if match["name"] not in self.item.components:
                self.errors.append(
                    (
                        f"column {self.table.labels[at]}",
                        f"no component '{match['name']}'; allowed: {', '.join(self.item.components)}",
                    )
                )
            else:
                found[match["name"]] = at
        return found

    def place(self, name: str) -> int:
        """Position of a column that must be there."""
        if name in self.places:
            return self.places[name]
        why = ""
        if "score" in self.places:
            why = "; a column 'score' holds the machine's marks and is not read as a person's: rename it if it does not"
        raise Problem("invalid-table", f"no column '{name}'; the table has {', '.join(self.table.labels)}{why}")

    def read(self) -> tuple[list[LabelledRow], dict[str, int]]:
        """The labelled rows of the item, and how many others were passed over."""
        response, score = self.place("response"), self.place("human_score")
        second, item = self.places.get("human_score_2"), self.places.get("item")
        names = {flat(name) for name in (self.item.id, *self.item.aliases)}
        found: list[LabelledRow] = []
        passed = {"unmarked": 0, "other_items": 0}
        for number, cells in zip(self.table.rows, self.table.frame.itertuples(index=False, name=None), strict=True):
            if item is not None and flat(cells[item]) not in names:
                passed["other_items"] += 1
                continue
            if not cells[score].strip():
                passed["unmarked"] += 1
                continue
            one = self._row(number, [str(cell) for cell in cells], response, score, second)
            if one is not None:
                found.append(one)
        if item is not None and passed["other_items"] == len(self.table.rows):
            raise Problem("invalid-table", f"column 'item': no row belongs to '{self.item.id}'; is it the right item?")
        return found, passed

    def _row(self, number: int, cells: list[str], response: int, score: int, second: int | None) -> LabelledRow | None:
        top = self.item.scale.max
        first = self._points(number, score, cells[score], top)
        other = (
            self._points(number, second, cells[second], top) if second is not None and cells[second].strip() else None
        )
        parts = {
            name: self._points(number, at, cells[at], self.item.components[name].weight)
            for name, at in self.components.items()
            if cells[at].strip()
        }
        group = cells[self.subgroup].strip()[:_SUBGROUP_CHARS] if self.subgroup is not None else ""
        if first is None or None in parts.values():
            return None
        points = {name: value for name, value in parts.items() if value is not None}
        return LabelledRow(number, scrub(restore(cells[response])), first, other, points, scrub(group) or None)

    def _points(self, number: int, at: int, text: str, top: float) -> float | None:
        value = parse_number(text, self.table.decimal)
        if value is not None and 0 <= value <= top:
            return value
        what = f"{text.strip()[:40]!r} is no number" if value is None else f"{value:g} is outside the scale"
        self.errors.append((f"row {number}, column {self.table.labels[at]}", f"{what}; allowed: 0 to {top:g}"))
        return None


def read(settings: Settings, item: Item, content: bytes, name: str, subgroup: str | None) -> LabelledTable:
    """The labelled answers of a table: columns response, human_score, human_score_2, human_<component>, item.

    Raises:
        Problem: It is no table, a column is missing, or cells are not acceptable; each is named by row and column.
    """
    try:
        table = read_table(content, name=name, limits=limits_of(settings))
    except InputError as error:
        raise from_library(error, "invalid-table") from None
    reader = _Reader(table, item, subgroup)
    rows, passed = reader.read()
    if reader.errors:
        count = len(reader.errors)
        raise Problem("invalid-table", f"{count} cells are not acceptable; nothing was stored", reader.errors[:_SHOWN])
    if not rows:
        raise Problem("invalid-table", "column 'human_score' is empty in every row; allowed: a mark in at least one")
    return LabelledTable(rows, _preview(table, rows, passed, reader))


def _preview(table: Table, rows: Sequence[LabelledRow], passed: Mapping[str, int], reader: _Reader) -> dict[str, Any]:
    scores = Counter(one.human_score for one in rows)
    clashing = duplicates_with_other_scores([one.text for one in rows], [one.human_score for one in rows])
    used = {reader.place("response"), reader.place("human_score"), *reader.components.values()}
    used |= {at for name in ("human_score_2", "item") if (at := reader.places.get(name)) is not None}
    found = {
        "columns": list(table.labels),
        "rows": len(table.rows),
        "labelled": len(rows),
        **passed,
        "second_marks": sum(one.human_score_2 is not None for one in rows),
        "components": list(reader.components),
        "subgroups": dict(Counter(one.subgroup for one in rows if one.subgroup is not None).most_common(20)),
        "subgroup_columns": [label for at, label in enumerate(table.labels) if at not in used],
        "distribution": {f"{score:g}": count for score, count in sorted(scores.items())},
        "same_answer_other_mark": [[rows[at].row for at in members] for members in clashing.values()][:_SHOWN],
        "notes": [{"message": note.message, "row": note.row, "column": note.column} for note in table.warnings][
            :_SHOWN
        ],
        "sample": [
            {
                "row": one.row,
                "response": one.text[:300],
                "human_score": one.human_score,
                "human_score_2": one.human_score_2,
            }
            for one in rows[:10]
        ],
    }
    return {name: scrub(value) for name, value in found.items()}
