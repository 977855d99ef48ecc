"""Uploaded tables: preview, mapping of questions to items, answers out of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from api import exams
from api.db.models import CandidateName, Exam, Upload
from api.problems import Problem, from_library
from api.settings import Settings
from grader.errors import InputError
from grader.formats.canvas import GRADEBOOK
from grader.formats.layouts import read_sheet
from grader.formats.limits import Limits
from grader.formats.mapping import mapped_cells, propose_mapping
from grader.formats.sheet import Cell, Sheet

_HALF = re.compile("[\ud800-\udfff]")


def limits_of(settings: Settings) -> Limits:
    """The limits on a table."""
    return Limits(
        max_bytes=settings.body_limit,
        max_rows=settings.max_rows,
        max_columns=settings.max_columns,
        max_cell_chars=settings.max_cell_chars,
    )


def scrub(value: Any) -> Any:
    """The value with half characters, which no database stores, replaced by U+FFFD."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [scrub(one) for one in value]
    if isinstance(value, dict):
        return {scrub(name): scrub(one) for name, one in value.items()}
    return value


def read(settings: Settings, upload: Upload) -> Sheet:
    """The table as one of the known layouts.

    Raises:
        Problem: It is not acceptable; the message says what is.
    """
    try:
        return read_sheet(
            upload.content,
            name=upload.name,
            limits=limits_of(settings),
            layout=upload.layout or None,
            candidate_column=upload.candidate_column,
        )
    except InputError as error:
        raise from_library(error, "invalid-table") from None


def preview(sheet: Sheet, slots: list[exams.Slot]) -> dict[str, Any]:
    """What the table holds and which question seems to be which item."""
    prompts = {slot.slug: slot.item.prompt for slot in slots}
    aliases = {slot.slug: slot.item.aliases for slot in slots}
    found = {
        "layout": sheet.layout,
        "candidate_column": sheet.candidate_column,
        "columns": list(sheet.table.labels),
        "encoding": sheet.table.encoding,
        "delimiter": sheet.table.delimiter,
        "rows": len(sheet.table.rows),
        "responses": len(sheet.cells),
        "questions": [
            {
                "key": one.key,
                "header": one.header,
                "item": one.item,
                "how": one.how,
                "score": one.score,
                "alternatives": [name for name, _ in one.alternatives],
            }
            for one in propose_mapping(sheet, prompts, aliases=aliases)
        ],
        "sample": [
            {"row": cell.row, "candidate": cell.candidate, "question": cell.item_key, "response": cell.response[:300]}
            for cell in sheet.cells[:10]
        ],
        "notes": [
            {"code": note.code, "message": note.message, "row": note.row, "column": note.column}
            for note in (*sheet.table.warnings, *sheet.problems)
        ][:200],
    }
    return {name: scrub(value) for name, value in found.items()}


def apply(
    session: Session,
    exam: Exam,
    upload: Upload,
    sheet: Sheet,
    mapping: Mapping[str, str],
    *,
    attempts: str,
    replace: bool,
    actor: str,
) -> exams.Saved:
    """Store the answers of the mapped questions.

    Args:
        session: A write transaction in which the exam is locked.
        exam: The exam.
        upload: The upload.
        sheet: The table that was read from it.
        mapping: Question key to item.
        attempts: Which of several answers of a candidate counts: ``refuse``, ``first`` or ``last``.
        replace: Replace answers that are stored with another text.
        actor: Who does it.

    Raises:
        Problem: The table holds no answers, the mapping does not fit, or a candidate answers twice.
    """
    if sheet.layout == GRADEBOOK.name:
        raise Problem("wrong-state", "a gradebook holds no answers; allowed: its export, which fills in the marks")
    by_slug = {slot.slug: slot.item_id for slot in exams.slots(session, exam.id)}
    unknown = sorted(set(mapping.values()) - set(by_slug))
    if unknown:
        raise Problem("invalid", f"the exam has no item '{unknown[0]}'; allowed: {', '.join(by_slug)}")
    try:
        cells = mapped_cells(sheet, mapping)
    except InputError as error:
        raise from_library(error, "invalid") from None
    chosen = _choose(cells, attempts)
    ids = exams.candidates_by_external(session, exam.org_id, [scrub(cell.candidate) for cell in chosen])
    exams.enrol(session, exam, ids.values())
    given = [
        exams.Given(ids[scrub(cell.candidate)], by_slug[cell.item_key], scrub(cell.response), cell.row)
        for cell in chosen
    ]
    return exams.save_answers(session, exam, given, replace=replace, upload_id=upload.id, actor=actor)


def _choose(cells: tuple[Cell, ...], attempts: str) -> list[Cell]:
    chosen: dict[tuple[str, str], Cell] = {}
    repeated: list[tuple[str, str]] = []
    for cell in cells:
        if len(cell.candidate) > CandidateName.external_id.type.length:
            raise Problem("invalid-table", f"row {cell.row}: a candidate id of {len(cell.candidate)} characters")
        key = (cell.candidate, cell.item_key)
        if key in chosen and attempts == "refuse":
            repeated.append((f"row {cell.row}", f"answers '{cell.item_key}' again, as in row {chosen[key].row}"))
        if key not in chosen or attempts == "last":
            chosen[key] = cell
    if repeated:
        detail = "candidates answer the same item twice; allowed: 'attempts': 'first' or 'last'"
        raise Problem("duplicate", detail, repeated[:100])
    return list(chosen.values())
