"""German items: inflections, compounds and slips count as the same word, negations are seen, English stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

from grader import Bank, Grader, Item
from grader.draft import draft_item
from grader.encoder import HashEncoder
from grader.evidence.polarity import negations
from grader.languages import information
from grader.scorer import german_scorer, is_english_only
from grader.subword import SubwordEncoder

QUESTION = "Warum wäscht man sich vor dem Kochen die Hände?"
REFERENCE = "Seife und Wasser entfernen Keime von der Haut, die sonst ins Essen gelangen und krank machen."


@pytest.fixture(scope="module")
def item() -> Item:
    return Item.from_reference(QUESTION, REFERENCE, language="de")


def alike(one: str, other: str) -> float:
    first, second = SubwordEncoder("de").encode([one, other])
    return float(first.tokens[0] @ second.tokens[0])


@pytest.mark.parametrize(
    ("near", "far"),
    [
        (("Toilette", "Toilettenbesuch"), ("Toilette", "Tankstelle")),
        (("Gradienten", "Gradient"), ("Gradienten", "Gewichte")),
        (("sauber", "Sauberkeit"), ("sauber", "sonst")),
        (("Informationsschreiben", "Informatonsschreiben"), ("Informationsschreiben", "Kundenkarte")),
        (("Häuser", "Haus"), ("Häuser", "Hitze")),
    ],
)
def test_forms_parts_and_slips_of_a_word_are_near(near: tuple[str, str], far: tuple[str, str]) -> None:
    assert alike(*near) > 0.45
    assert alike(*far) < 0.2


def test_an_encoding_depends_on_its_text_alone() -> None:
    encoder = SubwordEncoder("de")
    together = encoder.encode([REFERENCE, "", "…", QUESTION])
    alone = SubwordEncoder("de").encode([QUESTION])[0]
    assert np.array_equal(together[3].tokens, alone.tokens)
    assert np.array_equal(together[3].pooled, alone.pooled)
    assert together[1].tokens.shape == together[2].tokens.shape == (0, 1024)
    assert np.linalg.norm(together[0].tokens, axis=1) == pytest.approx(1)
    assert [QUESTION[a:b] for a, b in alone.offsets][:2] == ["Warum", "wäscht"]


def test_function_words_weigh_little_in_their_own_language() -> None:
    assert information("weil", "de") == information("because", "en") == 0.05
    assert information("Toilette", "de") == 1.0
    assert information("die", "de") < information("die", "en")


def test_german_items_have_a_scorer_of_their_own(item: Item, real_grader: Grader, pytorch_bank: Bank) -> None:
    assert is_english_only(real_grader.encoder)
    assert real_grader.scorer(item) is german_scorer()
    assert real_grader.scorer(pytorch_bank["zero-grad"]).encoder is real_grader.encoder
    assert "|enc:subword-de@1|prior:de-1@" in real_grader.signature(item)
    assert "|enc:all-MiniLM-L6-v2@" in real_grader.signature(pytorch_bank["zero-grad"])


def test_an_encoder_of_ones_own_reads_german_too(item: Item) -> None:
    grader = Grader(HashEncoder())
    assert grader.scorer(item).encoder is grader.encoder
    assert "|enc:hash@1|" in grader.grade(item, REFERENCE).signature


@pytest.mark.parametrize(
    ("answer", "low", "high"),
    [
        (REFERENCE, 5, 5),
        ("Keime werden mit Seife von der Haut entfernt, sonst kommen sie ins Essen und man wird krank.", 4, 5),
        ("Seive entfernt Keihme von der Haud, sonst gelangn sie ins Esen.", 4, 5),
        ("SEIFE ENTFERNT DIE KEIME VON DER HAUT, DIE SONST INS ESSEN GELANGEN.", 4, 5),
        ("Ein Foto reicht.", 0, 1),
        ("Die Sonne scheint heute sehr stark, darum gehen wir schwimmen.", 0, 1.5),
        ("asdf qwer", 0, 0.5),
        ("Weiß ich nicht.", 0, 0),
    ],
)
def test_answers_earn_what_they_say(item: Item, real_grader: Grader, answer: str, low: float, high: float) -> None:
    score = real_grader.grade(item, answer)
    assert score.score is not None
    assert low <= score.score <= high


def test_an_enumeration_is_an_answer_in_german(real_grader: Grader) -> None:
    item = Item.from_reference(
        "In welcher Reihenfolge?",
        "Erst tanken, dann im Shop einkaufen, bezahlen, die Toilette besuchen.",
        language="de",
    )
    score = real_grader.grade(item, "Tanken, einkaufen, bezahlen, Toilette, Fragen beantworten")
    assert score.condition_code is None
    assert (score.score or 0) >= 4


@pytest.mark.parametrize(
    "turn", [("entfernen Keime", "entfernen keine Keime"), ("entfernen Keime", "entfernen nie Keime")]
)
def test_a_denied_reference_earns_nothing(item: Item, real_grader: Grader, turn: tuple[str, str]) -> None:
    score = real_grader.grade(item, REFERENCE.replace(*turn), language="de")
    assert (score.score, [error.kind for error in score.errors]) == (0, ["negation"])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Das Netz lernt nicht.", 1),
        ("Es gibt keinen Grund.", 1),
        ("Ohne Seife bleiben Keime.", 1),
        ("Nicht nur Wasser hilft.", 0),
        ("Es hilft nicht Wasser, sondern Seife.", 0),
        ("Keime sind noch da.", 0),
        ("It does not learn.", 1),
        ("The note is in the kitchen.", 0),
    ],
)
def test_negations_of_both_languages_are_counted(text: str, count: int) -> None:
    assert negations(text) == count


def test_a_mark_is_the_same_alone_and_in_company(item: Item, real_grader: Grader) -> None:
    answers = [REFERENCE, "Wegen der Keime.", "", "Seife hilft gegen Krankheiten."]
    together = real_grader.grade_many(item, answers)
    assert together == [real_grader.grade(item, answer) for answer in answers]


def test_a_german_draft_gives_its_own_answer_full_marks(real_grader: Grader) -> None:
    answer = f"{REFERENCE} Zum Beispiel gelangen sonst Salmonellen vom Huhn in den Salat."
    draft = draft_item(QUESTION, answer, item_id="haende", language="de").item
    assert real_grader.grade(draft, answer).score == draft.scale.max
