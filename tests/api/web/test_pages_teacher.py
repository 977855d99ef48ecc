"""A teacher's way: upload, watch, decide, regrade with a dry run, export."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

SAMPLE = Path(__file__).parents[2] / "data" / "formats" / "moodle_en.csv"
CHANGED = "Checked by hand"


def _new_exam(page: Any, title: str, *slugs: str) -> str:
    page.click("text=New exam")
    page.fill("[name=title]", title)
    for slug in slugs:
        page.check(f"[name=item][value={slug}]")
    page.fill("[name=boundaries]", "A 85\nB 50")
    page.click("text=Create the exam")
    page.wait_for_url(re.compile("/teach/exams/[0-9a-f]{27}$"))
    return str(page.url)


def _upload(page: Any, visitor: Any) -> None:
    page.click("nav.subnav >> text=Upload")
    visitor.check("the upload form")
    page.set_input_files("[name=file]", SAMPLE)
    page.click("text=Read the table")
    page.wait_for_url(re.compile("/uploads/"))
    notes = page.locator(".notice.warn")
    expect(notes).to_contain_text(re.compile(r"Row \d+"))
    expect(page.locator("td .written").first).to_contain_text("A view, which shares the storage.")
    visitor.check("the preview")
    page.select_option("[name=item-0]", "view-vs-reshape")
    for at in range(1, int(page.input_value("[name=questions]"))):
        page.select_option(f"[name=item-{at}]", "")
    page.select_option("[name=attempts]", "first")
    page.click("text=Store the answers")
    expect(page.locator(".notice.good")).to_contain_text("The answers are stored.")


def test_upload_watch_override_regrade_export(visitor: Any) -> None:
    page = visitor.sign_in("teacher").page
    expect(page.locator("h1")).to_have_text("Exams")
    home = _new_exam(page, "PyTorch <b>7b</b>", "view-vs-reshape")
    expect(page.locator("h1")).to_have_text("PyTorch <b>7b</b>")
    _upload(page, visitor)
    page.click("text=Start grading")
    expect(page.locator("text=All answers have a mark")).to_be_visible()
    visitor.check("the overview")
    _override(page, visitor)
    _dry_run(page, visitor, home)
    page.goto(home + "/results")
    visitor.check("the results")
    with page.expect_download() as found:
        page.click("a:text-is('CSV')")
    text = Path(found.value.path()).read_text("utf-8-sig")
    assert "view-vs-reshape" in text
    assert "4.5" in text
    page.click("text=what will change")
    visitor.check("the report")
    with page.expect_download() as found:
        page.click("text=Download the table")
    assert "Tavi, Jr." in Path(found.value.path()).read_text("utf-8-sig")
    page.click("nav.subnav >> text=Statistics")
    expect(page.locator("h2", has_text="Hardest components")).to_be_visible()
    visitor.check("the statistics")


def _override(page: Any, visitor: Any) -> None:
    page.click("nav.subnav >> text=Marking")
    visitor.check("the questions to mark")
    page.click("a.row-main")
    visitor.check("the answers to mark")
    page.click("text=Start with the first")
    expect(page.locator("h2", has_text="Your decision")).to_be_visible()
    visitor.check("one answer")
    page.keyboard.press("e")
    assert page.evaluate("document.activeElement.id") == "part-1"
    page.keyboard.press("Escape")
    page.select_option("[name=score]", "4.5")
    page.fill("[name=comment]", "Well said. <i>Really</i>")
    page.click("text=Store the mark")
    expect(page.locator("#pane-actions + .mark-line .mark")).to_have_text("4.5")
    expect(page.locator("#pane-actions + .mark-line")).to_contain_text("changed by a person")
    page.locator("summary", has_text="History").click()
    expect(page.locator(".history").first).to_contain_text(CHANGED)
    page.keyboard.press("u")
    expect(page.locator("#pane-actions + .mark-line")).not_to_contain_text("changed by a person")
    page.fill("#part-1", "0")
    page.fill("#part-2", "0")
    page.fill("#part-3", "0")
    expect(page.locator("[data-total]")).to_have_text("0")
    page.select_option("[name=score]", "4.5")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#pane-actions + .mark-line .mark")).to_have_text("4.5")
    first = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != first)
    with page.expect_navigation():
        page.keyboard.press("s")


def _dry_run(page: Any, visitor: Any, home: str) -> None:
    page.goto(home + "/regrade")
    visitor.check("the regrade form")
    page.click("text=Start the dry run")
    expect(page.locator("text=This edit changes")).to_be_visible()
    expect(page.locator(".fact", has_text="By a person, stay")).to_contain_text(re.compile("[1-9]"))
    visitor.check("the dry run")
    page.fill("[name=reason]", "Checked twice")
    page.click("text=Apply to the marks")
    expect(page.locator("text=The new marks are stored")).to_be_visible()


def test_a_wrong_file_is_told_and_nothing_stored(visitor: Any, tmp_path: Path) -> None:
    visitor.expected = ["422"]
    page = visitor.sign_in("teacher").page
    home = _new_exam(page, "Empty", "view-vs-reshape")
    page.goto(home + "/uploads")
    path = tmp_path / "wrong.xlsx"
    path.write_bytes(b"PK\x03\x04 no table")
    page.set_input_files("[name=file]", path)
    page.click("text=Read the table")
    expect(page.locator("[role=alert]")).to_be_visible()
    visitor.check("a refused table")
    page.goto(home)
    assert page.locator(".fact", has_text="Answers").locator("dd").inner_text() == "0"


def test_rubric_lint_try_store_and_difference(visitor: Any) -> None:
    page = visitor.sign_in("teacher").page
    page.click("nav.main >> text=Rubrics")
    visitor.check()
    page.click("a.row-main >> text=How does autograd")
    expect(page.locator("#findings")).to_contain_text("can be stored")
    visitor.check("the editor")
    text = page.input_value("[name=yaml]")
    page.fill("[name=yaml]", text.replace("prompt:", "promt:", 1))
    expect(page.locator("#findings")).to_contain_text("must be corrected")
    page.fill("[name=yaml]", text.replace("in PyTorch?", "in PyTorch, and why?", 1))
    expect(page.locator("#findings")).to_contain_text("can be stored")
    page.fill("#samples", "The graph is recorded and the chain rule goes back.\n\nI like trains.")
    page.click("text=Mark the samples")
    expect(page.locator("#tried article")).to_have_count(2)
    visitor.check("tried samples")
    page.click("text=Store as version")
    expect(page.locator("h1")).to_have_text("How does autograd compute gradients in PyTorch, and why?")
    page.click("a:text-is('difference')")
    expect(page.locator(".diff .plus")).to_contain_text("and why?")
    visitor.check("the difference")


def test_admin_makes_keys_and_invites(visitor: Any) -> None:
    page = visitor.sign_in("admin").page
    page.click("nav.main >> text=Administration")
    visitor.check()
    page.fill("[name=label]", "Room 12")
    page.click("text=Make the key")
    expect(page.locator("code.secret")).to_contain_text("gk_")
    page.fill("[name=email]", "rater@school.example")
    page.click("button:text-is('Invite')")
    link = page.locator("code.secret").inner_text()
    page.goto(link)
    visitor.check()
    page.fill("[name=password]", "a long password")
    page.fill("[name=again]", "a long password")
    page.click("text=Set the password >> nth=-1")
    page.wait_for_url(re.compile("/sign-in"))
    page.fill("[name=email]", "rater@school.example")
    page.fill("[name=password]", "a long password")
    page.click("form:has([name=email]) button")
    expect(page.locator("h1")).to_have_text("Exams")
