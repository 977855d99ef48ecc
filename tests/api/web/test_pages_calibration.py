"""A teacher calibrates a question from a labelled file, puts it in force, and takes it back."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

VIEW = "A view shares the storage and never copies."
RESHAPE = "reshape copies when the strides do not fit."
WRONG = "They are both fruit."
HOME = "/rubrics/view-vs-reshape/calibration"


def _rows(count: int = 24) -> list[tuple[str, float]]:
    kinds = ((f"{VIEW} {RESHAPE}", 4.5), (VIEW, 2.5), (RESHAPE, 2), (WRONG, 0))
    return [(f"{kinds[n % 4][0]} Case {n}.", kinds[n % 4][1]) for n in range(count)]


def _file(folder: Path, rows: list[tuple[Any, ...]], *more: str) -> Path:
    path = folder / "labels.csv"
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("response", "human_score", *more), *rows])
    return path


@pytest.fixture
def exam(site: Any) -> str:
    """An exam whose answers have marks already."""
    from starlette.testclient import TestClient

    from api.app import create_app

    app = create_app(site.svc.settings, site.svc.scorer.get())
    head = {"Authorization": f"Bearer {site.keys['teacher']}"}
    client = TestClient(app)
    body = {"title": "Views", "items": [{"item": "view-vs-reshape"}], "take_from_practice": True}
    made = client.post("/v1/exams", json=body, headers=head).json()["id"]
    answers = [
        {"candidate": f"c{n}", "item": "view-vs-reshape", "response": f"{text} Yes."}
        for n, (text, _) in enumerate(_rows(10))
    ]
    assert client.post(f"/v1/exams/{made}/answers", json={"answers": answers}, headers=head).status_code == 201
    client.post(f"/v1/exams/{made}/grade", headers=head)
    client.close()
    return str(made)


def _upload(page: Any, path: Path) -> None:
    page.set_input_files("[name=file]", path)
    page.click("text=Read the table")


def test_calibrate_from_a_labelled_file(visitor: Any, exam: str, tmp_path: Path) -> None:
    page = visitor.sign_in("teacher").page
    visitor.go("/rubrics/view-vs-reshape")
    page.click("a:text-is('Calibration')")
    expect(page.locator("button", has_text="Fit to 0 marked answers")).to_be_disabled()
    visitor.check("before the first label")
    visitor.expected = ["422"]
    _upload(page, _file(tmp_path, [("x", "good"), ("y", 7)]))
    expect(page.locator("[role=alert]")).to_contain_text("row 2, column human_score")
    expect(page.locator("[role=alert]")).to_contain_text("row 3, column human_score")
    visitor.check("a refused table")
    visitor.go(HOME)
    _upload(page, _file(tmp_path, [*_rows(), (_rows()[0][0], 1)]))
    expect(page.locator(".notice.warn")).to_contain_text("Rows 2, 26")
    visitor.check("the preview")
    page.click("text=Store 25 marked answers")
    page.click("text=Fit to 25 marked answers")
    expect(page.locator("tbody a.mono")).to_be_visible()
    visitor.check("the calibrations")
    page.click("tbody a.mono")
    expect(page.locator("h2", has_text="In words")).to_be_visible()
    expect(page.frame_locator("iframe.report").locator("h1")).to_contain_text("Calibration")
    expect(page.frame_locator("iframe.report").locator("svg").first).to_be_visible()
    visitor.check("one calibration")
    _compare(page, visitor)
    page.click("text=Put in force")
    expect(page.locator(".chip.good")).to_have_text("in force")
    _suggest(page, visitor)
    _sample(page, visitor)
    page.click(".fact a")
    expect(page.locator("li.row")).to_have_count(28)
    expect(page.locator("li.row", has_text="from the random sample")).to_have_count(1)
    visitor.check("the marked answers")
    page.click("text=Remove >> nth=0")
    expect(page.locator("li.row")).to_have_count(27)
    visitor.go(HOME)
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("text=Roll back to the one before")
    expect(page.locator(".fact", has_text="In force")).to_contain_text("none")
    with page.expect_download() as found:
        page.click("tbody a.mono")
        page.click("text=Download the file")
    assert Path(found.value.path()).read_bytes()[:2] == b"PK"


def _compare(page: Any, visitor: Any) -> None:
    page.click("button:text-is('Compare')")
    expect(page.locator("h2", has_text=re.compile(r"\d+ of 10 marks would change"))).to_be_visible()
    visitor.check("the comparison")
    page.go_back()
    if "comparisons" in page.url:
        page.go_back()


def _suggest(page: Any, visitor: Any) -> None:
    page.fill("[name=number]", "3")
    page.click("text=Suggest answers")
    fields = page.locator("input[name^=score-]")
    expect(fields).to_have_count(3)
    visitor.check("suggestions")
    fields.nth(0).fill("2.5")
    fields.nth(1).focus()
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    expect(page.locator(".fact", has_text="Marked answers")).to_contain_text("27")


def _sample(page: Any, visitor: Any) -> None:
    page.click("text=Take the decisions over")
    expect(page.locator("[role=status].notice")).to_contain_text("Decisions taken over as labels: 0")
    page.click("text=Mark the sample >> nth=0")
    expect(page.locator("input[name^=score-]")).to_have_count(8)
    visitor.check("the random sample")
    page.locator("input[name^=score-]").first.fill("1")
    page.click("text=Store the marks")
    expect(page.locator(".fact", has_text="Marked answers")).to_contain_text("28")


@pytest.mark.parametrize(("width", "scheme", "language"), [(360, "dark", "de-DE"), (360, "light", "hi-IN")])
def test_narrow_dark_and_translated(
    visitor_as: Callable[..., Any], width: int, scheme: str, language: str, tmp_path: Path
) -> None:
    visitor = visitor_as(width, scheme, language)
    page = visitor.sign_in("teacher").page
    visitor.go("/rubrics/autograd/calibration")
    _file(tmp_path, _rows(12))
    page.set_input_files("[name=file]", tmp_path / "labels.csv")
    page.click("form[enctype] button")
    page.wait_for_url(re.compile("/labels/"))
    visitor.check("the preview")
    page.click("form.stack button")
    page.click("form[action$=fit] button")
    page.wait_for_selector("tbody a.mono")
    visitor.check("the calibrations")
    page.locator("tbody a.mono").first.click()
    page.wait_for_selector("iframe.report")
    report = page.frame_locator("iframe.report")
    expect(report.locator("html")).to_have_attribute("lang", language[:2])
    expect(report.locator("h2", has_text="Worst disagreements")).to_have_count(0)
    visitor.check("one calibration")
