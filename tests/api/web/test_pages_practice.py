"""A candidate practises: answers, improves, and sees what was written exactly as it was written."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import expect

FIRST = "Autograd records operations in a graph."
BETTER = (
    "Autograd records the operations on tensors that require grad in a graph, and backward() applies the chain rule. "
    "It starts at the scalar loss because one sweep gives all derivatives. For x = 3, y = x ** 2, x.grad is 6."
)


def test_a_guest_answers_and_improves(visitor: Any) -> None:
    page = visitor.go("/practice")
    visitor.check()
    page.click("text=autograd >> nth=0")
    page.click("a.row-main >> text=How does autograd")
    page.fill("#response", FIRST)
    expect(page.locator("#count")).to_have_text("6 words")
    page.click("text=Check my answer")
    expect(page.locator("#result-head")).to_be_visible()
    assert page.locator("#result meter").count() == 3
    first = float(page.locator("#result .mark").inner_text())
    assert page.locator("#result .written").first.inner_text() == FIRST
    assert page.locator("#result .remarks", has_text="What is missing").is_visible()
    page.locator("summary", has_text="Hint 1").click()
    assert not page.locator("summary", has_text="Show a full answer").count()
    page.fill("#response", BETTER)
    page.click("text=Check my answer")
    expect(page.locator(".delta.big")).to_be_visible()
    assert float(page.locator("#result .mark").inner_text()) > first
    page.locator("summary", has_text="What you changed").click()
    assert page.locator("#result ins").count() > 0
    assert "sweep" not in page.locator("#model").inner_text()
    page.click("text=Show a full answer")
    expect(page.locator(".model")).to_contain_text("During the forward pass")
    visitor.check("the result")


def test_the_draft_is_kept_on_this_device(visitor: Any) -> None:
    page = visitor.go("/practice/zero-grad")
    page.fill("#response", "A half-finished thought")
    page.reload()
    assert page.input_value("#response") == "A half-finished thought"
    assert page.get_attribute("#response", "spellcheck") == "false"


def test_not_knowing_but_finding_out_is_an_answer(visitor: Any) -> None:
    page = visitor.go("/practice/autograd")
    page.check("[name=mode][value=find_out]")
    page.fill("#response", "taking y = x * x for x = 3, calling backward() and comparing x.grad with calculus.")
    page.click("text=Check my answer")
    expect(page.locator("#result .written").first).to_contain_text("I don't know, but I would find out by taking")


def test_answers_show_as_written_and_execute_nothing(visitor: Any) -> None:
    page = visitor.go("/practice/autograd")
    html = '<script>document.title="x"</script><img src=x onerror=alert(1)> & "quotes" {{ 7*7 }}'
    nasty = html + "\nשלום עולם 🚀 \u202eabc مرحبا"
    page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(dialog.message)))
    page.fill("#response", nasty)
    page.click("text=Check my answer")
    expect(page.locator("#result-head")).to_be_visible()
    assert page.locator("#result .written").first.text_content() == nasty
    assert page.locator("#result img, #result script").count() == 0
    page.fill("#response", "word " * 5000)
    page.click("text=Check my answer")
    expect(page.locator("#count")).to_have_text("5000 words")
    expect(page.locator("#result .written").first).to_contain_text("word word")


def test_practice_works_without_scripts(site: Any, chrome: Any) -> None:
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url + "/practice/autograd")
    for text in (FIRST, BETTER):
        page.fill("#response", text)
        page.click("text=Check my answer")
        assert page.locator("#result .written").first.inner_text() == text
    assert page.locator(".delta.big").is_visible()
    context.close()


def test_everything_is_there_by_keyboard(visitor: Any) -> None:
    page = visitor.go("/practice/zero-grad")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "response":
            break
    page.keyboard.type("The gradients accumulate.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#result-head")).to_be_focused()


def test_viva_asks_on_and_sums_up(visitor: Any) -> None:
    page = visitor.go("/viva")
    visitor.check()
    page.select_option("[name=count]", "1")
    page.click("text=Begin")
    page.wait_for_url(re.compile("/viva/"))
    for _ in range(4):
        if page.locator("text=What to revise").count():
            break
        before = page.locator("article.turn").count()
        page.fill("#say", "It records what was done and goes back by the chain rule.")
        page.click("button:text-is('Answer')")
        expect(page.locator("article.turn")).to_have_count(before + 1)
    expect(page.locator("h3", has_text="What to revise")).to_be_visible()
    visitor.check("a finished viva")


def test_the_hindi_quick_check(visitor: Any) -> None:
    page = visitor.go("/checks/no-softmax-before-ce")
    label = page.locator("main [lang=hi]", has_text="त्वरित जाँच")
    expect(label).to_be_visible()
    page.click("button[name=language][value=hi]")
    page.locator(".option", has_text="runs log_softmax itself").first.click()
    page.click("main form button:not([name])")
    expect(page.locator(".option.right")).to_contain_text("runs log_softmax itself")
    expect(page.locator("h2 .chip.good")).to_have_text("सही")
    assert page.locator(".option").count() == page.locator(".option span[dir=auto]:last-child").count() >= 3
    expect(label).to_be_visible()
    visitor.check("an answered check in Hindi")


def test_quick_check_tells_why(visitor: Any) -> None:
    page = visitor.go("/checks")
    visitor.check()
    page.click("a.row-main >> text=How does autograd")
    page.locator(".option", has_text="tensor(8.)").first.click()
    page.locator("summary", has_text="How sure").click()
    page.check("[name=sure][value='3']")
    page.click("button:text-is('Check')")
    expect(page.locator(".picked-wrong")).to_contain_text("8 is the value of y")
    expect(page.locator(".option.right")).to_contain_text("The derivative of x cubed")
    expect(page.locator("h2 .chip").nth(1)).to_have_text("−6")
    visitor.check("an answered quick check")
