"""What speed is measured with and how the commands are measured; the figures themselves are no test."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval import results_page, speed, speed_commands
from eval.speed_inputs import edited, make_answers, sentences, unique_statements
from grader import Bank
from grader.tables import plan

VIVA = Path(__file__).parents[1] / "data" / "datasets"
MATERIAL = {
    "a": ["The gravity of the moon pulls the near side more strongly.", "Twice a day."],
    "b": ["One two three."],
}


def test_answers_are_made_with_the_seed() -> None:
    made = make_answers(MATERIAL, 21, 40, 5)
    assert made == make_answers(MATERIAL, 21, 40, 5)
    assert made != make_answers(MATERIAL, 21, 40, 6)
    assert [len(texts) for texts in made.values()] == [11, 11]
    assert all(40 <= len(text.split()) < 60 for texts in made.values() for text in texts)


def test_most_statements_are_said_once(pytorch_bank: Bank) -> None:
    material, origin = sentences(pytorch_bank, 10, None)
    assert origin == "rubrics and authored answers"
    written = make_answers(material, 400, 40, 0)
    said = [part for texts in written.values() for text in texts for part in text.split(". ")]
    assert sum(map(len, unique_statements(written).values())) > 0.8 * len(said)


def test_real_answers_are_used_where_there_are_any(pytorch_bank: Bank, tmp_path: Path) -> None:
    header = (VIVA / "viva_dev.csv").read_text("utf-8").splitlines()[0]
    names = header.split(",")
    row = dict.fromkeys(names, "0") | {"question_id": "zero-grad", "question": "Why?", "kind": "x", "comment": "c"}
    lines = [header]
    for at in range(8):
        values = row | {"answer_id": f"a{at}", "answer": f"Gradients of step {at} add up."}
        lines.append(",".join(values[name] for name in names))
    (tmp_path / "viva_dev.csv").write_text("\n".join(lines) + "\n", "utf-8")
    material, origin = sentences(pytorch_bank, 10, tmp_path)
    assert origin == "answers of viva_dev"
    assert material == {"zero-grad": [f"Gradients of step {at} add up." for at in range(8)]}


def test_an_edit_adds_a_wording(pytorch_bank: Bank) -> None:
    item = pytorch_bank["zero-grad"]
    changed = edited(item)
    assert changed.content_hash != item.content_hash
    counts = [sum(len(e.key_statements) for c in i.components.values() for e in c.elements) for i in (changed, item)]
    assert counts[0] == counts[1] + 1


def test_the_table_of_the_growth_is_one_that_can_be_graded(pytorch_bank: Bank, tmp_path: Path) -> None:
    from grader.sources import read_frame

    written = make_answers(sentences(pytorch_bank, 3, None)[0], 12, 10, 0)
    assert speed_commands.write_table(tmp_path / "in.csv", written) == 12
    planned = plan(read_frame(tmp_path / "in.csv")[0], pytorch_bank)
    assert [job.response for job in planned.jobs[:3]] == [texts[0] for texts in written.values()]


@pytest.mark.slow
def test_a_small_run_gives_every_figure(tmp_path: Path) -> None:
    found = speed.run(20, 0, [20], 30, None)
    assert set(found["systems"]) == set(speed.SYSTEMS)
    assert found["growth"]["20"]["answers"] == 20
    assert found["repeated"]["answers"] == 30
    assert found["cold"]["with cache"]["loaded"] == []
    assert found["cold"]["without cache"]["loaded"] == ["onnxruntime"]
    assert found["rerun"]["ratio"] > 1
    written = "\n".join(results_page._speed({"speed": found}))
    assert "| grader without contradiction model to encoder alone |" in written
    assert "loaded: no model" in written
