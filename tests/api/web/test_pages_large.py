"""An exam with 6,000 answers: its pages send a part at a time, filter, and go on while one scrolls."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import expect
from sqlalchemy import insert, select

from api.db.ids import new_id
from api.db.models import Answer, Candidate, Exam, ExamItem, ItemRow, Mark, RosterEntry
from api.items import content_of

ANSWERS = 6000
LIMIT = 200_000


@pytest.fixture(scope="module")
def exam(site: Any) -> str:
    """An exam whose answers have marks; every hundredth waits for a person."""
    with site.svc.db.write() as session:
        row = session.scalar(select(ItemRow).where(ItemRow.slug == "autograd"))
        item = content_of(session, row.id, row.version)
        score = site.svc.scorer.grade_many(item, ["Autograd records operations in a graph."])[0]
        found = Exam(org_id=site.org_id, title="Large", created_by="test")
        session.add(found)
        session.flush()
        own = {"org_id": site.org_id, "exam_id": found.id, "item_id": row.id, "version": row.version}
        session.add(ExamItem(**own, position=0, weight=5))
        session.flush()
        ids = [(new_id(), new_id()) for _ in range(ANSWERS)]
        candidates = [{"id": one, "org_id": site.org_id} for one, _ in ids]
        session.execute(insert(Candidate), candidates)
        roster = [{"exam_id": found.id, "candidate_id": one, "org_id": site.org_id} for one, _ in ids]
        session.execute(insert(RosterEntry), roster)
        answers = [
            {
                "id": answer,
                "org_id": site.org_id,
                "exam_id": found.id,
                "item_id": row.id,
                "candidate_id": candidate,
                "text": f"Answer number {n} records operations {'in a needle ' if n % 1000 == 7 else ''}graph.",
            }
            for n, (candidate, answer) in enumerate(ids)
        ]
        session.execute(insert(Answer), answers)
        marks = [
            {
                **own,
                "answer_id": answer,
                "text_revision": 1,
                "result": score.model_dump(mode="json"),
                "machine_score": score.score,
                "score": score.score,
                "parts": [step.model_dump(mode="json") for step in score.calculation],
                "review": "open" if n % 100 == 0 else "none",
                "doubt": n / ANSWERS,
                "signature": score.signature,
            }
            for n, (_, answer) in enumerate(ids)
        ]
        session.execute(insert(Mark), marks)
        return str(found.id)


def test_answers_scroll_and_filter_in_parts(visitor: Any, exam: str) -> None:
    page = visitor.sign_in("teacher").page
    visitor.received()
    rows = page.locator("li.row")
    visitor.go(f"/teach/exams/{exam}/marking/autograd")
    expect(rows).to_have_count(40)
    expect(page.locator("nav[data-more]")).to_contain_text("of 150")
    assert 0 < visitor.received() < LIMIT
    visitor.check("the first forty of 6,000")
    first = rows.first.inner_text()
    for seen in (80, 120):
        page.locator("[data-more]").scroll_into_view_if_needed()
        expect(rows).to_have_count(seen)
    assert visitor.received() < LIMIT
    assert len(set(rows.all_inner_texts())) == 120
    assert rows.first.inner_text() == first
    page.select_option("[name=which]", "waiting")
    page.click("form[role=search] button")
    expect(page.locator("main")).to_contain_text("60 answers")
    page.select_option("[name=which]", "all")
    page.select_option("[name=sort]", "doubt")
    page.click("form[role=search] button")
    expect(rows.first).to_contain_text("number 5999 ")
    page.fill("[name=q]", "needle")
    visitor.received()
    page.click("form[role=search] button")
    expect(rows).to_have_count(6)
    expect(rows.first).to_contain_text("number 5007 ")
    assert visitor.received() < LIMIT
    page.click("text=Start with the first")
    expect(page.locator("main")).to_contain_text("Answer 1 of 6")
    page.keyboard.press("n")
    expect(page.locator(".written").first).to_contain_text("number 4007 ")


def test_lists_of_candidates_go_on_while_one_scrolls(visitor: Any, exam: str) -> None:
    page = visitor.sign_in("teacher").page
    visitor.received()
    for path, first in (("results", 100), ("candidates", 200)):
        visitor.go(f"/teach/exams/{exam}/{path}")
        rows = page.locator("#rows tr")
        expect(rows).to_have_count(first)
        assert 0 < visitor.received() < LIMIT
        page.locator("[data-more]").scroll_into_view_if_needed()
        expect(rows).to_have_count(2 * first)
        assert len(set(rows.locator("th").all_inner_texts())) == 2 * first
        visitor.received()


def test_pages_of_a_large_exam_come_soon(visitor: Any, exam: str) -> None:
    visitor.sign_in("teacher")
    paths = ("", "/marking", "/marking/autograd?sort=doubt", "/results", "/statistics", "/candidates")
    for path in paths:
        took = []
        for _ in range(3):
            began = time.perf_counter()
            answer = visitor.context.request.get(f"{visitor.site.url}/teach/exams/{exam}{path}")
            took.append(time.perf_counter() - began)
            assert answer.status == 200
            assert len(answer.body()) < LIMIT, path
        assert min(took) < 1.0, f"{path}: {min(took):.2f} s"
    visitor.go(f"/teach/exams/{exam}/statistics")
    expect(visitor.page.locator("h2", has_text="Hardest components")).to_be_visible()


def test_without_scripts_there_are_pages(site: Any, chrome: Any, exam: str) -> None:
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url + "/sign-in")
    page.fill("[name=key]", site.keys["teacher"])
    page.click("form:has([name=key]) button")
    page.goto(f"{site.url}/teach/exams/{exam}/marking/autograd?sort=doubt")
    page.click("[data-more] a[rel=next]")
    assert "number 5959 " in page.locator("li.row").first.inner_text()
    context.close()
