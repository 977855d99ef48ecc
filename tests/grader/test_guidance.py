"""The guidance, walked item by item: what is missing is named in order, and nothing is given away.

"First the definition, then why, then one line of example or a pitfall", for every item and every subset of components
that a candidate may have said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from grader import Bank, Grader, Item, load_bank
from grader.evidence.keywords import Words
from grader.feedback import ADVICE, NAMES, build_feedback, component_name
from grader.i18n import LANGUAGES, translator
from grader.rubric import STANDARD_COMPONENTS, KeywordGroup
from grader.score import ComponentScore, Feedback, Status
from grader.text import normalise
from grader.viva import Examiner, VivaState

BANK = load_bank()
ITEMS = list(BANK)


def scored(item: Item, present: Sequence[bool], otherwise: Status) -> list[ComponentScore]:
    return [
        ComponentScore(
            name=name,
            weight=component.weight,
            credit=1.0 if there else 0.4 * (otherwise == "partial"),
            points=component.weight if there else 0.0,
            status="present" if there else otherwise,
        )
        for (name, component), there in zip(item.components.items(), present, strict=True)
    ]


def walked(item: Item, language: str = "en") -> Iterator[tuple[list[str], Status, Feedback]]:
    """Every subset of components as present: the ones that are not, how far they are, and the feedback."""
    for present in product((True, False), repeat=len(item.components)):
        for otherwise in ("missing", "partial"):
            components = scored(item, present, otherwise)
            total = sum(component.points for component in components)
            lacking = [c.name for c in components if c.status != "present"]
            yield lacking, otherwise, build_feedback(item, components, [], None, total, language=language)


def test_both_packs_are_walked_in_three_languages() -> None:
    assert len(ITEMS) == 45
    assert LANGUAGES == ("en", "de", "hi")


@pytest.mark.parametrize("name", ITEMS)
def test_the_components_of_every_item_stand_in_the_order_of_the_guidance(name: str) -> None:
    order = [component for component in STANDARD_COMPONENTS if component in BANK[name].components]
    assert [component for component in BANK[name].components if component in STANDARD_COMPONENTS] == order
    assert list(ADVICE) == list(STANDARD_COMPONENTS)


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_advice_names_exactly_what_is_not_there_and_in_order(name: str, language: str) -> None:
    item, translate = BANK[name], translator(language)
    for lacking, status, feedback in walked(item, language):
        assert [entry.component for entry in feedback.missing] == lacking
        assert [entry.component for entry in feedback.present] == [
            component for component in item.components if component not in lacking or status == "partial"
        ]
        for entry in feedback.missing:
            assert entry.component is not None
            texts = item.components[entry.component].feedback
            advice = translate(ADVICE[entry.component]) if entry.component in ADVICE else ""
            full = f"{advice} {texts.missing}".strip()
            assert entry.text == (full if status == "missing" else texts.partial)
            assert entry.hint == item.components[entry.component].hint


@pytest.mark.parametrize("name", ITEMS)
def test_the_summary_says_what_is_there_and_what_is_missing(name: str) -> None:
    item = BANK[name]
    for lacking, status, feedback in walked(item):
        there = [component for component in item.components if component not in lacking]
        label = "missing" if status == "missing" else "incomplete"
        wanted = {"there": there, label: lacking}
        said = dict(part.split(": ") for part in feedback.summary.rstrip(".").split("; ")[1:])
        assert said == {
            key: ", ".join(component_name(component, str) for component in names)
            for key, names in wanted.items()
            if names
        }


@pytest.mark.parametrize("name", ITEMS)
def test_nothing_of_the_key_is_given_away(name: str) -> None:
    item = BANK[name]
    texts = {
        text
        for language in LANGUAGES
        for _, _, feedback in walked(item, language)
        for text in (
            feedback.summary,
            feedback.next_question or "",
            *(part for entry in (*feedback.missing, *feedback.present) for part in (entry.text, entry.hint or "")),
        )
    }
    key = [KeywordGroup(any=(s,)) for c in item.components.values() for e in c.elements for s in e.key_statements]
    for text in texts:
        words = Words(normalise(text).text, item.language)
        leaked = [group.any[0] for group in key if words.find(group)]
        assert not leaked, text


def test_every_name_and_advice_is_translated() -> None:
    for language in LANGUAGES[1:]:
        translate = translator(language)
        for text in (*NAMES.values(), *ADVICE.values()):
            assert translate(text) != text, (language, text)


@pytest.fixture(scope="module")
def examiner(real_grader: Grader) -> Examiner:
    return Examiner(Bank([BANK["zero-grad"]]), real_grader)


def questions(examiner: Examiner, *answers: str, follow_ups: int = 2) -> list[str]:
    """Ids of the follow-ups asked after each of ``answers``, as long as there are any."""
    state: VivaState = examiner.start(["zero-grad"], follow_ups=follow_ups)
    asked = []
    for answer in answers:
        state, _ = examiner.answer(state, answer)
        question = examiner.ask(state)
        if question is None or question.follow_up is None:
            break
        asked.append(question.follow_up)
    return asked


CONSEQUENCE = "Then the old gradients get added up and the weights move in the wrong direction."


def test_after_we_zero_gradients_the_examiner_asks_what_if_not_and_when_not(examiner: Examiner) -> None:
    zero_grad = {f.id: f.question for f in BANK["zero-grad"].follow_ups}
    assert zero_grad["what-if-not"] == "What happens if we don't call it?"
    assert zero_grad["when-not"] == "When would you leave it out on purpose?"
    for first in (
        "we zero gradients",
        "It clears the old gradients, since new ones are added to what is stored in .grad.",
    ):
        assert questions(examiner, first, CONSEQUENCE) == ["what-if-not", "when-not"], first


def test_after_a_wrong_reply_the_examiner_goes_back_to_the_basics(examiner: Examiner) -> None:
    assert questions(examiner, "we zero gradients", "The bread gets cold.") == ["what-if-not", "what-does-backward-do"]


def test_a_good_first_answer_gets_the_harder_question(examiner: Examiner) -> None:
    assert questions(examiner, BANK["zero-grad"].reference_answer) == ["wrong-place"]
