"""Drafts: what is sorted where, and that every draft is a rubric that grades."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader import Bank, Grader, InputError, load_bank
from grader.bank import parse_item
from grader.cli import app
from grader.draft import draft_item, item_id_of
from grader.encoder import HashEncoder
from grader.rubric import STANDARD_COMPONENTS, Item

QUESTION = "Why do we wash our hands before cooking?"
ANSWER = (
    "Washing removes germs from the skin, because soap breaks their fatty shell. "
    "Otherwise the germs get into the food and people fall ill. "
    "For example, salmonella from raw chicken ends up in the salad."
)
GERMAN = (
    "Händewaschen entfernt Keime von der Haut, weil Seife ihre Fetthülle zerstört. "
    "Zum Beispiel gelangen sonst Salmonellen vom rohen Huhn in den Salat."
)


def sorted_texts(item: Item) -> dict[str, list[str]]:
    return {name: [t for e in c.elements for t in e.key_statements] for name, c in item.components.items()}


def test_cue_phrases_and_clauses_sort_the_answer() -> None:
    assert sorted_texts(draft_item(QUESTION, ANSWER, item_id="wash").item) == {
        "definition": ["Washing removes germs from the skin"],
        "reason": [
            "Because soap breaks their fatty shell.",
            "Otherwise the germs get into the food and people fall ill.",
        ],
        "example_or_pitfall": ["For example, salmonella from raw chicken ends up in the salad."],
    }


def test_german_cue_phrases_are_known() -> None:
    assert sorted_texts(draft_item("Wozu?", GERMAN, item_id="wash", language="de").item) == {
        "definition": ["Händewaschen entfernt Keime von der Haut"],
        "reason": ["Weil Seife ihre Fetthülle zerstört."],
        "example_or_pitfall": ["Zum Beispiel gelangen sonst Salmonellen vom rohen Huhn in den Salat."],
    }


def test_a_short_clause_is_not_cut_off() -> None:
    item = draft_item("Why?", "It sinks because stones are heavy things. It fell, because it rained.", item_id="a").item
    assert "It fell, because it rained." in [text for texts in sorted_texts(item).values() for text in texts]


def test_a_clause_with_a_negation_stays_with_its_sentence() -> None:
    answer = "Soap does not kill the germs at all, because it only loosens them from the skin."
    assert sorted_texts(draft_item("Why?", answer, item_id="a").item) == {"definition": [answer]}


def test_a_clause_that_only_repeats_the_question_is_not_cut_off() -> None:
    answer = "Der Himmel ist blau, weil die Luft kurzwelliges Licht stärker streut."
    assert sorted_texts(draft_item("Warum ist der Himmel blau?", answer, item_id="a", language="de").item) == {
        "definition": [answer]
    }


def test_numbered_sentences_are_steps_in_order() -> None:
    answer = (
        "1. The client sends SYN with a number. 2) The server answers SYN-ACK with its own. 3. The client sends ACK. "
        "It makes sure that both sides can send and receive. A typical pitfall is a flood of half-open connections."
    )
    draft = draft_item("How is a connection opened?", answer, item_id="tcp")
    assert sorted_texts(draft.item) == {
        "definition": [
            "The client sends SYN with a number.", "The server answers SYN-ACK with its own.", "The client sends ACK.",
        ],
        "reason": ["It makes sure that both sides can send and receive."],
        "example_or_pitfall": ["A typical pitfall is a flood of half-open connections."],
    }  # fmt: skip
    assert draft.item.components["definition"].rule == "in_order"
    assert any("must the steps be said in this order" in check for check in draft.checks)
    two = draft_item("How?", "1. Open the door to the hall. 2. Go in and sit down.", item_id="a").item
    assert two.components["definition"].rule == "required"


def test_pieces_of_sentences_become_sentences() -> None:
    answer = (
        "Two predictors are almost the same here; the coefficients cannot be told apart; reshape() copies the data."
    )
    texts = [text for texts in sorted_texts(draft_item("Why?", answer, item_id="a").item).values() for text in texts]
    assert texts == [
        "Two predictors are almost the same here", "The coefficients cannot be told apart",
        "reshape() copies the data.",
    ]  # fmt: skip


def test_words_of_a_cue_phrase_are_no_keywords() -> None:
    item = draft_item("Why?", "Multicollinearity means that predictors are correlated.", item_id="a").item
    (element,) = item.components["definition"].elements
    assert element.keywords is not None
    assert "means" not in element.keywords.groups[0].any


def test_keywords_are_rare_words_that_the_question_does_not_say() -> None:
    item = draft_item("What does soap do to germs?", "Soap dissolves the lipid membrane of germs.", item_id="soap").item
    (element,) = item.components["definition"].elements
    assert element.keywords is not None
    (group,) = element.keywords.groups
    assert set(group.any) == {"dissolves", "lipid", "membrane"}


def test_weights_keep_their_proportions_and_sum_to_the_scale() -> None:
    for top in (5, 10, 3, 7.5):
        weights = [c.weight for c in draft_item(QUESTION, ANSWER, item_id="a", max_score=top).item.components.values()]
        assert sum(weights) == pytest.approx(top)
        assert weights[0] / top == pytest.approx(0.48, abs=0.01)
    one = draft_item("What?", "A flat stone.", item_id="a", max_score=2).item
    assert [c.weight for c in one.components.values()] == [2]


def test_further_answers_become_wordings_of_what_they_resemble() -> None:
    item = draft_item("Which gas?", ["carbon dioxide", "CO2", "Carbon  Dioxide"], item_id="gas").item
    assert sorted_texts(item) == {"definition": ["carbon dioxide", "CO2"]}
    item = draft_item(QUESTION, [ANSWER, "Otherwise people get ill from germs in their food."], item_id="a").item
    assert item.components["reason"].elements[1].key_statements == (
        "Otherwise the germs get into the food and people fall ill.",
        "Otherwise people get ill from germs in their food.",
    )


def test_comments_say_what_needs_a_human_eye_and_the_text_is_the_item() -> None:
    draft = draft_item(QUESTION, ANSWER, item_id="wash")
    assert parse_item(draft.text) == draft.item
    assert draft.text.count("# CHECK: ") == len(draft.checks)
    assert all(check in draft.text for check in draft.checks)
    lacking = draft_item("What is it?", "A flat stone.", item_id="stone")
    assert any("no reason and no example_or_pitfall" in check for check in lacking.checks)


@pytest.mark.parametrize("quick", [True, False])
def test_every_reference_answer_of_the_bank_makes_a_rubric_in_which_it_earns_full_marks(
    pytorch_bank: Bank, real_grader: Grader, quick: bool
) -> None:
    encoder = None if quick else real_grader.encoder
    in_place = []
    for item in list(pytorch_bank.values())[::4]:
        draft = draft_item(item.prompt, item.reference_answer, item_id=item.id, encoder=encoder)
        assert parse_item(draft.text) == draft.item
        assert set(draft.item.components) <= set(STANDARD_COMPONENTS)
        score = real_grader.grade(draft.item, item.reference_answer)
        assert score.score is not None
        in_place.append(score.score / score.max_score)
    assert min(in_place) >= 0.8
    assert sum(in_place) / len(in_place) >= 0.95


@pytest.mark.parametrize(
    ("question", "answer", "values", "message"),
    [
        (" ", "a", {}, "no question"),
        ("a", "\n ", {}, "no model answer"),
        ("a", [], {}, "no model answer"),
        ("a", "...", {}, "the model answer has no word"),
        ("a", "A stone.", {"item_id": "A b"}, "id: string should match pattern"),
        ("a", "A stone.", {"max_score": -1.0}, "scale.max"),
        ("a", "A stone.", {"language": "english"}, "language: string should match"),
    ],
)
def test_what_makes_no_rubric_is_an_input_error(
    question: str, answer: str, values: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draft_item(question, answer, **{"item_id": "a", **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [
        ("Größe & Gewicht?", [], "groesse-gewicht"),
        ("Größe", ["groesse", "groesse-2"], "groesse-3"),
        ("क्या", [], "item"),
        ("x" * 200, [], "x" * 60),
        ("Why does a training loop call zero_grad() at all, and when?", [], "why-does-a-training-loop-call-zero-grad"),
    ],
)
def test_ids_are_made_of_names(name: str, taken: list[str], expected: str) -> None:
    assert item_id_of(name, taken) == expected


def test_a_model_without_weights_can_sort_too() -> None:
    assert draft_item(QUESTION, ANSWER, item_id="wash", encoder=HashEncoder()).item.components


def test_the_command_writes_a_file_once(tmp_path: Path) -> None:
    run = CliRunner()
    command = ["items", "draft", "--quick", "--question", QUESTION, "--answer", ANSWER, "--id", "wash"]
    shown = run.invoke(app, command)
    assert parse_item(shown.stdout).id == "wash"
    assert run.invoke(app, [*command, "--out", str(tmp_path)]).exit_code == 0
    assert (tmp_path / "wash.yaml").read_text(encoding="utf-8") == shown.stdout
    again = run.invoke(app, [*command, "--out", str(tmp_path)])
    assert again.exit_code == 2
    assert "there is an item of this id already" in again.stderr


def test_items_travel_to_moodle_and_back_into_a_pack(tmp_path: Path) -> None:
    run = CliRunner()
    for kind, name in (("moodle", "a.xml"), ("csv", "b.csv")):
        file, folder = tmp_path / name, tmp_path / kind
        assert run.invoke(app, ["items", "export", "--to", kind, "--out", str(file), "p-value"]).exit_code == 0
        imported = run.invoke(app, ["items", "import", str(file), "--out", str(folder), "--quick"])
        assert imported.exit_code == 0, imported.stderr
        (item,) = load_bank(folder).values()
        assert (item.id, item.prompt) == ("p-value", "What does a p-value tell you?")
        again = run.invoke(app, ["items", "import", str(file), "--out", str(folder), "--quick"])
        assert again.exit_code == 0
        assert sorted(load_bank(folder)) == ["p-value", "p-value-2"]


def test_an_import_says_what_it_left_out(tmp_path: Path) -> None:
    file = tmp_path / "q.gift"
    file.write_text("::A:: Why? {=Because of it all}\n\n::B:: Which? {=a ~b}\n")
    imported = CliRunner().invoke(app, ["items", "import", str(file), "--out", str(tmp_path / "o"), "--quick"])
    assert imported.exit_code == 0
    assert "multiple choice" in imported.stderr
    assert "1 items written" in imported.stdout
