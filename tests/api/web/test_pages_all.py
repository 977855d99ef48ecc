"""Every page there is, filled: sound for axe, no wider than the window, small, soon ready, and silent."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.web.routes import ROUTERS

SLUG = "no-softmax-before-ce"
LIMIT = 200_000
#: Files, streams and forwardings, which are no pages.
NO_PAGES = {
    "/static/{name:path}",
    "/favicon.ico",
    "/teach/jobs/{job_id}/events",
    "/teach/exams/{exam_id}/marks.{kind}",
    "/teach/exams/{exam_id}/uploads/{upload_id}/marked",
    "/rubrics/{slug}/calibration/{calibration_id}/file",
}
RIGHT = "CrossEntropyLoss applies log_softmax itself and expects raw logits; a softmax before it is one too many."
NASTY = '<script>document.title="x"</script><img src=x onerror=alert(1)> שלום 🚀 \u202eabc مرحبا {{ 7*7 }}'
ANSWERS = (RIGHT, RIGHT, f"{RIGHT} Yes.", "They are the same function.", NASTY, "word " * 5000, "")


class Staff:
    """A teacher who uses the API."""

    def __init__(self, site: Any) -> None:
        self.client = TestClient(create_app(site.svc.settings, site.svc.scorer.get()))
        self.head = {"Authorization": f"Bearer {site.keys['teacher']}"}

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        head = {**self.head, **more.pop("headers", {})}
        answer = self.client.request(method, f"/v1{path}", json=body, headers=head, **more)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def finished(self, job: Any) -> str:
        while self.call("GET", f"/jobs/{job['id']}")["state"] == "active":
            time.sleep(0.1)
        return str(job["id"])


@pytest.fixture(scope="module")
def places(site: Any) -> dict[str, str]:
    """Ids of everything in a site where everything was used."""
    staff = Staff(site)
    body = {"title": "All pages", "items": [{"item": SLUG}], "take_from_practice": True, "pass_percent": 50}
    exam = staff.call("POST", "/exams", body)["id"]
    rows = [{"candidate": f"p{n}", "item": SLUG, "response": text} for n, text in enumerate(ANSWERS)]
    staff.call("POST", f"/exams/{exam}/answers", {"answers": rows})
    table = {"file": ("more.csv", io.BytesIO(f'candidate,{SLUG}\nx1,"{RIGHT}"\n'.encode()))}
    upload = staff.call("POST", f"/exams/{exam}/uploads", files=table)["id"]
    staff.call("POST", f"/exams/{exam}/uploads/{upload}/apply", {"mapping": {SLUG: SLUG}})
    staff.finished(staff.call("POST", f"/exams/{exam}/grade"))
    labels = [{"response": f"{ANSWERS[n % 4]} Case {n}.", "human_score": (4, 4, 4.5, 1)[n % 4]} for n in range(14)]
    staff.call("POST", f"/items/{SLUG}/labels", {"labels": labels})
    staff.finished(staff.call("POST", f"/items/{SLUG}/calibrations", {}))
    calibration = staff.call("GET", f"/items/{SLUG}/calibrations")["data"][0]["id"]
    table = {"file": ("labels.csv", io.BytesIO(f"response,human_score\n{RIGHT},4\n".encode()))}
    labelled = staff.call("POST", f"/items/{SLUG}/labels/uploads", files=table)["id"]
    content = staff.call("GET", f"/items/{SLUG}")["content"]
    edited = {"exam": exam, "content": {**content, "prompt": f"{content['prompt']} Why?"}}
    preview = staff.finished(staff.call("POST", f"/items/{SLUG}/edit-previews", edited))
    other = {"exam": exam, "other": "none"}
    comparison = staff.finished(staff.call("POST", f"/calibrations/{calibration}/comparisons", other))
    suggestion = staff.finished(staff.call("POST", f"/exams/{exam}/items/{SLUG}/suggestions", {"number": 3}))
    regrade = staff.finished(staff.call("POST", f"/exams/{exam}/regrades", {"items": [{"item": SLUG}]}))
    revision = staff.call("GET", f"/exams/{exam}")["revision"]
    staff.call("POST", f"/exams/{exam}/release", headers={"If-Match": f'"{revision}"'})
    found = staff.call("GET", f"/exams/{exam}/items/{SLUG}/results")["data"]
    nasty = next(one for one in found if one["text"] == NASTY)
    site.keys["examinee"] = site.key("candidate", nasty["candidate"])[0]
    return {
        "exam_id": exam,
        "upload_id": upload,
        "labelled": labelled,
        "answer_id": nasty["answer"],
        "long": next(one["answer"] for one in found if one["text"].startswith("word")),
        "candidate_id": nasty["candidate"],
        "calibration_id": calibration,
        "preview": preview,
        "comparison": comparison,
        "suggestion": suggestion,
        "regrade": regrade,
        "slug": SLUG,
    }


def _filled(template: str, places: dict[str, str]) -> str:
    """The address of a page."""
    own = {
        "/teach/regrades/{job_id}": "regrade",
        "/rubrics/{slug}/preview/{job_id}": "preview",
        "/rubrics/{slug}/calibration/suggestions/{job_id}": "suggestion",
        "/rubrics/{slug}/calibration/comparisons/{job_id}": "comparison",
    }
    values = {**places, "job_id": places[own.get(template, "regrade")]}
    if template.endswith("labels/{upload_id}"):
        values["upload_id"] = places["labelled"]
    query = {"audit": f"?exam={places['exam_id']}", "diff": "?old=1&new=1"}.get(template.rpartition("/")[2], "")
    return template.format(**values) + query


def _templates(*begin: str) -> list[str]:
    paths = {route.path for one in ROUTERS for route in one.routes if "GET" in getattr(route, "methods", ())}
    return sorted(path for path in paths - NO_PAGES if path.startswith(begin))


STAFF = _templates("/teach", "/rubrics", "/admin")
REST = ["/", "/sign-in", "/set-password", "/practice", "/practice/{slug}", "/viva", "/checks", "/checks/{slug}"]
MINE = ["/my", "/my/{exam_id}", "/viva/{viva_id}"]


def _soon_ready(page: Any) -> bool:
    """Whether the page in the window was interactive within a second, once in three loads."""
    for _ in range(3):
        timing = page.evaluate("performance.getEntriesByType('navigation')[0].domInteractive")
        if timing < 1000:
            return True
        page.reload()
    return False


def _visit_all(visitor: Any, paths: list[str]) -> None:
    wrong = []
    for path in paths:
        try:
            _visit(visitor, path)
        except AssertionError as error:
            wrong.append(str(error)[:600])
    assert not wrong, "\n".join(wrong)


def _visit(visitor: Any, path: str) -> None:
    page = visitor.context.new_page()
    page.set_default_timeout(40_000)
    visitor.page = page
    visitor.watch()
    visitor.received()
    answer = page.goto(visitor.site.url + path)
    assert answer.status == 200, path
    page.wait_for_load_state("networkidle")
    size = visitor.received()
    assert 0 < size < LIMIT, f"{path}: {size:,} bytes"
    visitor.check(path)
    assert _soon_ready(page), path
    page.close()


def test_no_page_is_forgotten() -> None:
    assert set(_templates("/")) == {*STAFF, *REST, *MINE}


VIEWS = [(360, "dark", "hi"), (1440, "light", "de")]


@pytest.mark.parametrize(("width", "scheme", "language"), VIEWS)
def test_pages_of_teachers(
    visitor_as: Callable[..., Any], places: dict[str, str], width: int, scheme: str, language: str
) -> None:
    visitor = visitor_as(width, scheme, language).sign_in("admin")
    paths = [_filled(template, places) for template in STAFF]
    _visit_all(visitor, [*paths, f"/teach/answers/{places['long']}"])


@pytest.mark.parametrize(("width", "scheme", "language"), VIEWS)
def test_pages_of_candidates(
    visitor_as: Callable[..., Any], places: dict[str, str], width: int, scheme: str, language: str
) -> None:
    visitor = visitor_as(width, scheme, language)
    _visit_all(visitor, [_filled(template, places) for template in REST])
    visitor.page = visitor.context.new_page()
    visitor.go("/viva")
    visitor.page.click("main form button")
    visitor.page.wait_for_url("**/viva/*")
    _visit(visitor, visitor.page.url.removeprefix(visitor.site.url))
    visitor.page = visitor.context.new_page()
    visitor.sign_in("examinee")
    _visit_all(visitor, [_filled(template, places) for template in MINE[:2]])


def test_answers_show_as_written_wherever_they_are_shown(visitor: Any, places: dict[str, str]) -> None:
    page = visitor.sign_in("teacher").page
    page.on("dialog", lambda dialog: (_ for _ in ()).throw(AssertionError(dialog.message)))
    shown = [
        (f"/teach/answers/{places['answer_id']}", ".written"),
        (f"/teach/exams/{places['exam_id']}/marking/{SLUG}?q=onerror", "a.row-main"),
        (f"/teach/exams/{places['exam_id']}/feedback/{places['candidate_id']}", "blockquote"),
    ]
    for path, where in shown:
        visitor.go(path)
        assert page.locator(where).first.text_content().strip() == NASTY
        assert page.locator("main img, main script").count() == 0
    visitor.go(f"/teach/answers/{places['long']}")
    assert page.locator(".written").first.text_content() == ANSWERS[5]
    page.context.clear_cookies()
    visitor.sign_in("examinee")
    visitor.go(f"/my/{places['exam_id']}")
    assert page.locator(".written").first.text_content() == NASTY
    assert page.locator("main img, main script").count() == 0
