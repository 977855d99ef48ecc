"""Labelled answers: tables of them, single ones, and decisions of a review taken over."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from api.auth import Principal
from api.db import new_id
from api.db.models import Answer, Exam, ItemRow, Label, LabelUpload, Mark
from api.problems import Problem, from_library
from api.settings import Settings
from api.uploads import limits_of, scrub
from grader.errors import InputError
from grader.formats.headers import flat
from grader.formats.neutral import restore
from grader.formats.numeric import parse_number
from grader.formats.table import Table, read_table
from grader.labelling import audit_sample
from grader.labels import duplicates_with_other_scores
from grader.rubric import Item

#: Most labels of an item.
MOST = 5000
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


def count(session: Session, row: ItemRow) -> int:
    """Number of labels of an item."""
    return int(session.scalar(select(func.count()).select_from(Label).where(Label.item_id == row.id)) or 0)


def of_item(session: Session, row: ItemRow) -> list[Label]:
    """All labels of an item in the order they came."""
    return list(session.scalars(select(Label).where(Label.item_id == row.id).order_by(Label.id)))


def apply(session: Session, row: ItemRow, upload: LabelUpload, actor: str, *, replace: bool) -> dict[str, int]:
    """Store the labels of an upload; rows that are stored already are not stored twice.

    Args:
        session: A write transaction in which the item is locked.
        row: The item.
        upload: The upload that was read from it.
        actor: Who does it.
        replace: Remove the labels of earlier tables first.

    Raises:
        Problem: It was stored before, or there would be too many labels.
    """
    if upload.applied_at is not None:
        raise Problem("wrong-state", "the labels of this table are stored already")
    removed = 0
    if replace:
        query = delete(Label).where(Label.item_id == row.id, Label.source == "upload")
        removed = int(session.execute(query).rowcount)  # type: ignore[attr-defined]
    known = Counter(_key(one) for one in of_item(session, row) if one.source == "upload")
    fresh = []
    for values in upload.rows:
        one = LabelledRow(*values)
        key = _key(one)
        if known[key]:
            known[key] -= 1
        else:
            fresh.append(one)
    add(session, row, actor, "upload", [(one, None) for one in fresh])
    result = {"added": len(fresh), "unchanged": len(upload.rows) - len(fresh), "removed": removed}
    upload.rows = []
    return result


def _key(one: Label | LabelledRow) -> tuple[Any, ...]:
    return (one.text, one.human_score, one.human_score_2, tuple(sorted(one.components.items())), one.subgroup)


def add(
    session: Session,
    row: ItemRow,
    actor: str,
    source: str,
    given: Sequence[tuple[LabelledRow, str | None]],
    chance: float = 1.0,
) -> None:
    """Store labels with the answers they belong to, if any; an answer's earlier label is replaced.

    Raises:
        Problem: There would be too many.
    """
    ids = [answer for _, answer in given if answer is not None]
    for start in range(0, len(ids), 400):
        session.execute(delete(Label).where(Label.answer_id.in_(ids[start : start + 400])))
    if count(session, row) + len(given) > MOST:
        raise Problem("invalid", f"the item would have more than {MOST:,} labels; remove some first")
    ordered = sorted(new_id() for _ in given)  # so that labels of one table keep the table's order
    for label_id, (one, answer) in zip(ordered, given, strict=True):
        session.add(
            Label(
                id=label_id,
                org_id=row.org_id,
                item_id=row.id,
                answer_id=answer,
                text=one.text,
                human_score=one.human_score,
                human_score_2=one.human_score_2,
                components=dict(one.components),
                source=source,
                subgroup=one.subgroup,
                chance=chance,
                created_by=actor,
            )
        )
    session.flush()


def check_points(item: Item, whole: Iterable[float | None], components: Mapping[str, float]) -> None:
    """Refuses marks that the item does not allow.

    Raises:
        Problem: A mark is outside the scale, or a component is unknown.
    """
    for value in whole:
        if value is not None and not 0 <= value <= item.scale.max:
            raise Problem("invalid", f"the mark {value:g} is outside the scale; allowed: 0 to {item.scale.max:g}")
    for name, value in components.items():
        if name not in item.components:
            raise Problem("invalid", f"no component '{name}'; allowed: {', '.join(item.components)}")
        if not 0 <= value <= item.components[name].weight:
            raise Problem("invalid", f"{name} is {value:g}; allowed: 0 to {item.components[name].weight:g}")


@dataclass(frozen=True, slots=True)
class Stratum:
    """Marks of one kind, and how many of them a person decided."""

    total: int
    decided: int


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the decisions of a review.

    Attributes:
        labels: How many became labels.
        referred: The marks that were referred.
        others: The marks that were not.
    """

    labels: int
    referred: Stratum
    others: Stratum

    @property
    def audit_wanted(self) -> bool:
        """Whether nobody has looked at a mark that was not referred, so that nothing is known about those."""
        return self.others.total > 0 and self.others.decided == 0


def take_decisions(session: Session, row: ItemRow, exam: Exam, actor: str) -> Taken:
    """Make labels of the marks that people set or accepted.

    Referred answers are looked at more often than others, so decisions are no random sample. Each label keeps the
    share of its kind (referred or not) that was decided; figures weigh it by the inverse of that share.
    """
    query = (
        select(Answer.id, Answer.text, Mark.score, Mark.origin, Mark.result)
        .join(Mark, Mark.answer_id == Answer.id)
        .where(Mark.exam_id == exam.id, Mark.item_id == row.id)
        .order_by(Answer.id)
    )
    kinds: dict[bool, list[tuple[LabelledRow, str]]] = {True: [], False: []}
    totals = {True: 0, False: 0}
    for answer_id, text, score, origin, result in session.execute(query):
        if result["condition_code"] == "blank":
            continue
        totals[result["referred"]] += 1
        if origin != "machine" and score is not None:
            kinds[result["referred"]].append((LabelledRow(0, text, score), answer_id))
    for referred, given in kinds.items():
        if given:
            add(session, row, actor, "decision", given, len(given) / totals[referred])
    strata = {kind: Stratum(totals[kind], len(kinds[kind])) for kind in (True, False)}
    return Taken(sum(map(len, kinds.values())), strata[True], strata[False])


def to_audit(session: Session, row: ItemRow, exam: Exam, size: int) -> tuple[list[tuple[str, str]], int]:
    """A simple random sample of the exam's answers that nobody has looked at, always the same, and their number."""
    labelled = select(Label.answer_id).where(Label.item_id == row.id, Label.answer_id.is_not(None))
    query = (
        select(Answer.id, Answer.text)
        .outerjoin(Mark, Mark.answer_id == Answer.id)
        .where(Answer.exam_id == exam.id, Answer.item_id == row.id, Answer.text != "", Answer.id.not_in(labelled))
        .where(Mark.origin.is_(None) | (Mark.origin == "machine"))
        .order_by(Answer.id)
    )
    rows = [(one.id, one.text) for one in session.execute(query)]
    chosen = audit_sample(size, len(rows), seed=int(exam.id[-8:], 16))
    return [rows[at] for at in chosen], len(rows)


def audit_chance(session: Session, row: ItemRow, exam_id: str, size: int) -> float:
    """Probability with which an answer nobody has looked at came into an audit sample of ``size``."""
    return min(size / max(to_audit(session, row, session.get_one(Exam, exam_id), 0)[1], 1), 1.0)


def own_label(session: Session, principal: Principal, row: ItemRow, label_id: str) -> Label:
    """The label, if it is this item's.

    Raises:
        Problem: There is none.
    """
    label = session.get(Label, label_id)
    if label is None or label.org_id != principal.org_id or label.item_id != row.id:
        raise Problem("not-found", "no label of this id")
    return label
