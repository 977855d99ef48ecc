from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from eval.contradiction_data import (
    NEUTRAL,
    NOT_ENTAILED,
    ONLY_CONTRADICTS,
    ONLY_ENTAILS,
    ONLY_PARTLY,
    Pair,
    allowed_matrix,
    general_pairs,
    in_test_tenth,
)
from eval.contradiction_graded import clause_pairs, closest, flip_pairs, surplus_pairs, templated
from eval.flip_templates import FAMILIES, made_pairs
from eval.flips import EDITS, by_rule, flips
from eval.meaning import CONTRASTS, auc, contrast_table, macro_f1, three_way

torch = pytest.importorskip("torch")

RIGHT = [
    "Sound travels through the wall.",
    "The valve is open before the pump starts.",
    "A proton is heavier than an electron.",
    "The lamp stays dark because the circuit is broken.",
    "The plant needs two litres of water.",
    "The file was not saved.",
]


def test_every_edit_changes_the_statement() -> None:
    for found in (flips(RIGHT, 1, most=99), flips(RIGHT, 1, held_out=True, most=99)):
        assert found
        assert all(flip.original != flip.edited for flip in found)


def test_training_and_held_out_edits_share_no_rule() -> None:
    training = set(by_rule(flips(RIGHT, 1, most=99)))
    held_out = set(by_rule(flips(RIGHT, 1, held_out=True, most=99)))
    assert not training & held_out
    names = [edit.name for edit in EDITS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("rule", "original", "edited"),
    [
        ("do_not", RIGHT[0], "Sound does not travel through the wall."),
        ("not_after_auxiliary", RIGHT[1], "The valve is not open before the pump starts."),
        ("than_swapped", RIGHT[2], "An electron is heavier than a proton."),
        ("because_swapped", RIGHT[3], "The circuit is broken because the lamp stays dark."),
        ("because_turned", RIGHT[3], "Since the circuit is broken, the lamp stays dark."),
        ("not_taken_out", RIGHT[5], "The file was saved."),
        ("does_not_fail", RIGHT[0], "Sound does not fail to travel through the wall."),
        ("calls_swapped", "push() fills what pop() empties.", "pop() fills what push() empties."),
        ("subject_object_swapped", "The valve controls the pump.", "The pump controls the valve."),
        ("from_to_swapped", "Heat flows from the lamp to the wall.", "Heat flows from the wall to the lamp."),
        ("from_to_turned", "Heat flows from the lamp to the wall.", "Heat flows to the wall from the lamp."),
        ("than_turned", RIGHT[2], "An electron is lighter than a proton."),
        ("than_not_opposite", RIGHT[2], "A proton is not lighter than an electron but heavier."),
        ("contracted", RIGHT[5], "The file wasn't saved."),
        ("never_for_not", "A view does not copy the data.", "A view never copies the data."),
    ],
)
def test_edits_keep_the_grammar(rule: str, original: str, edited: str) -> None:
    assert [flip.edited for flip in by_rule(flips([original], 1, most=99))[rule]] == [edited]


def test_a_negated_clause_is_not_negated_again() -> None:
    found = by_rule(flips(["The file was not saved."], 1, most=99))
    assert "not_after_auxiliary" not in found
    assert "do_not" not in found


@pytest.mark.parametrize("text", ["push() and pop() work on the end.", "push() or pop().", "push() works."])
def test_functions_side_by_side_are_not_swapped(text: str) -> None:
    assert "calls_swapped" not in by_rule(flips([text], 1, most=99))


def test_frames_do_not_crowd_out_other_edits() -> None:
    found = flips([f"The pump needs {n} valves." for n in range(2, 300)], 1, most=1)
    framed = [flip for flip in found if flip.wrong and flip.share < 1]
    assert 0 < len(framed) < 0.3 * sum(flip.wrong for flip in found)


def test_what_stands_beside_a_statement_does_not_change_its_label() -> None:
    pairs = surplus_pairs([(text, text) for text in RIGHT], ["Bread is baked."], 1)
    assert {pair.allowed for pair in pairs} == {ONLY_CONTRADICTS, ONLY_ENTAILS}
    assert all("bread is baked" in pair.premise.casefold() for pair in pairs)


def test_a_clause_is_part_of_the_whole() -> None:
    pairs = clause_pairs(["The lamp stays dark because the circuit is broken.", "Bread is baked."])
    assert [(pair.premise, pair.allowed) for pair in pairs] == [
        ("The lamp stays dark.", ONLY_PARTLY),
        ("The lamp stays dark because the circuit is broken.", ONLY_ENTAILS),
    ]


def test_flips_are_the_same_for_the_same_seed() -> None:
    assert flips(RIGHT, 3) == flips(RIGHT, 3)


def test_wrong_and_true_edits_are_labelled_against_the_reference() -> None:
    pairs = flip_pairs([(text, text) for text in RIGHT], 1, most=9)
    assert {pair.allowed for pair in pairs} == {ONLY_CONTRADICTS, ONLY_ENTAILS}


def test_negative_words_occur_in_right_and_in_wrong_made_statements() -> None:
    made = made_pairs(2000, 5)
    share = {
        verdict: np.mean([" not " in m.response for m in made if m.verdict == verdict])
        for verdict in ("right", "wrong")
    }
    assert 0.5 < share["right"] / share["wrong"] < 2


@pytest.mark.parametrize("family", FAMILIES)
def test_held_out_wordings_are_not_trained_on(family: str) -> None:
    seen = {(m.response, m.key) for m in made_pairs(300, 1, [family])}
    held_out = made_pairs(300, 1, [family], held_out=True)
    assert not seen & {(m.response, m.key) for m in held_out if m.verdict != "partly"}


def test_made_pairs_say_what_they_are() -> None:
    for pair in templated(50, 1):
        assert pair.source.startswith("made:")
        assert pair.premise != pair.hypothesis


def test_open_labels_permit_several_classes() -> None:
    table = allowed_matrix([Pair("a", "b", NEUTRAL, ""), Pair("a", "b", NOT_ENTAILED, "")])
    assert table.tolist() == [[0, 1, 0, 1], [0, 1, 1, 1]]


def test_the_test_tenth_goes_by_the_premise_whatever_its_spelling() -> None:
    assert in_test_tenth("A man sleeps.") == in_test_tenth("a  man sleeps")
    share = np.mean([in_test_tenth(f"sentence {i}") for i in range(3000)])
    assert 0.08 < share < 0.12


def test_general_pairs_are_split_by_premise_and_capped(tmp_path: Path) -> None:
    rows = [
        {"premise": f"p{i}", "hypothesis": "h", "label": "neutral", "lang": "en", "note": "gold"} for i in range(400)
    ]
    rows += [{"premise": "p", "hypothesis": "h", "label": "neutral", "lang": "de", "note": "gold"}]
    pd.DataFrame(rows).to_parquet(tmp_path / "mnli.parquet")
    training, test = general_pairs(tmp_path), general_pairs(tmp_path, test=True)
    assert len(training) + len(test) == 400
    assert not {p.premise for p in training} & {p.premise for p in test}


def test_the_closest_reference_is_compared() -> None:
    assert closest("the bulb is out", ["Terminal 1 is open", "The bulb went out"]) == "The bulb went out"


def test_the_loss_is_zero_where_every_class_is_permitted() -> None:
    from eval.contradiction_training import loss_of

    logits = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    assert float(loss_of(logits, torch.ones(1, 4))) == pytest.approx(0.0, abs=1e-6)
    only = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
    wanted = -float(torch.log_softmax(logits, dim=-1)[0, 3])
    assert float(loss_of(logits, only)) == pytest.approx(wanted, abs=1e-5)


def test_every_pair_is_in_one_batch_and_the_order_is_repeatable() -> None:
    from eval.contradiction_training import Plan, order

    lengths = np.random.default_rng(0).integers(5, 90, 1000)
    batches = order(lengths, Plan("x", 1e-4, batch=16), 0)
    assert sorted(np.concatenate(batches)) == list(range(1000))
    again = order(lengths, Plan("x", 1e-4, batch=16), 0)
    assert all((a == b).all() for a, b in zip(batches, again, strict=True))


def test_the_rate_rises_then_falls_to_its_floor() -> None:
    from eval.contradiction_training import rate_at

    rates = [rate_at(step, 100, 0.2) for step in range(101)]
    assert max(rates) <= 1.0
    assert rates[0] < rates[7]
    assert rates[100] == pytest.approx(0.2)


def test_three_way_joins_partly_and_unrelated() -> None:
    values = np.array([[0.4, 0.3, 0.0, 0.3], [0.5, 0.2, 0.1, 0.2], [0.2, 0.1, 0.6, 0.1]], dtype=np.float32)
    assert three_way(values) == ["incorrect", "correct", "contradictory"]


def test_macro_f1_counts_a_label_that_is_never_found() -> None:
    mean, each = macro_f1(["a", "a", "b"], ["a", "a", "a"], ("a", "b"))
    assert each == {"a": pytest.approx(0.8), "b": 0.0}
    assert mean == pytest.approx(0.4)


def test_auc_counts_ties_half_and_is_undefined_without_both_kinds() -> None:
    assert auc(np.array([0.5, 0.9]), np.array([0.5, 0.1])) == pytest.approx(0.875)
    assert math.isnan(auc(np.array([]), np.array([0.1])))


def test_the_contrasts_come_in_both_directions() -> None:
    with CONTRASTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 120
    directions: dict[str, set[str]] = {}
    for row in rows:
        directions.setdefault(row["key_statement"], set()).add(row["wrong"])
    assert all(found == {"0", "1"} for found in directions.values())


def test_a_perfect_judge_gets_a_perfect_contrast_table() -> None:
    frame = pd.read_csv(CONTRASTS)
    wrong = {(r.response, r.key_statement): float(r.wrong) for r in frame.itertuples()}

    def judge(pairs: list[tuple[str, str]]) -> np.ndarray:
        p = np.array([wrong[pair] for pair in pairs], dtype=np.float32)
        return np.stack([1 - p, 0 * p, p, 0 * p], axis=1)

    table = contrast_table(judge).set_index("kind")
    assert table.loc["all", "wrong caught"] == 1.0
    assert table.loc["all", "right caught"] == 0.0
    assert table.loc["all", "wrong above right"] == 1.0
