"""The shapes of tables that `grader.tables` reads: which columns mean what, and what is wrong with them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from pydantic import ValidationError

from grader.errors import InputError, UnknownItemError
from grader.formats.headers import Attached, attached_columns, flat
from grader.formats.neutral import restore
from grader.formats.numeric import parse_number
from grader.formats.workbook import value_text
from grader.rubric import Item

SCORE_IS_OURS = (
    "column 'score' holds a machine's marks, which the result would overwrite; rename a person's marks to human_score "
    "(human_score_2, human_<component>), or drop the column to grade again"
)
_SEPARATOR = re.compile(r"^[ \t]*---[ \t]*$", re.MULTILINE)
_REFERENCE = re.compile(r"reference_?(\d+)")
_MEANT = frozenset({"candidate", "item", "response", "prompt", "reference", "max_score"})
_DEFAULT_MAX = 5.0
_LISTED = 5
_NEAR = 85


@dataclass(frozen=True, slots=True)
class Job:
    """One response and what it is graded against."""

    item: Item
    response: str


@dataclass(frozen=True, eq=False)
class Shape:
    """A table read as one of the shapes.

    Attributes:
        kept: Columns for the result, one row a response.
        jobs: Item and response of each of its rows.
        may_repeat: Result columns that the input may have too.
    """

    kept: pd.DataFrame
    jobs: Sequence[Job]
    may_repeat: frozenset[str] = frozenset()

    @property
    def items(self) -> list[Item]:
        """The items that occur, in order."""
        return list({job.item.content_hash: job.item for job in self.jobs}.values())


def bank_shape(frame: pd.DataFrame, bank: Mapping[str, Item]) -> Shape:
    """A long or wide table with items of ``bank``.

    Raises:
        InputError: See `grader.tables.plan`.
    """
    frame = frame.rename(columns=str)
    columns = _columns(frame)
    if "item" in columns or "response" in columns:
        return _long(frame, columns, bank)
    return _wide(frame, columns, bank)


def ad_hoc_shape(frame: pd.DataFrame) -> Shape:
    """A table that brings its own prompts and reference answers.

    Raises:
        InputError: See `grader.tables.plan`.
    """
    frame = frame.rename(columns=str)
    columns = _columns(frame)
    numbered = sorted((int(m[1]), label) for name, label in columns.items() if (m := _REFERENCE.fullmatch(name)))
    references = [columns["reference"]] if "reference" in columns else []
    references += [label for _, label in numbered]
    _require(frame, columns, "prompt", "response")
    if not references:
        raise _missing(frame, ["reference"], "or reference_1, reference_2, …")
    prompts, responses = _texts(frame, columns["prompt"]), _texts(frame, columns["response"])
    tops = _tops(frame, columns.get("max_score"))
    texts = [_texts(frame, label) for label in references]
    known: dict[tuple[object, ...], Item] = {}
    jobs = []
    for at, row in enumerate(frame.index):
        parts = [part.strip() for column in texts for part in _SEPARATOR.split(column[at]) if part.strip()]
        key = (prompts[at], tops[at], *parts)
        if key not in known:
            known[key] = _ad_hoc_item(row, prompts[at], parts, tops[at], references[0])
        jobs.append(Job(known[key], responses[at]))
    return Shape(frame, jobs, frozenset({"max_score"}))


def _ad_hoc_item(row: Hashable, prompt: str, references: Sequence[str], top: float, column: str) -> Item:
    if not prompt.strip():
        raise InputError(f"row {row}, column prompt: empty; give the question")
    if not references:
        raise InputError(f"row {row}, column {column}: empty; give at least one reference answer")
    try:
        return Item.from_reference(prompt, list(references), max_score=top)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = {"prompt": "prompt", "scale": "max_score"}.get(str((detail["loc"] or ("",))[0]), column)
        message = detail["msg"].removeprefix("Value error, ")
        raise InputError(f"row {row}, column {field}: {message[0].lower()}{message[1:]}") from None


def _tops(frame: pd.DataFrame, label: str | None) -> list[float]:
    if label is None:
        return [_DEFAULT_MAX] * len(frame)
    tops = []
    for row, text in zip(frame.index, _texts(frame, label), strict=True):
        value = parse_number(text) if text.strip() else _DEFAULT_MAX
        if value is None or not 0 < value <= 1000:
            raise InputError(f"row {row}, column {label}: {text!r}; allowed: a number above 0, at most 1000")
        tops.append(value)
    return tops


def _long(frame: pd.DataFrame, columns: Mapping[str, str], bank: Mapping[str, Item]) -> Shape:
    _require(frame, columns, "candidate", "item", "response")
    candidates, names = _texts(frame, columns["candidate"]), _texts(frame, columns["item"])
    names = [name.strip() for name in names]
    _no_empty(frame, columns["candidate"], candidates)
    _no_empty(frame, columns["item"], names)
    items = _known_items(frame, columns["item"], names, bank)
    _no_repeats(frame, [(who.strip(), items[name].id) for who, name in zip(candidates, names, strict=True)])
    responses = _texts(frame, columns["response"])
    jobs = [Job(items[name], response) for name, response in zip(names, responses, strict=True)]
    return Shape(frame, jobs)


def _known_items(frame: pd.DataFrame, column: str, names: Sequence[str], bank: Mapping[str, Item]) -> dict[str, Item]:
    items: dict[str, Item] = {}
    wrong: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            items[name] = bank[name]
        except UnknownItemError as error:
            wrong[name] = str(error)
        except KeyError:
            wrong[name] = f"no item '{name}'; the bank has {len(bank)} items"
    if wrong:
        rows = [row for row, name in zip(frame.index, names, strict=True) if name in wrong]
        first = next(name for name in names if name in wrong)
        raise InputError(f"{_rows(rows)}, column {column}: {wrong[first]}")
    return items


def _no_empty(frame: pd.DataFrame, column: str, texts: Iterable[str]) -> None:
    rows = [row for row, text in zip(frame.index, texts, strict=True) if not text.strip()]
    if rows:
        raise InputError(f"{_rows(rows)}, column {column}: empty; every row needs one")


def _no_repeats(frame: pd.DataFrame, keys: Sequence[tuple[str, str]]) -> None:
    first: dict[tuple[str, str], Hashable] = {}
    for row, key in zip(frame.index, keys, strict=True):
        if key in first:
            raise InputError(
                f"rows {first[key]} and {row}: candidate '{key[0]}' answers item '{key[1]}' twice; "
                "keep one row, or give each attempt a candidate of its own"
            )
        first[key] = row


def _wide(frame: pd.DataFrame, columns: Mapping[str, str], bank: Mapping[str, Item]) -> Shape:
    """One row a candidate becomes one row a response, candidate by candidate."""
    _require(frame, columns, "candidate")
    labels = [str(label) for label in frame.columns]
    items = {label: bank[label.strip()] for label in labels if label.strip() in bank}
    if not items:
        some = ", ".join(list(bank)[:3])
        raise _missing(frame, ["item", "response"], f"or one column an item, named after it ({some}, …)")
    marks = _attached_marks(labels, items)
    others = [label for label in labels if label not in items and label not in marks]
    _refuse_loose(others, items, bank)
    candidates = _texts(frame, columns["candidate"])
    _no_empty(frame, columns["candidate"], candidates)
    responses = {label: _texts(frame, label) for label in items}
    places = [(at, label) for at in range(len(frame)) for label in items]
    kept = frame[others].iloc[[at for at, _ in places]].copy()
    _no_repeats(kept, [(candidates[at].strip(), items[label].id) for at, label in places])
    after = list(kept.columns).index(columns["candidate"]) + 1
    kept.insert(after, "item", [items[label].id for _, label in places])
    kept.insert(after + 1, "response", [responses[label][at] for at, label in places])
    for what in dict.fromkeys(attached.what for attached in marks.values()):
        by_item = {labels[a.question]: label for label, a in marks.items() if a.what == what}
        kept[what] = [frame[by_item[label]].iloc[at] if label in by_item else None for at, label in places]
    return Shape(kept, [Job(items[label], responses[label][at]) for at, label in places])


def _attached_marks(labels: Sequence[str], items: Mapping[str, Item]) -> dict[str, Attached]:
    """Columns such as ``zero-grad human_score``."""
    found = attached_columns(tuple(flat(label) for label in labels))
    return {
        labels[at]: attached
        for at, attached in found.items()
        if labels[attached.question] in items and attached.what.startswith("human_")
    }


def _refuse_loose(others: Sequence[str], items: Mapping[str, Item], bank: Mapping[str, Item]) -> None:
    """Columns that look like an item or like marks but belong to none: keeping them silently would lose rows."""
    from rapidfuzz.fuzz import ratio

    for label in others:
        name = flat(label)
        near = max(bank, key=lambda known: ratio(name, known))
        if ratio(name, near) >= _NEAR:
            raise InputError(f"column '{label}' is no item; did you mean '{near}'? rename it, or drop the column")
        if name.startswith("human_") and len(items) > 1:
            raise InputError(
                f"column '{label}' names no item, but the table has {len(items)}; allowed: '<item> {label}', "
                "one column an item"
            )


def _columns(frame: pd.DataFrame) -> dict[str, str]:
    """Folded name to label; refuses doubled labels and machine scores."""
    found: dict[str, str] = {}
    for label in frame.columns:
        name = flat(label)
        if name in found and (name in _MEANT or label == found[name]):
            raise InputError(f"column '{label}' occurs twice; rename or drop one")
        found.setdefault(name, label)
    if "score" in found:
        raise InputError(SCORE_IS_OURS)
    return found


def _require(frame: pd.DataFrame, columns: Mapping[str, str], *names: str) -> None:
    absent = [name for name in names if name not in columns]
    if absent:
        raise _missing(frame, absent)


def _missing(frame: pd.DataFrame, names: Sequence[str], rest: str = "") -> InputError:
    what = f"column{'s' * (len(names) > 1)} {', '.join(names)}"
    there = ", ".join(map(str, frame.columns[:12])) + (", …" if len(frame.columns) > 12 else "")
    return InputError(f"{what} missing{f' ({rest})' if rest else ''}; the table has: {there}")


def _texts(frame: pd.DataFrame, label: str) -> list[str]:
    """The cells of a column as text, without the apostrophe that keeps a spreadsheet from running a formula."""
    return [restore(_text(value)) for value in frame[label].tolist()]


def _text(value: object) -> str:
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    if isinstance(value, float) and math.isnan(value):
        return ""
    return value if isinstance(value, str) else value_text(value)


def _rows(rows: Sequence[Hashable], name: Callable[[Hashable], str] = str) -> str:
    listed = ", ".join(name(row) for row in rows[:_LISTED])
    more = f" and {len(rows) - _LISTED} more" if len(rows) > _LISTED else ""
    return f"row{'s' * (len(rows) > 1)} {listed}{more}"
