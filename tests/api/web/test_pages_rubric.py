"""The rubric editor says what an edit would do to an exam."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect
from sqlalchemy import select

from api.db.models import Answer, Candidate, Exam, ExamItem, ItemRow
from api.exams import start_job


def _graded_exam(site: Any) -> None:
    texts = ("backward() clears nothing, so gradients add up.", "Gradients accumulate in .grad.", "I like trains.")
    with site.svc.db.write() as session:
        item = session.scalar(select(ItemRow).where(ItemRow.slug == "zero-grad"))
        exam = Exam(org_id=site.org_id, title="Gradients", created_by="test")
        session.add(exam)
        session.flush()
        session.add(
            ExamItem(exam_id=exam.id, position=0, org_id=site.org_id, item_id=item.id, version=item.version, weight=5)
        )
        for text in texts:
            candidate = Candidate(org_id=site.org_id)
            session.add(candidate)
            session.flush()
            session.add(
                Answer(org_id=site.org_id, exam_id=exam.id, item_id=item.id, candidate_id=candidate.id, text=text)
            )
        session.flush()
        start_job(session, exam, "test", 100)


def test_what_an_edit_changes(site: Any, visitor: Any) -> None:
    _graded_exam(site)
    page = visitor.sign_in("teacher").page
    visitor.go("/rubrics/zero-grad")
    text = page.input_value("[name=yaml]")
    page.fill("[name=yaml]", text.replace("weight: 2.4", "weight: 0.4", 1).replace("weight: 1.5", "weight: 3.5", 1))
    with page.expect_popup() as opened:
        page.click("text=What would this edit change?")
    tab = opened.value
    expect(tab.locator("h2")).to_contain_text(re.compile("This edit changes [1-3] marks"), timeout=30_000)
    expect(tab.locator(".fact", has_text="Compared")).to_contain_text("3")
    assert page.input_value("[name=yaml]") != text, "the editor keeps the edit"
    visitor.page = tab
    visitor.check("the preview of an edit")


def test_form_and_yaml_follow_each_other(visitor: Any) -> None:
    page = visitor.sign_in("teacher").page
    visitor.go("/rubrics/zero-grad")
    weight = page.locator("[name='components/definition/weight']")
    page.locator("summary", has_text="Definition").click()
    expect(weight).to_have_value("2.4")
    weight.fill("1.5")
    weight.press("Tab")
    expect(page.locator("#yaml")).to_have_value(re.compile("definition:\n    weight: 1.5"))
    expect(page.locator("#findings")).to_contain_text("can be stored")
    page.fill("#yaml", page.input_value("#yaml").replace("weight: 1.5", "weight: 2.0", 1))
    expect(weight).to_have_value("2.0")
    expect(weight).to_be_visible()
    visitor.check("the editor with its form")
    visitor.expected = ["422"]
    page.locator("[name='components/definition/elements/0/key_statements']").fill(" ")
    weight.focus()
    expect(page.locator("[data-problem]")).to_contain_text("key_statements is empty")
    page.fill("#yaml", "a: [")
    expect(page.locator("[data-fields]")).to_contain_text("The YAML cannot be read")


def test_form_on_a_phone(visitor_as: Any) -> None:
    visitor = visitor_as(360, "dark", "de-DE")
    page = visitor.sign_in("teacher").page
    visitor.go("/rubrics/autograd")
    expect(page.locator("summary", has_text="Frage und Skala")).to_be_visible()
    visitor.check("the editor on a phone")
