"""From labelled answers to a calibration that marks exams and practice, and back."""

from __future__ import annotations

import csv
import io
import re

import pytest
from sqlalchemy import select

from api import calibrations
from api.db import new_id
from api.db.models import CalibrationRow, ItemRow, Label
from api.web.access import KEY_COOKIE, key_cookie
from grader.calibration import load_calibration

GOOD = ("It keeps results for later use.", "A cache keeps results so that they can be used later.")
WHY = ("Computing again would take longer.", "Because it takes long to compute again.")
BAD = ("Bananas are yellow.", "It is a kind of wood.", "The computer has a screen.", "A cache deletes all files.")


def labelled_rows(count=24):
    """Answers with a teacher's marks: strict about the reason, generous about the definition."""
    rows = []
    for n in range(count):
        kind = n % 4
        if kind == 0:
            rows.append((f"{GOOD[n % 2]} {WHY[n // 4 % 2]} Case {n}.", 4.5))
        elif kind == 1:
            rows.append((f"{GOOD[n // 4 % 2]} Example {n}.", 3.0 + 0.5 * (n % 3 == 0)))
        elif kind == 2:
            rows.append((f"{WHY[n // 4 % 2]} Number {n}.", 1.0))
        else:
            rows.append((f"{BAD[n // 4 % 4]} Really {n}.", 0.0))
    return rows


def table(rows, header=("response", "human_score")):
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    return out.getvalue().encode()


def send(service, content, item="practice-one", name="labels.csv", who=None, **form):
    return service.client.post(
        f"/v1/items/{item}/labels/uploads",
        files={"file": (name, content)},
        data=form,
        headers=who or service.teacher,
    )


def store(service, rows, item="practice-one", **more):
    made = send(service, table(rows), item)
    assert made.status_code == 201, made.text
    return service.call("POST", f"/items/{item}/labels/uploads/{made.json()['id']}/apply", more)


def fit(service, item="practice-one", **body):
    job = service.call("POST", f"/items/{item}/calibrations", body)
    service.work()
    done = service.call("GET", f"/jobs/{job['id']}")
    assert done["state"] == "done", done
    return service.call("GET", f"/calibrations/{done['calibration']}")


@pytest.fixture(scope="module")
def example(build_service, tmp_path_factory):
    """A calibration as it was stored, fitted once for all tests."""
    service = build_service(tmp_path_factory.mktemp("example"))
    store(service, labelled_rows())
    fit(service)
    with service.client.app.state.services.db.read() as session:
        row = session.scalars(select(CalibrationRow)).one()
        return {column: getattr(row, column) for column in CalibrationRow.__table__.columns.keys()}  # noqa: SIM118


@pytest.fixture
def fitted(service, example):
    """A service with labels and the calibration fitted to them."""
    store(service, labelled_rows())
    with service.client.app.state.services.db.write() as session:
        item = session.scalars(select(ItemRow).where(ItemRow.slug == "practice-one")).one()
        ids = session.scalars(select(Label.id).where(Label.item_id == item.id).order_by(Label.id)).all()
        own = {"id": new_id(), "org_id": service.org_id, "item_id": item.id, "label_ids": ids}
        row = CalibrationRow(**{**example, **own})
        session.add(row)
    return service, service.call("GET", f"/calibrations/{row.id}")


def answered_exam(service, count=8):
    exam = service.exam(("practice-one",))
    texts = {f"{n:03}": {"practice-one": text + " Indeed."} for n, (text, _) in enumerate(labelled_rows(count))}
    service.answer(exam["id"], texts)
    return exam


def grade(service, exam):
    service.call("POST", f"/exams/{exam['id']}/grade")
    service.work()
    return service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"]


def test_preview_stores_nothing_and_apply_stores_once(service):
    rows = [(text, mark, mark, "A" if at % 2 else "B") for at, (text, mark) in enumerate(labelled_rows())]
    rows += [("blank mark", "", "", "B"), (rows[0][0], 1, 1, "A")]
    made = send(service, table(rows, ("Response", "HUMAN_SCORE", "human_score_2", "group")), subgroup="group").json()
    seen = made["preview"]
    assert (seen["labelled"], seen["unmarked"], seen["second_marks"]) == (25, 1, 25)
    assert seen["subgroups"] == {"B": 12, "A": 13}
    assert seen["same_answer_other_mark"] == [[2, 27]]
    assert seen["distribution"]["0"] == 6
    assert service.call("GET", "/items/practice-one/labels")["data"] == []
    path = f"/items/practice-one/labels/uploads/{made['id']}"
    assert service.call("GET", path) == made
    assert service.call("POST", f"{path}/apply", {}) == {"added": 25, "unchanged": 0, "removed": 0, "labels": 25}
    again = service.client.post(f"/v1{path}/apply", json={}, headers=service.teacher)
    assert again.json()["code"] == "wrong-state"
    second = send(service, table(rows, ("response", "human_score", "human_score_2", "group")), subgroup="group").json()
    path = f"/items/practice-one/labels/uploads/{second['id']}"
    assert service.call("POST", f"{path}/apply", {})["unchanged"] == 25
    labels = service.call("GET", "/items/practice-one/labels?limit=20")
    assert len(labels["data"]) == 20
    rest = service.call("GET", f"/items/practice-one/labels?cursor={labels['next']}")
    assert len(rest["data"]) == 5
    assert {one["subgroup"] for one in rest["data"]} == {"A", "B"}
    gone = service.call("DELETE", f"/items/practice-one/labels/{rest['data'][0]['id']}")
    assert gone["labels"] == 24
    assert store(service, labelled_rows(12), replace=True) == {
        "added": 12, "unchanged": 0, "removed": 24, "labels": 12,
    }  # fmt: skip


BAD_TABLES = {
    "score": (table([("x", 1)], ("response", "score")), "machine's marks"),
    "no response": (table([("x", 1)], ("answer", "human_score")), "no column 'response'"),
    "outside": (table([("x", 1), ("y", 5.5)]), "row 3, column human_score"),
    "text": (table([("x", "good")]), "'good' is no number"),
    "second": (table([("x", 1, -1)], ("response", "human_score", "human_score_2")), "row 2, column human_score_2"),
    "component": (table([("x", 1, 1)], ("response", "human_score", "human_style")), "no component 'style'"),
    "too much": (table([("x", 1, 4)], ("response", "human_score", "human_definition")), "human_definition"),
    "other item": (table([("x", 1, "autograd")], ("response", "human_score", "item")), "is it the right item"),
    "empty marks": (table([("x", "")]), "empty in every row"),
    "nothing": (b"", "empty"),
    "workbook": (b"PK\x03\x04 no table", "labels.csv"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_are_told_by_row_and_column(service, case):
    content, said = BAD_TABLES[case]
    answer = send(service, content)
    assert answer.status_code == 422, answer.text
    assert answer.json()["code"] == "invalid-table"
    assert said in answer.text
    assert service.call("GET", "/items/practice-one/labels")["data"] == []


def test_every_bad_cell_is_listed(service):
    rows = [("x", 9, ""), ("y", "no", ""), ("z", 1, 7)]
    errors = send(service, table(rows, ("response", "human_score", "human_score_2"))).json()["errors"]
    assert [one["field"] for one in errors] == [
        "row 2, column human_score",
        "row 3, column human_score",
        "row 4, column human_score_2",
    ]


def test_semicolons_decimal_commas_and_a_missing_subgroup_column(service):
    content = "response;human_score\nIt keeps results.;2,5\nWood.;0\n".encode("utf-16")
    assert send(service, content).json()["preview"]["distribution"] == {"0": 1, "2.5": 1}
    answer = send(service, content, subgroup="class")
    assert answer.json()["code"] == "invalid-table"
    assert "no column 'class'" in answer.text


def test_fit_needs_labels_that_teach_something(service):
    def refused():
        answer = service.client.post("/v1/items/practice-one/calibrations", json={}, headers=service.teacher)
        assert answer.status_code == 422
        return answer.json()["detail"]

    assert "0 labels are too few" in refused()
    store(service, [("a", 1), ("b", 1), ("c", 1)])
    assert "nothing can be learned from equal scores" in refused()


@pytest.mark.parametrize("policy", [{"risk": 0}, {"risk": 1}, {"tolerance": 0}, {"pass_mark": -1}, {"style": 1}])
def test_bad_policies_are_refused(service, policy):
    body = {"policy": policy}
    answer = service.client.post("/v1/items/practice-one/calibrations", json=body, headers=service.teacher)
    assert answer.status_code == 422


def test_fit_study_report_and_file(fitted):
    service, made = fitted
    assert made["state"] == "candidate"
    assert made["labels"] == 24
    assert made["rmse"] < made["rmse_before"]
    assert any("left out of the fit" in one for one in made["sentences"])
    study = service.call("GET", f"/calibrations/{made['id']}/study")["study"]
    assert study["learning_curve"]
    assert "Bananas" not in str(study)
    report = service.client.get(f"/v1/calibrations/{made['id']}/report", headers=service.teacher)
    assert report.headers["content-type"].startswith("text/html")
    assert "<svg" in report.text
    assert "http://" not in report.text.replace("http://www.w3.org", "")
    file = service.client.get(f"/v1/calibrations/{made['id']}/file", headers=service.teacher)
    assert load_calibration(file.content).name == made["name"]
    shelf = service.call("GET", "/items/practice-one/calibrations")
    assert [one["id"] for one in shelf["data"]] == [made["id"]]
    assert shelf["in_force"] is None
    assert shelf["labels"] == 24


ODD_SETS = {
    "three": [("It keeps results.", 3, ""), ("Bananas.", 0, ""), ("Computing takes longer.", 1, "")],
    "all but one equal": [(f"It keeps {n} results.", 2 if n else 5, "") for n in range(6)],
    "blank answers": [("", 0, ""), ("   ", 0, ""), ("It keeps results.", 3, ""), ("Later.", 1, "")],
    "the same answer": [("It keeps results.", mark, "") for mark in (1, 2, 3, 2)],
    "second marks for some": [(f"It keeps {n} results.", n % 4, n % 3 if n % 2 else "") for n in range(8)],
    "one second mark": [(f"It keeps {n} results.", n % 4, 1 if n == 3 else "") for n in range(8)],
    "letters of all kinds": [("‮ يحفظ", 1, ""), ("😀" * 50, 0, ""), ("<script>alert(1)</script>", 2, ""), ("क्ष", 0, "")],
}


@pytest.mark.parametrize("case", ODD_SETS)
def test_odd_sets_of_labels_can_be_fitted(service, case):
    header = ("response", "human_score", "human_score_2")
    upload = send(service, table(ODD_SETS[case], header)).json()
    service.call("POST", f"/items/practice-one/labels/uploads/{upload['id']}/apply", {})
    made = fit(service)
    report = service.client.get(f"/v1/calibrations/{made['id']}/report", headers=service.teacher).text
    assert "<script>" not in report
    assert page(service, f"/rubrics/practice-one/calibration/{made['id']}")
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    score = service.call("POST", "/score", {"item": "practice-one", "response": "It keeps results."})
    assert 0 <= score["score"] <= 5


def test_components_and_subgroups_are_reported(service):
    idea = " Popular books stand near the door."
    rows = [
        (text + idea * (mark > 4), mark, 3 if "keeps results" in text else 0, "north" if at % 2 else "south")
        for at, (text, mark) in enumerate(labelled_rows())
    ]
    header = ("response", "human_score", "human_definition", "region")
    upload = send(service, table(rows, header), subgroup="region").json()
    service.call("POST", f"/items/practice-one/labels/uploads/{upload['id']}/apply", {})
    made = fit(service)
    study = service.call("GET", f"/calibrations/{made['id']}/study")["study"]
    assert [(part["name"], part["labels"]) for part in study["components"]] == [("definition", 24)]
    groups = study["calibrated"]["agreement"]["subgroups"]
    assert [(part["name"], part["n"]) for part in groups] == [("north", 12), ("south", 12)]
    assert study["words"]["de"][0].startswith("Angepasst an 24")
    assert [one["text"] for one in study["advice"] if one["kind"] == "missing_idea"] == [idea.strip()]
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    exam = answered_exam(service)
    grade(service, exam)
    answer = service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"][0]["answer"]
    review = service.call("GET", f"/reviews/{answer}")
    assert sum(part["points"] for part in review["parts"]) == pytest.approx(review["score"])


def test_a_slip_is_shown_and_can_be_removed(service):
    slip = "It keeps results for later use. Computing again would take longer. Case 99."
    store(service, [*labelled_rows(), (slip, 0)])
    made = fit(service)
    assert [(one["response"], one["human_score"]) for one in made["mislabelled"]] == [(slip, 0)]
    service.call("DELETE", f"/items/practice-one/labels/{made['mislabelled'][0]['label']}")
    assert service.call("GET", f"/calibrations/{made['id']}")["mislabelled"] == []


def test_the_same_labels_make_the_same_calibration(fitted):
    service, made = fitted
    assert fit(service)["id"] == made["id"]
    assert fit(service, policy={"risk": 0.2})["id"] != made["id"]


def test_only_one_fit_of_an_item_at_a_time(service):
    store(service, labelled_rows())
    first = service.call("POST", "/items/practice-one/calibrations", {})
    answer = service.client.post("/v1/items/practice-one/calibrations", json={}, headers=service.teacher)
    assert answer.json()["code"] == "wrong-state"
    assert (first["total"], first["done"], first["item"], first["exam"]) == (24, 0, "practice-one", None)
    assert service.call("GET", "/items/practice-one/calibrations/jobs")["data"][0]["id"] == first["id"]
    service.call("POST", f"/jobs/{first['id']}/cancel")
    service.work()
    assert service.call("GET", "/items/practice-one/calibrations")["data"] == []


def test_labels_that_went_meanwhile_fail_the_job_with_a_reason(service):
    store(service, labelled_rows(4))
    job = service.call("POST", "/items/practice-one/calibrations", {})
    for one in service.call("GET", "/items/practice-one/labels")["data"]:
        service.call("DELETE", f"/items/practice-one/labels/{one['id']}")
    service.work()
    done = service.call("GET", f"/jobs/{job['id']}")
    assert done["state"] == "failed"
    assert "0 labels are left" in done["error"]


def test_promoted_calibration_marks_exams_and_practice_until_rolled_back(fitted):
    service, made = fitted
    exam = answered_exam(service)
    before = grade(service, exam)
    assert all("cal:none" in one["signature"] for one in before)
    promoted = service.call("POST", f"/calibrations/{made['id']}/promote", {})
    assert promoted["state"] == "promoted"
    again = service.client.post(f"/v1/calibrations/{made['id']}/promote", json={}, headers=service.teacher)
    assert again.json()["code"] == "wrong-state"
    assert grade(service, exam) == before, "stored marks stay"
    job = service.call("POST", f"/exams/{exam['id']}/regrades", {"items": [{"item": "practice-one"}]})
    service.work()
    found = service.call("GET", f"/regrades/{job['id']}")
    assert found["changed"] > 0
    assert service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"] == before
    service.call("POST", f"/regrades/{job['id']}/apply", {"reason": "calibrated"})
    after = service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"]
    assert all(f"cal:{made['name']}" in one["signature"] for one in after)
    assert all(one["confidence"] is not None or one["condition_code"] for one in after)
    assert sum(one["confidence"] is not None for one in after) >= 6
    referred = {one["answer"]: one["reasons"] for one in after if one["referred"]}
    assert referred
    queue = service.call("GET", f"/exams/{exam['id']}/reviews")["data"]
    assert {one["answer"]: one["reasons"] for one in queue} == referred
    assert any("low_confidence" in reasons for reasons in referred.values())
    score = service.call("POST", "/score", {"item": "practice-one", "response": GOOD[0]})
    assert f"cal:{made['name']}" in score["signature"]
    rolled = service.call("POST", "/items/practice-one/calibrations/roll-back", {})
    assert rolled == {"in_force": None}
    score = service.call("POST", "/score", {"item": "practice-one", "response": GOOD[0]})
    assert "cal:none" in score["signature"]
    answer = service.client.post("/v1/items/practice-one/calibrations/roll-back", json={}, headers=service.teacher)
    assert answer.json()["code"] == "wrong-state"


def test_roll_back_goes_back_one_by_one(fitted):
    service, first = fitted
    second = fit(service, policy={"risk": 0.3})
    for one in (first, second, first):
        service.call("POST", f"/calibrations/{one['id']}/promote", {})
    back = [service.call("POST", "/items/practice-one/calibrations/roll-back", {})["in_force"] for _ in range(3)]
    assert [one and one["id"] for one in back] == [second["id"], first["id"], None]
    states = {one["state"] for one in service.call("GET", "/items/practice-one/calibrations")["data"]}
    assert states == {"retired"}


def test_another_rubric_version_is_refused_or_carried_over(fitted, content):
    service, made = fitted
    row = service.call("GET", "/items/practice-one")
    changed = content("practice-one", prompt="What does a cache do, and why?")
    service.call("POST", "/items/practice-one/versions", {"content": changed}, etag=row["revision"])
    answer = service.client.post(f"/v1/calibrations/{made['id']}/promote", json={}, headers=service.teacher)
    assert answer.status_code == 409
    assert answer.json()["code"] == "other-rubric"
    assert "version 1" in answer.json()["detail"]
    assert service.call("POST", f"/calibrations/{made['id']}/promote", {"version": 1})["state"] == "promoted"
    shelf = service.call("GET", "/items/practice-one/calibrations")
    assert (shelf["in_force"], shelf["other_rubric"]) == (None, made["id"])
    job = service.call("POST", f"/calibrations/{made['id']}/carry-over", {})
    service.work()
    done = service.call("GET", f"/jobs/{job['id']}")
    carried = service.call("GET", f"/calibrations/{done['calibration']}")
    assert (carried["item_version"], carried["carried_from"]) == (2, made["id"])
    service.call("POST", f"/calibrations/{carried['id']}/promote", {})
    states = {one["id"]: one["state"] for one in service.call("GET", "/items/practice-one/calibrations")["data"]}
    assert states == {made["id"]: "promoted", carried["id"]: "promoted"}, "each marks its own version"


def test_compare_says_which_marks_change(fitted):
    service, made = fitted
    exam = answered_exam(service)
    marks = {one["answer"]: one["score"] for one in grade(service, exam)}
    job = service.call("POST", f"/calibrations/{made['id']}/comparisons", {"exam": exam["id"]})
    service.work()
    found = service.call("GET", f"/comparisons/{job['id']}")
    assert (found["before"], found["after"], found["total"]) == ("none", made["name"], 8)
    assert found["changed"] == len(found["changes"]) > 0
    assert all(marks[one["answer"]] == one["old"] != one["new"] for one in found["changes"])
    job = service.call("POST", f"/calibrations/{made['id']}/comparisons", {"exam": exam["id"], "other": made["id"]})
    service.work()
    assert service.call("GET", f"/comparisons/{job['id']}")["changes"] == []
    store(service, labelled_rows(), "practice-two")
    foreign = fit(service, "practice-two")
    body = {"exam": exam["id"], "other": foreign["id"]}
    answer = service.client.post(f"/v1/calibrations/{made['id']}/comparisons", json=body, headers=service.teacher)
    assert answer.json()["code"] == "other-rubric"


def test_suggestions_are_labelled_and_not_suggested_again(service):
    exam = answered_exam(service, 12)
    path = f"/exams/{exam['id']}/items/practice-one/suggestions"
    job = service.call("POST", path, {"number": 4})
    service.work()
    found = service.call("GET", f"/suggestions/{job['id']}")["answers"]
    assert len(found) == len({one["answer"] for one in found}) == 4
    body = {"labels": [{"answer": one["answer"], "human_score": 1.5} for one in found]}
    assert service.call("POST", "/items/practice-one/labels", body) == {"stored": 4, "labels": 4}
    assert service.call("POST", "/items/practice-one/labels", body)["labels"] == 4, "one label an answer"
    assert service.call("GET", f"/suggestions/{job['id']}")["answers"] == []
    job = service.call("POST", path, {"number": 100})
    service.work()
    rest = service.call("GET", f"/suggestions/{job['id']}")["answers"]
    assert len(rest) == 8
    assert not {one["answer"] for one in rest} & {one["answer"] for one in found}


def test_posted_labels_are_checked(service):
    exam = service.graded()
    answer = service.call("GET", f"/exams/{exam['id']}/items/practice-two/results")["data"][0]["answer"]

    def post(**label):
        body = {"labels": [label], "audit": label.pop("audit", False)}
        return service.client.post("/v1/items/practice-one/labels", json=body, headers=service.teacher)

    assert "outside the scale" in post(response="x", human_score=5.5).text
    assert "no component" in post(response="x", human_score=1, components={"style": 1}).text
    assert "definition is 4" in post(response="x", human_score=1, components={"definition": 4}).text
    assert "either answer or response" in post(human_score=1).text
    assert "another item" in post(answer=answer, human_score=1).text
    assert "allowed: their ids" in post(response="x", human_score=1, audit=True).text
    assert post(answer="0" * 27, human_score=1).status_code == 404
    assert post(response="x", human_score=1, components={"definition": 1}).json() == {"stored": 1, "labels": 1}


def decide(service, exam, which, score):
    for one in which:
        service.call(
            "POST", f"/reviews/{one['answer']}/override", {"score": score, "reason": "x"}, etag=one["revision"]
        )


def test_decisions_become_labels_that_know_how_they_were_chosen(service):
    exam = answered_exam(service, 12)
    grade(service, exam)
    rows = service.call("GET", f"/exams/{exam['id']}/reviews?which=all")["data"]
    decide(service, exam, rows[:3], 2)
    taken = service.call("POST", "/items/practice-one/labels/decisions", {"exam": exam["id"]})
    assert (taken["stored"], taken["labels"]) == (3, 3)
    assert taken["referred"]["total"] + taken["others"]["total"] == 12
    again = service.call("POST", "/items/practice-one/labels/decisions", {"exam": exam["id"]})
    assert again["labels"] == 3
    sample = service.call("GET", f"/exams/{exam['id']}/items/practice-one/audit-sample?size=4")
    assert sample["total"] == 9
    assert sample == service.call("GET", f"/exams/{exam['id']}/items/practice-one/audit-sample?size=4")
    assert not {one["answer"] for one in sample["answers"]} & {one["answer"] for one in rows[:3]}
    body = {"labels": [{"answer": one["answer"], "human_score": 4} for one in sample["answers"]], "audit": True}
    assert service.call("POST", "/items/practice-one/labels", body)["labels"] == 7
    made = fit(service)
    study = service.call("GET", f"/calibrations/{made['id']}/study")["study"]
    assert study["sources"] == {"audit": 4, "decision": 3}
    assert study["weighted"]["rmse"] > 0


def test_nobody_looked_at_the_others(service):
    exam = answered_exam(service, 8)
    grade(service, exam)
    taken = service.call("POST", "/items/practice-one/labels/decisions", {"exam": exam["id"]})
    assert taken["stored"] == 0
    assert taken["audit_wanted"]


def test_drift_is_told_with_the_statistics(fitted):
    service, made = fitted
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    exam = answered_exam(service, 12)
    grade(service, exam)
    like = service.call("GET", f"/exams/{exam['id']}/statistics")["items"][0]
    assert like["calibration"] == made["name"]
    assert like["drift"]["total"] == 12
    assert not like["drift"]["warning"]
    odd = service.call("POST", "/exams", {"title": "Odd", "items": [{"item": "practice-one"}]})
    words = ["zebra", "violin", "harbour", "mustard", "glacier", "lantern", "pepper", "saddle", "comet", "tulip"]
    texts = {
        f"{n:03}": {"practice-one": f"The {words[n]} over the {words[n - 3]} sings about {words[n - 5]} and rain."}
        for n in range(10)
    }
    service.answer(odd["id"], texts)
    grade(service, odd)
    drift = service.call("GET", f"/exams/{odd['id']}/statistics")["items"][0]["drift"]
    assert drift["share"] > like["drift"]["share"]
    assert drift["warning"]


def page(service, path):
    """A page as its teacher sees it."""
    svc = service.client.app.state.services
    value = key_cookie(svc, service.teacher["Authorization"].removeprefix("Bearer "))[0]
    answer = service.client.get(path, headers={"Cookie": f"{KEY_COOKIE}={value}"})
    assert answer.status_code == 200, answer.text[:300]
    return answer.text


def test_pages_of_the_exam_name_the_calibration_and_warn(fitted):
    service, made = fitted
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    exam = service.exam(("practice-one",))
    texts = ("zebra violin", "harbour mustard", "glacier lantern", "pepper saddle", "comet tulip", "walrus anvil")
    service.answer(exam["id"], {one: {"practice-one": f"The {one} sings of rain and {one[::-1]}."} for one in texts})
    assert made["name"] in page(service, f"/teach/exams/{exam['id']}/regrade")
    assert "unlike the marked ones" not in page(service, f"/teach/exams/{exam['id']}/statistics")
    grade(service, exam)
    text = page(service, f"/teach/exams/{exam['id']}/statistics")
    assert made["name"] in text
    assert "unlike the marked ones" in text


def test_deleted_answers_leave_labels_and_reports(service):
    exam = answered_exam(service, 6)
    rows = service.call("GET", f"/exams/{exam['id']}/items/practice-one/results")["data"]
    body = {"labels": [{"answer": one["answer"], "human_score": at % 3} for at, one in enumerate(rows)]}
    service.call("POST", "/items/practice-one/labels", body)
    made = fit(service)
    assert made["has_report"]
    for language, said in (("", "Worst disagreements"), ("de", "Größte Abweichungen"), ("hi", "सबसे बड़े अंतर")):
        path = f"/v1/calibrations/{made['id']}/report" + (f"?language={language}" if language else "")
        text = service.client.get(path, headers=service.teacher).text
        assert f'<html lang="{language or "en"}">' in text
        assert said in text
        assert made["name"] in re.search("<h1>(.*)</h1>", text)[1]
    answer = service.client.get(f"/v1/calibrations/{made['id']}/report?language=xx", headers=service.teacher)
    assert answer.status_code == 422
    service.call("DELETE", f"/candidates/{rows[0]['candidate']}", who="admin")
    assert len(service.call("GET", "/items/practice-one/labels")["data"]) == 5
    assert not service.call("GET", f"/calibrations/{made['id']}")["has_report"]
    assert service.call("GET", f"/calibrations/{made['id']}/study")["study"]["advice"] == []
    for language in ("en", "de"):
        path = f"/v1/calibrations/{made['id']}/report?language={language}"
        answer = service.client.get(path, headers=service.teacher)
        assert answer.status_code == 404
        assert "fit it again" in answer.json()["detail"]


def test_a_calibration_of_another_scorer_fails_jobs_but_not_practice(fitted):
    service, made = fitted
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    db = service.client.app.state.services.db
    with db.read() as session:
        row = session.scalars(select(CalibrationRow)).one()
        content = calibrations.opened(session, row.id)
    object.__setattr__(content, "encoder", "another@1")
    try:
        score = service.call("POST", "/score", {"item": "practice-one", "response": GOOD[0]})
        assert "cal:none" in score["signature"]
        exam = answered_exam(service)
        job = service.call("POST", f"/exams/{exam['id']}/grade")
        service.work()
        done = service.call("GET", f"/jobs/{job['id']}")
        assert done["state"] == "failed"
        assert "fit it again" in done["error"]
    finally:
        calibrations._OPEN.clear()


def test_practice_of_candidates_uses_it_and_tells_no_key(fitted):
    service, made = fitted
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    viva = service.call("POST", "/viva", {"items": ["practice-one"]}, who="candidate")
    after = service.call(
        "POST", f"/viva/{viva['id']}/answers", {"response": GOOD[0]}, etag=viva["revision"], who="candidate"
    )
    assert f"cal:{made['name']}" in after["turns"][0]["score"]["signature"]
    score = service.call("POST", "/score", {"item": "practice-one", "response": GOOD[0]}, who="candidate")
    assert f"cal:{made['name']}" in score["signature"]


def test_another_school_with_an_item_of_the_same_name_sees_nothing(fitted, content):
    service, made = fitted
    other = service.other()
    other.call("POST", "/items", {"use": "exam", "content": content("practice-one")})
    label = service.call("GET", "/items/practice-one/labels")["data"][0]["id"]
    upload = send(service, table(labelled_rows())).json()["id"]
    exam = answered_exam(service)
    answer = grade(service, exam)[0]["answer"]
    theirs = other.call("POST", "/exams", {"title": "T", "items": [{"item": "practice-one"}]})["id"]
    assert other.call("GET", "/items/practice-one/labels")["data"] == []
    assert other.call("GET", "/items/practice-one/calibrations")["data"] == []
    assert other.call("GET", "/items/practice-one/calibrations/jobs")["data"] == []
    tries = [
        ("GET", f"/items/practice-one/labels/uploads/{upload}", None),
        ("POST", f"/items/practice-one/labels/uploads/{upload}/apply", {}),
        ("DELETE", f"/items/practice-one/labels/{label}", None),
        ("POST", "/items/practice-one/labels", {"labels": [{"answer": answer, "human_score": 1}]}),
        ("POST", "/items/practice-one/labels/decisions", {"exam": exam["id"]}),
        ("GET", f"/exams/{exam['id']}/items/practice-one/audit-sample", None),
        ("POST", f"/exams/{exam['id']}/items/practice-one/suggestions", {}),
        ("GET", f"/calibrations/{made['id']}/file", None),
        ("POST", f"/calibrations/{made['id']}/promote", {}),
        ("POST", f"/calibrations/{made['id']}/carry-over", {}),
        ("POST", f"/calibrations/{made['id']}/comparisons", {"exam": theirs}),
    ]
    for method, path, body in tries:
        answer = service.client.request(method, f"/v1{path}", json=body, headers=other.teacher)
        assert answer.status_code == 404, (path, answer.text)
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    score = other.call("POST", "/score", {"item": "practice-one", "response": GOOD[0]})
    assert "cal:none" in score["signature"], "the same rubric, but another school's calibration"


def test_candidates_see_nothing_of_calibrations(fitted):
    service, made = fitted
    paths = ("", "/study", "/report", "/file")
    for path in ("/v1/items/practice-one/labels", *(f"/v1/calibrations/{made['id']}{one}" for one in paths)):
        assert service.client.get(path, headers=service.candidate).status_code == 403


def test_the_whole_way_on_postgresql(postgres_service):
    service = postgres_service()
    store(service, labelled_rows())
    made = fit(service)
    service.call("POST", f"/calibrations/{made['id']}/promote", {})
    exam = answered_exam(service)
    after = grade(service, exam)
    assert all(f"cal:{made['name']}" in one["signature"] for one in after)
    job = service.call("POST", f"/calibrations/{made['id']}/comparisons", {"exam": exam["id"], "other": "none"})
    service.work()
    assert service.call("GET", f"/comparisons/{job['id']}")["total"] == 8
    assert service.call("GET", f"/exams/{exam['id']}/statistics")["items"][0]["drift"]["total"] == 8
    assert service.call("POST", "/items/practice-one/calibrations/roll-back", {}) == {"in_force": None}
