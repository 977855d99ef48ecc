"""A candidate's exam: answer online, hand in, read the feedback, appeal; and who may see what."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from api.auth import Principal
from api.db.models import ApiKey
from api.deps import Work
from api.routes import exams as exam_routes
from api.routes import jobs as job_routes
from api.routes import roster

ANSWER = "view never copies <b>and</b> shares the storage, reshape copies when it has to. مرحبا 🚀"


class Staff:
    """A teacher who uses the service's handlers directly."""

    def __init__(self, site: Any) -> None:
        self.site, self.who = site, Principal(site.org_id, "teacher", "user:test")

    def do(self, handler: Any, *args: Any, **more: Any) -> Any:
        if "unit" in more:
            more["unit"] = Work(self.site.svc.db, self.who, None, "")
        return json.loads(bytes(handler(*args, sender=self.who, **more).body))

    def exam(self, **changes: Any) -> str:
        body = exam_routes.NewExam.model_validate(
            {"title": "Online", "items": [{"item": "view-vs-reshape"}], "take_from_practice": True, **changes}
        )
        return str(self.do(exam_routes.create_exam, body, unit=True)["id"])

    def enrol(self, exam_id: str) -> str:
        body = roster.NewRoster.model_validate({"candidates": [{"external_id": f"person-{exam_id[-6:]}"}]})
        found = self.do(roster.enrol, exam_id, body, unit=True)["candidates"]
        return str(next(iter(found.values())))

    def release(self, exam_id: str) -> None:
        job = self.do(job_routes.grade, exam_id, svc=self.site.svc, unit=True)
        while self.do(job_routes.get_job, job["id"], svc=self.site.svc)["state"] == "active":
            time.sleep(0.05)
        exam = self.do(exam_routes.get_exam, exam_id, svc=self.site.svc)
        patch = exam_routes.ExamPatch.model_validate({"closes_at": None, "opens_at": None})
        exam = self.do(exam_routes.change_exam, exam_id, patch, unit=True, expected=exam["revision"])
        self.do(exam_routes.release, exam_id, unit=True, expected=exam["revision"])


def test_answer_online_read_the_result_appeal(visitor: Any) -> None:
    staff = Staff(visitor.site)
    exam_id = staff.exam(opens_at="2020-01-01T00:00:00Z")
    visitor.site.keys["examinee"] = visitor.site.key("candidate", staff.enrol(exam_id))[0]
    page = visitor.sign_in("examinee").page
    expect(page.locator("h1")).to_have_text("My exams")
    visitor.check("my exams")
    page.click("text=Online")
    page.fill("textarea", ANSWER)
    expect(page.locator("[role=status].chip").first).to_contain_text("Saved")
    visitor.check("an open exam")
    page.reload()
    assert page.input_value("textarea") == ANSWER
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("button:text-is('Hand in')")
    expect(page.locator(".notice.good")).to_contain_text("You have handed in")
    staff.release(exam_id)
    page.reload()
    assert page.locator(".written").first.text_content() == ANSWER
    visitor.check("the result")
    page.locator("summary", has_text="I do not agree").click()
    page.fill("[name=text]", "I did say <why>.")
    page.click("text=Send the appeal")
    expect(page.locator(".notice", has_text="Your appeal")).to_contain_text("somebody will look at it")
    page.click("text=Sign out")
    visitor.sign_in("teacher")
    page.goto(f"{visitor.site.url}/teach/exams/{exam_id}/appeals")
    expect(page.locator("main")).to_contain_text("I did say <why>.")
    visitor.check("the appeals")
    page.fill("[name=reply]", "The why is missing.")
    page.click("button:text-is('Reject')")
    expect(page.locator("main")).to_contain_text("The why is missing.")


def test_a_candidate_sees_no_page_of_a_teacher(visitor: Any) -> None:
    visitor.expected = ["403", "404"]
    page = visitor.sign_in("candidate").page
    for path in ("/teach", "/rubrics/autograd", "/admin", "/teach/new"):
        visitor.go(path)
        expect(page.locator("[role=alert]")).to_contain_text("You may not see this.")
    visitor.go("/my/" + "0" * 27)
    expect(page.locator("[role=alert]")).to_contain_text("This does not exist.")
    visitor.check("a page that is not there")


def test_a_revoked_key_ends_the_session(visitor: Any) -> None:
    text, _ = visitor.site.key("teacher")
    visitor.site.keys["short"] = text
    page = visitor.sign_in("short").page
    svc = visitor.site.svc
    with svc.db.write() as session:
        row = session.scalar(select(ApiKey).where(ApiKey.digest == svc.secrets.digest(text)))
        row.revoked_at = time.time()
    visitor.go("/teach")
    assert "/sign-in" in page.url


@pytest.mark.parametrize("origin", ["http://evil.example", None])
def test_a_change_needs_the_token_of_the_page(visitor: Any, origin: str | None) -> None:
    visitor.sign_in("teacher")
    headers = {"Origin": origin} if origin else {}
    answer = visitor.context.request.post(
        visitor.site.url + "/teach/new", form={"title": "Forged", "item": "autograd"}, headers=headers
    )
    assert answer.status == 403
    page = visitor.go("/teach")
    assert "Forged" not in page.content()


def test_a_wrong_key_is_refused_and_next_stays_inside(visitor: Any) -> None:
    visitor.expected = ["401"]
    page = visitor.go("/sign-in?next=//evil.example/")
    assert page.input_value("main [name=next] >> nth=0") == "/"
    page.fill("[name=key]", "gk_wrong")
    page.click("form:has([name=key]) button")
    expect(page.locator("[role=alert]")).to_contain_text("This key is not known.")
    visitor.check("a refused key")


def test_an_administrator_enrols_and_hands_out_keys(visitor: Any) -> None:
    exam_id = Staff(visitor.site).exam(opens_at="2020-01-01T00:00:00Z")
    page = visitor.sign_in("admin").page
    visitor.go(f"/teach/exams/{exam_id}/candidates")
    visitor.check("the candidates")
    page.fill("[name=people]", "0017, Ada <Lovelace>\n0018")
    page.check("[name=keys]")
    page.click("button:text-is('Enrol')")
    keys = page.locator(".notice.good code")
    expect(keys).to_have_count(2)
    visitor.site.keys["new"] = keys.first.inner_text()
    page.click("text=Show the names")
    expect(page.locator("tbody").last).to_contain_text("Ada <Lovelace>")
    visitor.go(f"/teach/exams/{exam_id}")
    page.locator("summary", has_text="Settings").click()
    page.fill("[name=title]", "Renamed")
    page.fill("[name=boundaries]", "A 90")
    page.click("button:text-is('Save')")
    expect(page.locator("h1")).to_have_text("Renamed")
    page.click("text=Sign out")
    visitor.sign_in("new")
    page.click("text=Renamed")
    expect(page.locator("textarea")).to_be_visible()


def test_similar_answers_are_marked_at_once_but_for_one(visitor: Any) -> None:
    staff = Staff(visitor.site)
    exam_id = staff.exam()
    words = "view never copies and reshape may copy the data when it has to"
    answers = [{"candidate": f"{exam_id}-{n}", "item": "view-vs-reshape", "response": words} for n in range(14)]
    staff.do(roster.add_answers, exam_id, roster.NewAnswers.model_validate({"answers": answers}), unit=True)
    job = staff.do(job_routes.grade, exam_id, svc=visitor.site.svc, unit=True)
    while staff.do(job_routes.get_job, job["id"], svc=visitor.site.svc)["state"] == "active":
        time.sleep(0.05)
    page = visitor.sign_in("teacher").page
    visitor.go(f"/teach/exams/{exam_id}/groups/view-vs-reshape")
    visitor.check("the groups")
    expect(page.locator("input[type=checkbox][name=answer]")).to_have_count(12)
    page.click("text=Show this group alone")
    expect(page.locator("input[type=checkbox][name=answer]")).to_have_count(14)
    visitor.check("one group")
    page.locator("[name=answer]").last.uncheck()
    page.select_option("[name=score]", "3.5")
    page.click("text=Mark the group")
    expect(page.locator(".notice.good")).to_contain_text("Changed: 13.")
    visitor.go(f"/teach/exams/{exam_id}/marking/view-vs-reshape?which=decided")
    expect(page.locator(".row strong", has_text="3.5")).to_have_count(13)
    visitor.go(f"/teach/exams/{exam_id}/statistics?now=true")
    expect(page.locator(".fact", has_text="Referred to a person")).to_be_visible()
    expect(page.locator("h3", has_text="Never fully earned")).to_be_visible()
    assert page.locator("svg.shares").count() == page.locator("h2:has-text('Hardest') ~ ul.meters > li").count() > 0
    visitor.check("the statistics")
