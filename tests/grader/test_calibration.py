from __future__ import annotations

from pathlib import Path

import pytest

from grader import Grader, InputError, Item
from grader.calibration import Calibration, Calibrator, load_calibration, suspicious_rows
from grader.calibration_study import CurvePoint, labels_to_goal, study
from grader.encoder import HashEncoder
from grader.labelling import audit_sample, effort_saved, groups, suggest
from grader.referral import Policy

ITEM = Item.from_reference(
    "Why does bread rise?", "Yeast gives off gas that is caught in the dough.", max_score=4, step=0.5
)
GOOD = [
    "Yeast makes gas and the dough holds it.",
    "Gas from the yeast is caught in dough.",
    "The dough traps gas of yeast.",
]
HALF = ["Because of yeast.", "Yeast does it.", "There is yeast inside."]
BAD = ["The oven pulls it up.", "Water swells in heat.", "Salt lifts the crust."]
RESPONSES = [
    f"{text} {extra}" for extra in ("", "I think.", "In my view.", "Simply put.") for text in (*GOOD, *HALF, *BAD)
]
SCORES = [*[4.0] * 3, *[2.0] * 3, *[0.0] * 3] * 4


@pytest.fixture(scope="module")
def grader() -> Grader:
    return Grader(HashEncoder())


@pytest.fixture(scope="module")
def calibration(grader: Grader) -> Calibration:
    return Calibrator(grader, Policy(risk=0.2)).fit(ITEM, RESPONSES, SCORES)


def test_calibrated_marks_follow_the_teacher_and_their_parts_sum(grader: Grader, calibration: Calibration) -> None:
    new = ["Gas of the yeast is held in dough.", "Yeast I guess.", "The heat pulls on the crust."]
    scores = grader.grade_many(ITEM, new, calibration=calibration)
    marks = [score.score for score in scores]
    assert marks[0] is not None
    assert marks[2] is not None
    assert marks[0] >= 3
    assert marks[2] <= 1
    for score in scores:
        assert sum(step.points for step in score.calculation) == pytest.approx(score.score)
        assert f"cal:{calibration.name}" in score.signature
        if score.condition_code is None:
            assert score.confidence is not None
            assert 0 <= score.confidence <= 1


def test_same_mark_alone_and_among_others(grader: Grader, calibration: Calibration) -> None:
    together = grader.grade_many(ITEM, RESPONSES, calibration=calibration)
    alone = [grader.grade(ITEM, text, calibration=calibration) for text in RESPONSES]
    assert together == alone


def test_blank_answers_are_never_calibrated(grader: Grader, calibration: Calibration) -> None:
    score = grader.grade(ITEM, "  ", calibration=calibration)
    assert (score.score, score.condition_code, score.confidence) == (0.0, "blank", None)


def test_labels_overrule_a_screen_that_was_wrong(grader: Grader) -> None:
    off_topic = "The oven pulls it up."
    assert grader.grade(ITEM, off_topic).condition_code == "off_topic"
    turned = [4.0 - score for score in SCORES]
    score = grader.grade(ITEM, off_topic, calibration=Calibrator(grader).fit(ITEM, RESPONSES, turned))
    assert score.score is not None
    assert score.score >= 3
    assert score.condition_code == "off_topic"
    assert sum(step.points for step in score.calculation) == pytest.approx(score.score)


def test_round_trip_and_damage(tmp_path: Path, calibration: Calibration) -> None:
    path = calibration.save(tmp_path)
    again = load_calibration(path)
    assert again.name == calibration.name == path.stem
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    content = path.read_bytes()
    with pytest.raises(InputError, match="damaged"):
        load_calibration(content[: len(content) // 2])
    with pytest.raises(InputError, match="not a calibration"):
        load_calibration(b"hello")
    with pytest.raises(InputError, match="cannot read"):
        load_calibration(tmp_path / "none.npz")


def test_edited_labels_are_noticed(tmp_path: Path, calibration: Calibration) -> None:
    import io

    import numpy as np

    with np.load(io.BytesIO(calibration.to_bytes())) as stored:
        parts = dict(stored)
    parts["labels"] = parts["labels"].copy()
    parts["labels"][0] = 0.5
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **parts)
    with pytest.raises(InputError, match="edited or damaged"):
        load_calibration(buffer.getvalue())


def test_another_rubric_is_refused(grader: Grader, calibration: Calibration) -> None:
    changed = Item.from_reference(ITEM.prompt, "Yeast gives off bubbles.", max_score=4, step=0.5)
    with pytest.raises(InputError, match="fit it again"):
        grader.grade(changed, "Yeast.", calibration=calibration)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([5.0, *SCORES[1:]], "row 1: score 5 is outside the scale 0 to 4"),
        ([float("nan"), *SCORES[1:]], "row 1: the score is missing"),
        ([2.0] * len(SCORES), "nothing can be learned"),
        (SCORES[:-1], "36 responses but 35 scores"),
    ],
)
def test_bad_labels(grader: Grader, scores: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Calibrator(grader).fit(ITEM, RESPONSES, scores)


def test_a_swapped_label_is_suspected(grader: Grader) -> None:
    scores = SCORES.copy()
    scores[9] = 0.0
    assert 9 in suspicious_rows(Calibrator(grader).fit(ITEM, RESPONSES, scores))


def bread(weights: tuple[float, float] = (3, 1)) -> Item:
    parts = {"definition": "Yeast gives off gas that is caught in the dough.", "reason": "Sugar is eaten by yeast."}
    components = {
        name: {"weight": weight, "elements": [{"id": "one", "key_statements": [text]}]}
        for (name, text), weight in zip(parts.items(), weights, strict=True)
    }
    return Item.model_validate(
        {
            "id": "bread",
            "prompt": ITEM.prompt,
            "scale": {"max": 4, "step": 0.5},
            "reference_answer": " ".join(parts.values()),
            "components": components,
        }
    )


def test_component_credits_follow_the_teacher_too(tmp_path: Path, grader: Grader) -> None:
    item = bread()
    reason: list[float | None] = [*[1.0] * 3, *[0.0] * 3, None, 0.0, 0.0] * 4
    fitted = Calibrator(grader).fit(item, RESPONSES, SCORES, components={"reason": reason})
    again = load_calibration(fitted.save(tmp_path))
    assert again.name == fitted.name
    assert fitted.name != Calibrator(grader).fit(item, RESPONSES, SCORES).name
    for calibration in (fitted, again):
        good, half = grader.grade_many(
            item, ["Gas of yeast is caught in dough.", "Yeast, I guess."], calibration=calibration
        )
        assert good.component("reason").credit > 0.7
        assert good.component("reason").status == "present"
        assert half.component("reason").credit < 0.3
        for score in (good, half):
            assert sum(step.points for step in score.calculation) == pytest.approx(score.score)
            assert score.component("reason").points in [step.points for step in score.calculation]


def test_few_points_of_a_component_leave_it_alone(grader: Grader) -> None:
    few: list[float | None] = [1.0, 0.5, *[None] * 34]
    assert Calibrator(grader).fit(bread(), RESPONSES, SCORES, components={"reason": few}).components == ()


def test_a_label_from_a_rare_sample_weighs_more_in_what_is_promised(grader: Grader) -> None:
    scores = [score if row >= 3 else 0.0 for row, score in enumerate(SCORES)]
    even = Calibrator(grader, Policy(risk=0.4, tolerance=1.5)).fit(ITEM, RESPONSES, scores)
    chances = [0.1 if row < 3 else 1.0 for row in range(len(scores))]
    uneven = Calibrator(grader, Policy(risk=0.4, tolerance=1.5)).fit(ITEM, RESPONSES, scores, chances=chances)
    assert uneven.fitted.weights.mean() == pytest.approx(1.0)
    assert uneven.fitted.left_out.mean.tolist() == even.fitted.left_out.mean.tolist()
    rows = grader.represent(ITEM, RESPONSES[9:18])
    width = [float(v.high - v.low) for v in even.verdicts(rows)], [float(v.high - v.low) for v in uneven.verdicts(rows)]
    assert sum(width[1]) > sum(width[0])
    assert uneven.operating.share < even.operating.share
    assert load_calibration(uneven.to_bytes()).name == uneven.name


def test_study_says_it_in_words(grader: Grader, calibration: Calibration) -> None:
    examined = study(calibration, ITEM, RESPONSES, SCORES, n_boot=50)
    assert examined.report.agreement.metrics["rmse"] < examined.before.agreement.metrics["rmse"]
    assert examined.report.agreement.metrics["rmse"] < examined.baselines["question mean"]
    assert any("left out of the fit" in sentence for sentence in examined.sentences)
    html = examined.report.to_html()
    assert "<svg" in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert examined.to_dict()["calibration"] == calibration.name


def test_forecast() -> None:
    curve = [CurvePoint(n, 1 - (0.1 + 1 / n**0.5), 0.0) for n in (5, 10, 20, 40)]
    assert labels_to_goal(curve) == 100
    assert labels_to_goal(curve[:2]) is None
    assert labels_to_goal([CurvePoint(n, 0.9, 0.0) for n in (5, 10, 20)]) is None


def test_suggestions_spread_over_the_kinds(grader: Grader) -> None:
    rows = grader.represent(ITEM, RESPONSES)
    first = suggest(rows, 9)
    assert len(set(first)) == 9
    assert {(index % 9) // 3 for index in first} == {0, 1, 2}
    assert not set(suggest(rows, 5, labelled=first)) & set(first)
    assert sorted(suggest(rows, 1000)) == list(range(len(RESPONSES)))


def test_groups_never_join_an_answer_with_its_negation(grader: Grader) -> None:
    texts = [
        "Yeast gives off gas.",
        "yeast gives off gas",
        "Yeast does not give off gas.",
        "",
        " ",
        "It takes 2 hours.",
        "It takes 3 hours.",
    ]
    found = groups(texts, grader.represent(ITEM, texts))
    assert [0, 1] in found
    assert [3, 4] in found
    assert not any(2 in members or 5 in members for members in found)
    assert effort_saved(len(texts), found) == pytest.approx(2 / 7)


def test_audit_sample_is_reproducible() -> None:
    assert audit_sample(5, 100, seed=1) == audit_sample(5, 100, seed=1)
    assert audit_sample(5, 3, seed=1) == [0, 1, 2]


def test_a_second_rater_and_subgroups_are_said_in_words(calibration: Calibration) -> None:
    colleague: list[float | None] = [score if row % 5 else None for row, score in enumerate(SCORES)]
    schools = ["north" if row % 9 < 6 else "south" for row in range(len(SCORES))]
    found = study(calibration, ITEM, RESPONSES, SCORES, human2=colleague, subgroups=schools, n_boot=20)
    assert found.report.agreement.human_human["qwk"] == pytest.approx(1.0)
    [said] = [sentence for sentence in found.sentences if "colleague" in sentence]
    machine = found.report.agreement.metrics["qwk"]
    assert said.startswith("It agrees with you as well" if machine >= 0.9 else "It agrees with you less")
    assert f"QWK {machine:.2f} against 1.00" in said
    named = {part.name for part in found.report.agreement.subgroups if abs(part.dsm) > 0.1}
    assert {name for name in ("north", "south") if any(f"“{name}”" in one for one in found.sentences)} == named


def test_sentences_call_rows_as_the_file_does_and_speak_the_readers_language(grader: Grader) -> None:
    scores = SCORES.copy()
    scores[9] = 0.0
    fitted = Calibrator(grader).fit(ITEM, RESPONSES, scores)
    rows = [row + 100 for row in range(len(scores))]
    found = study(fitted, ITEM, RESPONSES, scores, rows=rows, language="de", n_boot=5)
    assert any(
        sentence.startswith("Sehen Sie die Bewertungen der Zeilen") and "109" in sentence
        for sentence in found.sentences
    )
    assert found.report.notes == found.sentences


def test_components_are_examined(grader: Grader) -> None:
    reason: list[float | None] = [*[1.0] * 3, *[0.0] * 6] * 4
    fitted = Calibrator(grader).fit(bread(), RESPONSES, SCORES, components={"reason": reason})
    found = study(fitted, bread(), RESPONSES, SCORES, n_boot=5)
    [part] = found.components
    assert part.rmse < part.rmse_before
    assert any(f"The credit of reason is off by {part.rmse:.2f}" in sentence for sentence in found.sentences)
    assert found.weighted is None
