"""The report: numbers as in `agreement`, one self-contained page, and nothing from outside unescaped."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import numpy as np
import pytest

from grader.agreement import agreement
from grader.cases import Case, Details, Passage, passages_of
from grader.charts import scatter
from grader.encoder import HashEncoder
from grader.errors import InputError
from grader.grading import Grader
from grader.report import Report, build_report
from grader.rubric import Item

N = 40
HUMAN = np.arange(N) % 11 / 2
MACHINE = np.clip(HUMAN + np.sin(np.arange(N)) * 1.5, 0, 5)
NASTY = "<script>alert('x')</script> & \"quoted\" $x^2$ ${y}"


def _details(**more: object) -> Details:
    values: dict[str, object] = {
        "ids": [f"r{at}{NASTY}" for at in range(N)],
        "questions": [f"q{at % 4}" for at in range(N)],
        "prompts": {"q1": f"Why? {NASTY}"},
        "responses": [f"{NASTY} number {at}" for at in range(N)],
        "passages": [[Passage(0, 8, NASTY, note=NASTY), Passage(9, 14, "false", kind="error", note=NASTY)]] * N,
        "human2": [float(x) if at % 2 else None for at, x in enumerate(HUMAN)],
        "confidence": 0.5 + 0.5 * np.cos(np.arange(N)) ** 2,
        "referred": [at % 7 == 0 for at in range(N)],
    }
    return Details(**{**values, **more})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def report() -> Report:
    return build_report(HUMAN, MACHINE, scale_max=5, step=0.5, details=_details(), title=NASTY, signature=NASTY,
                        notes=[NASTY], worst=5, n_boot=20)  # fmt: skip


@pytest.fixture(scope="module")
def written(report: Report) -> str:
    return report.to_html()


class Tags(HTMLParser):
    """Collects elements and checks that they are closed in order."""

    VOID = frozenset({"meta", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.ids += [str(value) for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestPage:
    def test_well_formed_with_six_pictures(self, written: str) -> None:
        tags = Tags()
        tags.feed(written)
        assert tags.open == []
        assert tags.found.count("svg") == 6
        assert tags.found.count("article") == 5
        assert len(tags.ids) == len(set(tags.ids))

    def test_nothing_is_loaded_from_anywhere(self, written: str) -> None:
        without_headers = written.replace("http-equiv", "")
        assert not re.search(r"https?:|//\w|@import|<script|<link|<img|src=|url\((?!#)", without_headers)

    def test_everything_from_outside_is_escaped(self, written: str) -> None:
        assert "<script>" not in written
        assert written.count("&lt;script&gt;") >= 5 * 3
        assert "alert(&#39;x&#39;)" in written

    def test_colours_follow_the_reader(self, written: str) -> None:
        assert "color-scheme: light dark" in written
        assert "prefers-color-scheme: dark" in written
        assert "currentColor" in written
        assert "#010203" not in written

    def test_same_numbers_same_bytes_in_threads(self, report: Report, written: str) -> None:
        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(lambda _: report.to_html(), range(4))) == {written}

    def test_evidence_is_marked_in_the_response(self, written: str) -> None:
        assert '<mark class="evidence"' in written
        assert '<mark class="error"' in written
        assert "second rater" in written

    def test_without_confidence_it_says_what_is_left_out(self) -> None:
        text = build_report(HUMAN, MACHINE, scale_max=5, step=0.5, n_boot=0).to_html()
        assert "No confidence was given" in text
        assert text.count("<svg") == 4
        assert "Worst disagreements" not in text


class TestLanguages:
    @pytest.mark.parametrize(
        ("language", "said"), [("de", "Größte Abweichungen"), ("hi", "सबसे बड़े अंतर"), ("xx", "Worst disagreements")]
    )
    def test_headings_axes_bands_and_measures(self, report: Report, language: str, said: str) -> None:
        text = report.to_html(language)
        assert f'<html lang="{language}">' in text
        assert f"<h2>{said}</h2>" in text
        for english in (
            "machine mark</text>",
            "low</text>",
            "agreement (QWK)</th>",
            "median, quartiles",
            "a dot counts",
        ):
            assert (english in text) == (language == "xx")

    def test_numbers_are_the_same_in_every_language(self, report: Report) -> None:
        cells = [re.findall(r"<td[^>]*>([-.\d]+)</td>", report.to_html(language)) for language in ("en", "de", "hi")]
        assert len(cells[0]) > 50
        assert cells[0] == cells[1] == cells[2]

    def test_pictures_are_small(self, report: Report) -> None:
        assert sum(len(svg.encode()) for svg in report.charts("hi").values()) < 110_000


class TestNumbers:
    def test_agreement_is_that_of_agreement(self, report: Report) -> None:
        more = _details()
        expected = agreement(
            HUMAN, MACHINE, scale_max=5, step=0.5, human2=more.human2, groups=more.questions, n_boot=20
        )
        assert report.agreement.to_dict() == expected.to_dict()

    def test_json_holds_everything(self, report: Report) -> None:
        found = json.loads(report.to_json())
        assert found["agreement"]["n"] == N
        assert found["signature"] == NASTY
        assert np.array(found["confusion"]["counts"]).sum() == N
        assert len(found["confusion"]["points"]) == 11
        assert sum(row["n"] for row in found["calibration"]) == N
        assert sum(band["n"] for band in found["residuals"].values()) == N
        assert found["risk_coverage"]["coverage"][-1] == 1.0
        assert len(found["worst"]) == 5

    def test_worst_come_first(self, report: Report) -> None:
        sizes = [abs(case.difference) for case in report.worst]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] == pytest.approx(np.abs(MACHINE - HUMAN).max())

    def test_agreeing_responses_are_not_listed(self) -> None:
        details = Details(responses=["a", "b", "c"])
        report = build_report([0, 1, 2], [0, 2, 2], scale_max=2, details=details, n_boot=0)
        assert [(case.id, case.response) for case in report.worst] == [("2", "b")]

    def test_wide_scales_are_shown_in_tenths(self) -> None:
        report = build_report([0, 50, 100], [0, 49, 100], scale_max=100, n_boot=0)
        assert report.points == tuple(float(10 * at) for at in range(11))


class TestDegenerate:
    @pytest.mark.parametrize("marks", [[2.0], [2.0, 2.0], [0.0, 0.0, 0.0]])
    def test_constant_marks(self, marks: list[float]) -> None:
        details = Details(responses=["x"] * len(marks), confidence=[0.5] * len(marks))
        report = build_report(marks, marks, scale_max=2, details=details, n_boot=10)
        assert "–" in report.to_html()
        assert json.loads(report.to_json())["agreement"]["metrics"]["pearson"] is None

    def test_lengths_must_agree(self) -> None:
        with pytest.raises(InputError, match="responses has 1 values but human has 2"):
            build_report([0, 1], [0, 1], scale_max=1, details=Details(responses=["a"]))

    def test_empty(self) -> None:
        with pytest.raises(InputError, match="empty"):
            build_report([], [], scale_max=1)


class TestPieces:
    def test_overlapping_and_outlying_passages(self) -> None:
        passages = (Passage(4, 9, "b"), Passage(0, 6, "a"), Passage(8, 99, "c"))
        case = Case("1", "", "0123456789", 1.0, 0.0, passages=passages)
        assert [(text, p and p.label) for text, p in case.pieces()] == [("012345", "a"), ("678", "b"), ("9", "c")]

    def test_no_passages(self) -> None:
        assert Case("1", "", "abc", 1.0, 0.0).pieces() == [("abc", None)]
        assert Case("1", "", "", 1.0, 0.0).pieces() == []

    def test_passages_of_a_score(self) -> None:
        item = Item.from_reference("How do you get the salt?", "The water evaporates and salt stays behind.")
        response = "Well. The water evaporates and salt stays behind."
        score = Grader(HashEncoder()).grade(item, response)
        (passage,) = passages_of(score)
        assert (passage.label, passage.kind) == ("answer: answer", "evidence")
        assert response[passage.start : passage.end] == "The water evaporates and salt stays behind."


def test_picture_names_what_it_shows() -> None:
    svg = scatter(HUMAN, MACHINE, scale_max=5)
    assert svg.startswith('<svg role="img" aria-label="Machine marks against human marks" viewBox=')
    assert "xmlns" not in svg
