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
    expect(tab.locator("h2")).to_contain_text(re.compile("This edit changes [1-3] marks"))
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


def test_parts_are_added_and_removed_by_keyboard(visitor: Any) -> None:
    page = visitor.sign_in("teacher").page
    visitor.go("/rubrics/zero-grad")
    definition = page.locator("details[data-path='components/definition']")
    definition.locator("summary").focus()
    page.keyboard.press("Enter")
    ideas = definition.locator("fieldset.part")
    before = ideas.count()
    definition.locator("button[value='add components/definition/elements']").focus()
    page.keyboard.press("Enter")
    expect(ideas).to_have_count(before + 1)
    expect(page.locator("#findings")).to_contain_text("must be corrected")
    expect(ideas.last.locator("[name$='/id']")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("by-hand")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("One clears by hand.\nThe program has to clear them.")
    page.keyboard.press("Tab")
    page.keyboard.type("hand | program")
    page.keyboard.press("Tab")
    expect(page.locator("#yaml")).to_have_value(re.compile("- id: by-hand\n.*\n.*- One clears by hand[.]\n"))
    expect(page.locator("#yaml")).to_have_value(re.compile("- \\[hand, program\\]"))
    expect(page.locator("#findings")).to_contain_text("can be stored")
    page.click("text=Add a misconception")
    expect(page.locator("details[data-key='misconception misconception-1'] [name$='/id']")).to_be_focused()
    visitor.check("the editor with new parts")
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("text=Remove misconception-1")
    expect(page.locator("#yaml")).not_to_have_value(re.compile("misconception-1"))
    expect(page.locator("#findings")).to_contain_text("can be stored")
    expect(definition).to_have_attribute("open", "")
    visitor.expected = ["422"]
    page.fill("[name=component]", "reason")
    page.click("text=Add a component")
    expect(page.locator("[data-problem]")).to_contain_text("'reason' is no new name")
    page.fill("[name=component]", "style")
    page.click("text=Add a component")
    expect(page.locator("[name='components/style/weight']")).to_be_focused()


def test_the_form_works_without_scripts(site: Any, chrome: Any) -> None:
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url + "/sign-in?next=/rubrics/new")
    page.fill("[name=key]", site.keys["teacher"])
    page.click("form:has([name=key]) button")
    page.goto(site.url + "/rubrics/new")
    assert "can be stored" in page.inner_text("#findings")
    page.fill("#yaml", page.input_value("#yaml").replace("id: new-question", "id: without-scripts"))
    page.click("details[data-path='components/reason'] > summary")
    page.fill("[name='components/reason/hint']", "Think of the cost.")
    page.click("details[data-path='components/reason'] button[value^='add ']")
    page.click("details[data-path='components/reason'] > summary")
    assert page.input_value("[name='components/reason/hint']") == "Think of the cost."
    assert "must be corrected" in page.inner_text("#findings")
    page.fill("[name='components/reason/elements/1/key_statements']", "It saves money.")
    page.click("text=Write the form into the YAML")
    assert "can be stored" in page.inner_text("#findings")
    page.click("text=Add a component")
    assert "is no new name" in page.inner_text("[role=alert]")
    page.click("details[data-path='components/reason'] > summary")
    page.click("text=Remove why")
    page.click("details[data-path='components/reason'] > summary")
    page.fill("[name='components/reason/weight']", "1.5")
    page.click("text=Store the rubric")
    page.wait_for_url(re.compile("/rubrics/without-scripts$"))
    text = page.input_value("#yaml")
    assert "hint: Think of the cost." in text
    assert "It saves money." in text
    assert "Because of this cause." not in text
    context.close()


def test_form_on_a_phone(visitor_as: Any) -> None:
    visitor = visitor_as(360, "dark", "de-DE")
    page = visitor.sign_in("teacher").page
    visitor.go("/rubrics/autograd")
    expect(page.locator("summary", has_text="Frage und Skala")).to_be_visible()
    visitor.check("the editor on a phone")
