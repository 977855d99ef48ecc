"""Calibrations of an item: fit, look at, put in force, roll back, carry over."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from api import calibrations, items, labels
from api.auth import Principal
from api.db import LOCK
from api.db.models import CalibrationRow, ItemRow, Job, Label
from api.deps import Staff, Svc, Unit, audit, reply
from api.problems import Problem
from api.routes.jobs import JobView, job_view
from api.schemas import Body, Id, Page, SlugPath, Time, View
from grader.referral import Policy

router = APIRouter(tags=["calibrations"])
_MEDIA = "application/octet-stream"


class PolicyBody(Body):
    """What the teacher is willing to risk."""

    tolerance: float = Field(default=1.0, gt=0, le=1000, description="A mark off by more points is an error.")
    risk: float = Field(default=0.02, gt=0, lt=1, description="Share of errors among the marks not referred.")
    pass_mark: float | None = Field(default=None, ge=0, le=1000, description="Marks that may cross it are referred.")


class NewCalibration(Body):
    """Fit a version of the item, by default the current one, to all its labels."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"policy": {"tolerance": 1, "risk": 0.02}}]})

    version: int | None = Field(default=None, ge=1, le=1_000_000)
    policy: PolicyBody = PolicyBody()


class CalibrationLine(View):
    """A calibration in a list."""

    id: str
    name: str = Field(description="The hash of its content, as signatures of marks name it.")
    item: str
    item_version: int
    state: str = Field(examples=["candidate", "promoted", "retired"])
    labels: int
    qwk: float | None
    rmse: float | None
    rmse_before: float | None = Field(description="Of the uncalibrated scorer.")
    share: float = Field(description="Share of answers that it marks by itself at the teacher's risk.")
    created_by: str
    created_at: Time


class Mislabelled(View):
    """A label that fits badly to all others; its answer may have been deleted since."""

    label: str
    response: str
    human_score: float


class CalibrationView(CalibrationLine):
    """A calibration with its policy and what it says in words."""

    policy: dict[str, Any]
    carried_from: str | None
    sentences: list[str]
    has_report: bool = Field(description="False once answers that the report quotes were deleted.")
    mislabelled: list[Mislabelled] = Field(description="Labels to look at again, the worst first (at most 20).")


class Shelf(View):
    """An item's calibrations, the newest first, and how many labels wait for the next one."""

    item: str
    version: int
    labels: int
    in_force: str | None = Field(description="Id of the calibration that marks the current version, or null.")
    other_rubric: str | None = Field(description="A calibration in force for an older version only, to carry over.")
    data: list[CalibrationLine]


class StudyView(View):
    """Everything that was measured, without the answers."""

    calibration: str
    study: dict[str, Any]


class OfVersion(Body):
    """A version of the item, by default its current one."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    version: int | None = Field(default=None, ge=1, le=1_000_000)


class RolledBack(View):
    """The calibration that is in force again, null for none."""

    in_force: CalibrationLine | None


def line(row: CalibrationRow, slug: str) -> CalibrationLine:
    """The entry of a list."""
    return CalibrationLine(**_fields(row, slug))


def _fields(row: CalibrationRow, slug: str) -> dict[str, Any]:
    after, before = (row.study[name]["agreement"]["metrics"] for name in ("calibrated", "uncalibrated"))
    return {
        "id": row.id,
        "name": row.name,
        "item": slug,
        "item_version": row.item_version,
        "state": row.state,
        "labels": len(row.label_ids),
        "qwk": after["qwk"],
        "rmse": after["rmse"],
        "rmse_before": before["rmse"],
        "share": row.study["operating"]["share"],
        "created_by": row.created_by,
        "created_at": row.created_at,
    }


def _view(session: Session, row: CalibrationRow) -> CalibrationView:
    slug = session.get_one(ItemRow, row.item_id).slug
    return CalibrationView(
        **_fields(row, slug),
        policy=row.policy,
        carried_from=row.carried_from,
        sentences=row.study["sentences"],
        has_report=bool(row.report),
        mislabelled=_mislabelled(session, row),
    )


def _mislabelled(session: Session, row: CalibrationRow) -> list[Mislabelled]:
    ids = [row.label_ids[at] for at in row.study["mislabelled_rows"][:20]]
    known = {one.id: one for one in session.scalars(select(Label).where(Label.id.in_(ids)))}
    found = [known[one] for one in ids if one in known]
    return [Mislabelled(label=one.id, response=one.text, human_score=one.human_score) for one in found]


@router.post("/items/{item_id}/calibrations", status_code=202, response_model=JobView)
def start_fit(item_id: SlugPath, body: NewCalibration, sender: Staff, unit: Unit) -> Response:
    """Fit the item to its labels; the result is the job's ``calibration``, which marks nothing until promoted."""

    def action(session: Session) -> JobView:
        row = items.row_of(session, sender, item_id, lock=True)
        policy = Policy(**body.policy.model_dump())
        job = calibrations.start_fit(session, row, sender.actor, body.version or row.version, policy)
        return job_view(session, job)

    return unit.run(action, 202)


@router.get("/items/{item_id}/calibrations", response_model=Shelf)
def list_calibrations(item_id: SlugPath, sender: Staff, svc: Svc) -> Response:
    """The item's calibrations, the newest first (at most 500)."""
    with svc.db.read() as session:
        row = items.row_of(session, sender, item_id)
        query = select(CalibrationRow).where(CalibrationRow.item_id == row.id)
        found = session.scalars(query.order_by(CalibrationRow.id.desc()).limit(500)).all()
        current = calibrations.in_force(session, sender.org_id, items.content_of(session, row.id, row.version))
        older = next((one.id for one in found if one.state == "promoted" and one.id != current), None)
        return reply(
            Shelf(
                item=row.slug,
                version=row.version,
                labels=labels.count(session, row),
                in_force=current,
                other_rubric=None if current else older,
                data=[line(one, row.slug) for one in found],
            )
        )


@router.get("/calibrations/{calibration_id}", response_model=CalibrationView)
def get_calibration(calibration_id: Id, sender: Staff, svc: Svc) -> Response:
    """A calibration in words."""
    with svc.db.read() as session:
        return reply(_view(session, calibrations.own(session, sender, calibration_id)))


@router.get("/calibrations/{calibration_id}/study", response_model=StudyView)
def get_study(calibration_id: Id, sender: Staff, svc: Svc) -> Response:
    """Every figure: agreement with its intervals, before and after, by band, baselines, learning curve, risk."""
    with svc.db.read() as session:
        row = calibrations.own(session, sender, calibration_id)
    return reply(StudyView(calibration=row.name, study=row.study))


@router.get(
    "/calibrations/{calibration_id}/report",
    response_class=Response,
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "The report."}},
)
def get_report(
    calibration_id: Id,
    sender: Staff,
    svc: Svc,
    language: Annotated[
        str, Query(pattern="^(en|de|hi)$", description="English where the report was made before it had others.")
    ] = "en",
) -> Response:
    """The report as one page that needs nothing else."""
    with svc.db.read() as session:
        row = calibrations.own(session, sender, calibration_id)
        text, name = row.reports.get(language) or row.report, row.name
    if not text:
        raise Problem("not-found", f"the report of calibration {name} quoted answers that were deleted; fit it again")
    return Response(text, media_type="text/html; charset=utf-8")


@router.get(
    "/calibrations/{calibration_id}/file",
    response_class=Response,
    responses={200: {"content": {_MEDIA: {"schema": {"type": "string", "format": "binary"}}}, "description": "npz"}},
)
def get_file(calibration_id: Id, sender: Staff, svc: Svc) -> Response:
    """The calibration as the npz file that the library and the command line read."""
    with svc.db.read() as session:
        row = calibrations.own(session, sender, calibration_id)
        content, name = row.content, row.name
    return Response(content, headers={"Content-Disposition": f'attachment; filename="{name}.npz"'}, media_type=_MEDIA)


@router.post("/calibrations/{calibration_id}/promote", response_model=CalibrationView)
def promote(calibration_id: Id, body: OfVersion, sender: Staff, unit: Unit) -> Response:
    """Put a calibration in force: jobs that start from now on, and practice, mark with it; stored marks stay."""

    def action(session: Session) -> CalibrationView:
        row = _locked(session, sender, calibration_id)
        calibrations.promote(session, sender, row, body.version)
        audit(session, sender, "promote-calibration", row.name)
        return _view(session, row)

    return unit.run(action)


def _locked(session: Session, sender: Principal, calibration_id: str) -> CalibrationRow:
    """The calibration after its item was locked, so that one promotion follows the other."""
    row = calibrations.own(session, sender, calibration_id)
    session.get_one(ItemRow, row.item_id, with_for_update=LOCK)
    session.refresh(row, with_for_update=LOCK)
    return row


@router.post("/items/{item_id}/calibrations/roll-back", response_model=RolledBack)
def roll_back(item_id: SlugPath, body: OfVersion, sender: Staff, unit: Unit) -> Response:
    """Put the calibration before back in force, or none if there was none."""

    def action(session: Session) -> RolledBack:
        item = items.row_of(session, sender, item_id, lock=True)
        before = calibrations.roll_back(session, sender, item, body.version)
        audit(session, sender, "roll-back-calibration", item.slug)
        return RolledBack(in_force=line(before, item.slug) if before else None)

    return unit.run(action)


@router.post("/calibrations/{calibration_id}/carry-over", status_code=202, response_model=JobView)
def carry_over(calibration_id: Id, body: OfVersion, sender: Staff, unit: Unit) -> Response:
    """Fit another version of the item to the labels of this calibration that are still there, and measure it again."""

    def action(session: Session) -> JobView:
        row = calibrations.own(session, sender, calibration_id)
        item = session.get_one(ItemRow, row.item_id, with_for_update=LOCK)
        job = calibrations.start_fit(
            session,
            item,
            sender.actor,
            body.version or item.version,
            Policy(**row.policy),
            label_ids=row.label_ids,
            carried_from=row.id,
        )
        return job_view(session, job)

    return unit.run(action, 202)


@router.get("/items/{item_id}/calibrations/jobs", response_model=Page[JobView])
def list_jobs(item_id: SlugPath, sender: Staff, svc: Svc) -> Response:
    """Work on the item's calibrations, the newest first (at most 50)."""
    with svc.db.read() as session:
        row = items.row_of(session, sender, item_id)
        found = session.scalars(select(Job).where(Job.item_id == row.id).order_by(Job.id.desc()).limit(50)).all()
        return reply(Page[JobView](data=[job_view(session, one) for one in found]))
