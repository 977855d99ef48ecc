"""The check of data sets: each kind of damage is found, and clean data give no problem."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from eval.datasets import (
    PUBLISHED_ANSWERS,
    Finding,
    Report,
    Row,
    check,
    data_folder,
    extra_field,
    frame_of,
    load_available,
    main_check,
    render,
)
from eval.datasets.damage import damage

DATA = Path(__file__).parents[1] / "data" / "datasets"
SHARED = data_folder()


def _row(answer_id: str, answer: str = "so", **more: object) -> Row:
    values: dict[str, object] = {
        "dataset": "toy",
        "split": "none",
        "question_id": "q1",
        "question": "Why?",
        "reference_answers": ["because"],
        "score": 1.0,
        "max_score": 2.0,
        **more,
    }
    return Row(answer_id=answer_id, answer=answer, **values)  # type: ignore[arg-type]


def _found(*rows: Row) -> dict[str, Finding]:
    return {finding.code: finding for finding in check(frame_of(rows)).findings}


def test_clean_data_have_no_findings() -> None:
    report = check(frame_of([_row("a1"), _row("a2", "thus", split="train")]))
    assert report.findings == ()
    assert report.ok
    assert [(count.split, count.answers, count.questions) for count in report.counts] == [
        ("train", 1, 1),
        ("none", 1, 1),
        ("total", 2, 1),
    ]


def test_counts_are_compared_with_the_published_ones() -> None:
    report = check(frame_of([_row("a1", dataset="hbrs_nn"), _row("a2", dataset="other")]))
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.dataset) == ("counts", "problem", "hbrs_nn")
    assert finding.examples[0] == "none: 1 answers, 1 questions; published 663, 17"
    assert not report.ok
    assert "none              1        663          1         17  differs" in render(report)


def test_a_published_split_that_is_absent_counts_as_zero() -> None:
    report = check(frame_of([_row("a1", dataset="beetle", split="train")]))
    assert {count.split: count.answers for count in report.counts} == {
        "train": 1, "test_ua": 0, "test_uq": 0, "total": 1,
    }  # fmt: skip


def test_published_splits_sum_to_the_total() -> None:
    for name, splits in PUBLISHED_ANSWERS.items():
        answers = sum(numbers[0] for split, numbers in splits.items() if split != "total")
        assert answers == splits["total"][0], name


@pytest.mark.parametrize(
    ("score", "max_score", "score2"),
    [(2.5, 2.0, None), (-0.5, 2.0, None), (float("nan"), 2.0, None), (0.0, 0.0, None), (1.0, 2.0, 3.0)],
)
def test_scores_outside_the_scale(score: float, max_score: float, score2: float | None) -> None:
    finding = _found(_row("a1", score=score, max_score=max_score, score2=score2), _row("a2", "thus"))["scale"]
    assert (finding.severity, finding.count) == ("problem", 1)
    assert finding.examples[0].startswith("a1: ")


def test_ids_and_splits() -> None:
    found = _found(_row("a1"), _row("a1", "thus", split="test"))
    assert found["answer_id"].examples == ("a1",)
    assert found["split"].examples == ("test",)
    assert {found["answer_id"].severity, found["split"].severity} == {"problem"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("it\ufffds", "U+FFFD"),
        ("größer".encode().decode("cp1252"), "mojibake"),
        ("größer".encode().decode("latin-1"), "mojibake"),
        ("it\u2019s".encode().decode("cp1252"), "mojibake"),
        ("\u03b1-decay".encode().decode("cp1252"), "mojibake"),
        ("20 \u00b0C".encode().decode("cp1252"), "mojibake"),
        ("\u0915\u0941\u091b".encode().decode("latin-1"), "mojibake"),
        ("a\x07b", "control character"),
        ("don\x92t", "control character"),
        ("\uf0a7 point", "private-use character or inner BOM"),
        ("a\ufeffb", "private-use character or inner BOM"),
        ("a &lt; b", "HTML entity or break"),
        ("a<br />b", "HTML entity or break"),
    ],
)
def test_encoding_damage(text: str, kind: str) -> None:
    assert kind in damage(text)


@pytest.mark.parametrize(
    "text",
    [
        "Größe, „Ä\u201c, naïve café \u2013 Ångström, São, Ñandú, «À la»",
        "x & y; a && b; vector<int> & more",
        "\u03b1 ≤ β → \u03b3, 20 °C, 5 µm, ½",
        "कुछ और",
        "line\n\ttab\r\n",
        "👍 fine",
    ],
)
def test_sound_text_has_no_damage(text: str) -> None:
    assert damage(text) == {}


def test_encoding_is_looked_for_in_every_text() -> None:
    found = check(
        frame_of(
            [
                _row("a1", "a\ufffd", feedback="b\ufffd"),
                _row("a2", "thus", question_id="q2", question="c\ufffd", reference_answers=["ok", "d\ufffd"]),
            ]
        )
    ).findings
    assert [(finding.code, finding.severity, finding.count) for finding in found] == [("encoding", "problem", 4)]
    assert found[0].examples[0] == "answer a1: 'a\\ufffd'"


def test_missing_references_and_answers_that_are_references() -> None:
    found = _found(
        _row("a1", "Because!"),
        _row("a2", "so", question_id="q2", reference_answers=[]),
        _row("a3", "", question_id="q3", reference_answers=[" "]),
    )
    assert found["references"].count == 2
    assert found["references"].examples == ("q2", "q3")
    assert found["references"].message == "of 3 questions have no reference answer"
    assert found["answer_is_reference"].examples == ("a1",)
    assert found["blank"].examples == ("a3",)


def test_duplicates_with_different_scores() -> None:
    found = _found(
        _row("a1", "so"),
        _row("a2", " so ", score=0.0),
        _row("a3", "so", question_id="q2"),
        _row("a4", "So"),
        _row("a5", ""),
        _row("a6", ""),
    )
    assert found["duplicates"].count == 1
    assert "1 texts were given different scores" in found["duplicates"].message
    assert found["duplicates"].examples == ("q1: 'so'",)
    assert found["blank"].count == 2


def test_leakage_between_train_and_test() -> None:
    rows = [
        _row("t1", "The gap is open.", split="train"),
        _row("t2", "It is a loop", split="train"),
        _row("t3", "", split="train"),
        _row("u1", "The gap is open.", split="test_ua"),
        _row("u2", "the gap  is open", split="test_ua"),
        _row("u3", "", split="test_ua"),
        _row("u4", "new", split="test_ua"),
        _row("u5", "It is a loop", split="test_uq", question_id="q2", question="How?"),
        _row("u6", "It is a loop", split="test_uq", question_id="q3", question="why"),
    ]
    findings = [finding for finding in check(frame_of(rows)).findings if finding.code == "leakage"]
    assert [(finding.count, finding.examples) for finding in findings] == [(2, ("u1", "u2")), (0, ())]
    assert findings[0].message.startswith("of 3 answers of test_ua stand verbatim in train")
    assert "(1 letter for letter; 2 under a question of the same wording; 2 under any" in findings[0].message
    assert "(0 letter for letter; 1 under a question of the same wording; 2 under any" in findings[1].message
    worded = _found(*rows)["question_wording"]
    assert (worded.count, worded.examples) == (1, ("q3",))


def test_render_puts_problems_first() -> None:
    text = render(check(frame_of([_row("a1", ""), _row("a2", score=9.0)])))
    assert text.index("problem [scale] 1") < text.index("note [blank] 1")
    assert text.endswith("1 problems, 1 notes")
    assert render(Report((), ())) == "0 problems, 0 notes"


class TestMain:
    def test_clean_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        frame_of([_row("a1")]).to_parquet(tmp_path / "toy.parquet")
        (tmp_path / "list.csv").write_text("name,place\nx,y\n")
        assert main_check(tmp_path) == 0
        out = capsys.readouterr().out
        assert "0 problems, 0 notes" in out
        assert f"skipped, no labelled answers: {tmp_path / 'list.csv'}" in out
        assert "missing" not in out

    def test_known_sets_that_are_not_there_are_named(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        shutil.copy(DATA / "viva_dev.csv", tmp_path)
        assert main_check(tmp_path) == 1
        out = capsys.readouterr().out
        assert "problem [counts] 2 counts differ" in out
        assert "missing: beetle" in out

    def test_broken_file_is_reported_beside_the_others(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        frame_of([_row("a1")]).to_parquet(tmp_path / "toy.parquet")
        (tmp_path / "bad.parquet").write_text("no")
        assert main_check(tmp_path) == 1
        out = capsys.readouterr().out
        assert "toy\n" in out
        assert f"problem [file] {tmp_path / 'bad.parquet'}: cannot be read" in out

    @pytest.mark.parametrize(
        ("folder", "name"),
        [
            ("semeval-3way", "scientsbank"),
            ("saf", "saf_de"),
            ("saf_json", "saf_en"),
            ("asap_sas", "asap_sas"),
            ("ShortAnswerGrading_v2.0", "mohler"),
        ],
    )
    def test_original_releases(self, folder: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main_check(DATA / folder) == (1 if name == "scientsbank" else 0)
        assert f"{name}\n  split" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["empty", "absent"])
    def test_nothing_there(self, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "empty").mkdir()
        assert main_check(tmp_path / name) == 2
        assert "no labelled answers here" in capsys.readouterr().out


@pytest.mark.data
@pytest.mark.skipif(SHARED is None or not SHARED.is_dir(), reason="no data folder beside the repository")
def test_shared_data_are_as_published() -> None:
    for name, frame in load_available(SHARED).frames.items():
        report = check(frame)
        assert report.ok, (name, report.findings)
        for finding in report.findings:
            if "; published: " in finding.message:
                assert finding.message.endswith(f"; published: {finding.count}"), name
        if name == "hbrs_nn":
            flagged = int(extra_field(frame, "same_as_reference").map(bool).sum())
            assert flagged == sum(f.count for f in report.findings if f.code == "answer_is_reference")
