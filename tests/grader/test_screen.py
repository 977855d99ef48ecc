"""Screens: what each statement is, before its content is looked at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import Bank, Grader, Item
from grader.index import ItemIndex
from grader.screen import foreign_language, has_dont_know, is_blank, is_keyword_list, role, roles
from grader.segment import Statement, statements
from grader.text import normalise, tokenise


@pytest.fixture(scope="module")
def index(tides: Item, hash_grader: Grader) -> ItemIndex:
    return hash_grader.index(tides)


@pytest.fixture(scope="module")
def zero_grad(pytorch_bank: Bank, hash_grader: Grader) -> ItemIndex:
    return hash_grader.index(pytorch_bank["zero-grad"])


MOON = "The gravity of the moon pulls the near side more strongly."
#: Items whose wordings look most like what the screens look for.
TRYING = (
    "batchnorm",
    "dynamic-graph",
    "eval-vs-no-grad",
    "multi-gpu",
    "transfer-learning",
    "view-vs-reshape",
    "zero-grad",
)


def role_of(text: str, index: ItemIndex, *, honest: bool = False, is_code: bool = False) -> str:
    return role(Statement(text, 0, len(text), is_code), index, honest=honest)


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "-", "?", "???", "...", "- - -", "idk", "IDK.", "i.d.k.", "n/a", "N/A", "none", "Nothing.", "null",
     "tbd", "xxx", "k.A.", "\U0001f600\U0001f44d", "**", "\ufffd"],
)  # fmt: skip
def test_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["No.", "42", "none of them copies", "nothing is copied", "x = 1", "\u092e", "a"])
def test_not_blank(text: str) -> None:
    assert not is_blank(text)


def test_a_wall_of_signs_is_told_apart_quickly() -> None:
    assert not is_blank("?" * 20_000 + "a")
    assert is_blank("?! " * 20_000)


@pytest.mark.parametrize(
    "text",
    ["I don't know.", "i dont know", "Don't know", "I really do not know", "I'm not sure about this", "not sure",
     "I am not entirely certain", "no idea", "No clue", "I have no idea", "dunno", "Beats me", "I haven't learned this",
     "I did not study this", "I can't say", "I cannot remember", "I forgot", "I've forgotten it", "I mix the two up",
     "I never understood it", "never heard of it", "I've never used PyTorch", "I would have to check",
     "I need to look it up", "My guess is that it copies", "I guess it copies", "I can only guess",
     "It copies, but I am not 100 % sure", "To be honest I do not know", "Sorry, I do not remember",
     "wei\u00df ich nicht", "Keine Ahnung"],
)  # fmt: skip
def test_a_candidate_who_does_not_know(text: str) -> None:
    assert has_dont_know(text)


@pytest.mark.parametrize(
    "text",
    ["The weights are cleared so they do not remember the last batch.", "Autograd cannot tell which one it was.",
     "The old copy is never used again.", "reshape is not certain to return a view.",
     "You need to check that the tensor is contiguous.", "The model has no idea of the mean.",
     "The network can only guess.", "Don't mix them up.", "The optimizer does not know about it.",
     "If you forget it, the loss explodes.", "If we forgot it, the updates were wrong.", "The graph is never read.",
     "It is not used, so its memory is freed."],
)  # fmt: skip
def test_statements_about_other_things_than_the_candidate(text: str) -> None:
    assert not has_dont_know(text)


@pytest.mark.parametrize(
    ("prompt", "reference", "text", "expected"),
    [
        ("Why does an open switch matter?", "The circuit is broken.", "An open switch does matter.", "echo"),
        ("Why does an open switch matter?", "The circuit is broken.", "An open switch does not matter.", "claim"),
        ("Why does an open switch matter?", "The circuit is broken.", "An open switch leaves a gap.", "claim"),
        ("Amy threw a ball from a line. What was kept equal?", "The place to throw from.", "The line.", "claim"),
    ],
)
def test_few_wordings_do_not_make_a_right_answer_a_repetition(
    prompt: str, reference: str, text: str, expected: str, hash_grader: Grader
) -> None:
    assert role_of(text, hash_grader.index(Item.from_reference(prompt, [reference], max_score=1))) == expected


DISGUISES: dict[str, Callable[[list[str]], str]] = {
    "blanks": " ".join,
    "lines": "\n".join,
    "the": lambda terms: "the " + " the ".join(terms),
    "of": " of ".join,
    "equals": " = ".join,
    "sentence": lambda terms: "It has " + " ".join(terms),
    "call": lambda terms: f"answer({', '.join(terms)})",
    "chain": ".".join,
    "fence": lambda terms: "```\n" + "\n".join(terms) + "\n```",
}
TERMS = ["gravity", "moon", "bulge", "harbour", "calendar", "planet", "beach", "sun", "spring", "neap"]


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_list_of_terms_in_disguise(disguise: str, index: ItemIndex) -> None:
    parts = statements(normalise(DISGUISES[disguise](TERMS)))
    assert set(roles(parts, index, honest=False)) == {"keyword_list"}


@pytest.mark.parametrize(
    "text",
    [
        "optimizer.zero_grad(); loss = criterion(model(x), y); loss.backward(); optimizer.step()",
        "loader = DataLoader(data, batch_size=32, shuffle=True, num_workers=4, collate_fn=join)",
        "model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))",
        "x = torch.zeros(2, 3, 4, 5, 6)",
    ],
)
def test_code_that_does_something_is_code(text: str, zero_grad: ItemIndex) -> None:
    assert role_of(text, zero_grad, is_code=True) == "code"


@pytest.mark.parametrize(
    "text",
    [
        "Short string high pitch, long string low pitch.",
        "leaf = no grad_fn, made by you, not by an op",
        "height x width x colour x time",
        "Keeping activations in a stable range permits higher learning rates.",
        "view is giving same data in other shape and if tensor not contiguous it often comes error.",
    ],
)
def test_notes_and_the_english_of_learners_are_claims(text: str, zero_grad: ItemIndex) -> None:
    assert role_of(text, zero_grad) == "claim"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is the moon.", "claim"),
        ("qwrt zxcvb asdfg hjkl", "gibberish"),
        ("What are tides, and why do they happen?", "echo"),
        ("Tides are tides, and they happen.", "echo"),
        ("They happen, and that is why.", "echo"),
        ("moon, gravity, sun, ocean, water, planet", "keyword_list"),
        ("moon gravity ocean water harbour table calendar beach level sea bulge pull", "keyword_list"),
        ("moon / gravity / ocean / water / bulge / sea", "keyword_list"),
        ("I don't know.", "dont_know"),
        ("I would look into a book about the sea.", "find_out"),
        ("I would draw a table of one harbour and the calendar of the moon and compare.", "find_out"),
        ("To find out, measure it at the pier.", "find_out"),
    ],
)
def test_roles(text: str, expected: str, index: ItemIndex) -> None:
    assert role_of(text, index) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Just measure it for a week.", "find_out"),
        ("Maybe look it up.", "find_out"),
        ("If you look at the sea twice, the level has changed.", "claim"),
    ],
)
def test_only_an_honest_candidate_finds_out_without_saying_would(text: str, expected: str, index: ItemIndex) -> None:
    assert role_of(text, index, honest=True) == expected
    assert role_of(text, index) == "claim"


def test_terms_in_lines_of_their_own_are_a_list(index: ItemIndex) -> None:
    lines = ["moon", "gravity", "the ocean", "high water", "bulge", MOON]
    parts = [Statement(text, 0, len(text)) for text in lines]
    assert roles(parts, index, honest=False) == [*["keyword_list"] * 5, "claim"]
    assert roles(parts[1:], index, honest=False) == ["claim"] * 5, "four terms are none"


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("moon and gravity and sun and ocean and water", True),
        ("Moon. Gravity. Sun. Ocean. High water.", True),
        ("no copy, same memory, never moved, stride, contiguous", True),
        ("The moon pulls, the sun helps, and the water rises, since it can flow.", False),
        ("x = [1, 2, 3, 4, 5, 6]", False),
        ("The values 1, 2, 3, 4 become -1.34, -0.45, 0.45 and 1.34.", False),
        ("backward -> add, no clearing -> sums, step -> wrong, loss -> up, so clear", False),
        ("The mean and the spread, per channel, over the batch and the positions", False),
    ],
)
def test_lists_of_terms(text: str, listed: bool) -> None:
    assert is_keyword_list(text, tokenise(text)) is listed


def test_an_accepted_wording_is_always_a_claim(pytorch_bank: Bank, hash_grader: Grader) -> None:
    for item in (pytorch_bank[name] for name in TRYING):
        prepared = hash_grader.index(item)
        accepted = [text for c in item.components.values() for e in c.elements for text in e.key_statements]
        for text in accepted:
            found = statements(normalise(text))
            roles = {role(part, prepared, honest=True) for part in found} if len(found) == 1 else set()
            assert roles <= {"claim", "code"}, (item.id, text)


def test_a_misconception_is_never_screened_away(pytorch_bank: Bank, hash_grader: Grader) -> None:
    for item in (pytorch_bank[name] for name in TRYING):
        prepared = hash_grader.index(item)
        for text in (text for m in item.misconceptions for text in m.statements):
            found = statements(normalise(text))
            roles = {role(part, prepared, honest=True) for part in found} if len(found) == 1 else set()
            assert roles <= {"claim", "code"}, (item.id, text)


def test_listed_ways_to_find_out_are_recognised(pytorch_bank: Bank, hash_grader: Grader) -> None:
    for item in (pytorch_bank[name] for name in TRYING):
        prepared = hash_grader.index(item)
        for text in item.find_out:
            roles = [role(part, prepared, honest=True) for part in statements(normalise(text))]
            assert "find_out" in roles, (item.id, text)


def test_a_prompt_answers_nothing(pytorch_bank: Bank, hash_grader: Grader) -> None:
    for item in (pytorch_bank[name] for name in TRYING):
        found = statements(normalise(item.prompt))
        if len(found) == 1:
            assert role(found[0], hash_grader.index(item), honest=False) == "echo", item.id


def test_a_short_right_answer_in_the_prompts_words_is_no_echo(zero_grad: ItemIndex) -> None:
    assert role_of("Because gradients add up otherwise.", zero_grad) == "claim"
    assert role_of("The training loop calls optimizer.zero_grad() in a training loop.", zero_grad) == "echo"


def test_a_number_can_be_the_answer(hash_grader: Grader) -> None:
    item = Item.from_reference("How many bits has a float32?", "32")
    prepared = hash_grader.index(item)
    assert role_of("32", prepared) == "claim"
    assert role_of("64", prepared) == "claim"
    assert role_of("float32", prepared) == "echo"


def test_no_can_be_the_answer(hash_grader: Grader) -> None:
    prepared = hash_grader.index(Item.from_reference("Does a view copy?", "No."))
    assert role_of("No", prepared) == "claim"


def test_prose_between_code_marks_is_screened(zero_grad: ItemIndex) -> None:
    assert role_of("optimizer.zero_grad(); loss.backward()", zero_grad, is_code=True) == "code"
    assert role_of("stale reset wipe bug pitfall order explode unstable silent momentum batch", zero_grad,
                   is_code=True) == "keyword_list"  # fmt: skip
    assert role_of("zero_grad resets the weights of the model to zero", zero_grad, is_code=True) == "claim"


def test_a_list_answers_an_item_that_asks_for_several_things(
    make_item: Callable[..., Item], hash_grader: Grader
) -> None:
    elements = [
        {"id": f"e{i}", "key_statements": [text]}
        for i, text in enumerate(["Dropout.", "Augmentation.", "Early stopping."])
    ]
    item = Item.model_validate({
        "id": "remedies", "prompt": "Name remedies.", "reference_answer": "x",
        "components": {"answer": {"weight": 5, "elements": elements}},
    })  # fmt: skip
    text = "dropout, augmentation, early stopping, smaller nets, more data"
    assert role_of(text, hash_grader.index(item)) == "claim"
    assert is_keyword_list(text, tokenise(text))


@pytest.mark.parametrize(
    ("text", "language", "foreign"),
    [
        ("\u092a\u0924\u093e \u0928\u0939\u0940\u0902", "en", True),
        ("\u092a\u0924\u093e \u0928\u0939\u0940\u0902", "hi", True),
        ("The moon pulls at the water.", "hi", True),
        (
            "Gradients \u091c\u092e\u093e \u0939\u094b\u0924\u0947 \u0939\u0948\u0902, zero.",
            "de",
            True,
        ),
        ("The angles \u03b1, \u03b2 and \u03b3 sum to \u03c0, and \u00b5 is small.", "en", False),
        ("\u5f20\u91cf\u5171\u4eab\u5185\u5b58", "en", True),
        ("Die Gezeiten entstehen durch die Anziehungskraft des Mondes auf das Wasser.", "en", True),
        (
            "Les mar\u00e9es viennent de la force de gravit\u00e9 exerc\u00e9e par la lune sur les oc\u00e9ans.",
            "en",
            True,
        ),
        ("Die Gezeiten entstehen durch die Anziehungskraft des Mondes auf das Wasser.", "de", False),
        ("The moon pulls at the ocean, so the level of the water rises twice a day.", "en", False),
        ("The word \u0924\u093e\u0930 means wire, and the moon pulls at the water.", "en", False),
        ("Mond", "en", False),
        ("optimizer zero_grad backward step loss tensor", "en", False),
        ("12345", "en", False),
        ("", "en", False),
    ],
)
def test_other_languages(text: str, language: str, foreign: bool) -> None:
    assert foreign_language(text, language) is foreign


@given(st.text(st.characters(), max_size=60), st.booleans(), st.booleans())
def test_every_text_has_a_role(tides: Item, hash_grader: Grader, text: str, honest: bool, is_code: bool) -> None:
    clean = normalise(text).text
    assert role_of(clean, hash_grader.index(tides), honest=honest, is_code=is_code)
    assert foreign_language(clean, "en") in (True, False)
