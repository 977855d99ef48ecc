"""The rules of the content lint, each a generator of findings about one item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from grader.evidence.findings import likeness
from grader.evidence.keywords import Words, match_keywords
from grader.grading import Grader
from grader.rubric import Element, Item, KeywordGroup, Location
from grader.score import Score
from grader.text import normalise, tokenise
from grader.viva import follow_up_item
from grader.words import FUNCTION_WORDS, NEGATIONS

_FEW_STATEMENTS, _FEW_MISCONCEPTIONS = 4, 2
#: Two key statements this like one another say the same thing.
SAME_IDEA = 0.85
#: Feedback that earns this much credit for its own component says too much.
GIVEN_AWAY = 0.5


@dataclass(frozen=True, slots=True)
class Rule:
    """What a code stands for; ``graded`` rules need an encoder."""

    severity: Literal["error", "warning"]
    text: str
    graded: bool = False


RULES = {
    "empty-statement": Rule("error", "a statement has no word, number or identifier"),
    "unreachable-keyword": Rule("error", "no response can contain the alternative"),
    "stop-word-keyword": Rule("error", "an alternative is a stop word, which any answer contains"),
    "gives-away": Rule("error", "feedback or hint contains a key statement"),
    "reference-below-full": Rule("error", "the reference answer does not earn full marks", graded=True),
    "reference-wrong": Rule("error", "the reference answer is taken for a false statement", graded=True),
    "statement-wrong": Rule("error", "a key statement is taken for a false statement", graded=True),
    "few-statements": Rule("warning", "fewer than four key statements, or two wordings of a misconception"),
    "keyword-in-prompt": Rule("warning", "the prompt already contains the keyword"),
    "statement-without-keyword": Rule("warning", "a key statement meets no keyword of its element"),
    "same-idea": Rule("warning", "elements of two components have a near-identical key statement", graded=True),
    "gives-away-idea": Rule("warning", "feedback or hint would earn credit as an answer", graded=True),
    "statement-unread": Rule("warning", "a key statement alone is screened out, so it earns nothing", graded=True),
    "silent-misconception": Rule("warning", "a misconception stated as written is not recognised", graded=True),
    "silent-find-out": Rule("warning", "a way to find out stated as written earns no honest credit", graded=True),
    "follow-up-reference": Rule("warning", "the answer to a follow-up does not earn its full marks", graded=True),
    "unknown-waiver": Rule("error", "a waiver names no warning"),
    "unused-waiver": Rule("warning", "a waiver accepts nothing that is there"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule broken at one place of an item."""

    code: str
    message: str
    where: Location


def static_checks(item: Item) -> Iterator[Finding]:
    """What can be found without an encoder."""
    for where, text in _statements(item):
        if not tokenise(normalise(text).text):
            message = f"{_short(text)} has no word, number or identifier; write a statement"
            yield Finding("empty-statement", message, where)
    prompt = Words(normalise(item.prompt).text, item.language)
    for where, element in _elements(item):
        yield from _few_statements(element, where)
        yield from _without_keyword(element, where, item.language)
        yield from _keyword_checks(element, where, item.language, prompt if where[0] == "components" else None)
    for at, misconception in enumerate(item.misconceptions):
        if len(misconception.statements) < _FEW_MISCONCEPTIONS:
            message = f"{len(misconception.statements)} wording; give at least {_FEW_MISCONCEPTIONS}"
            yield Finding("few-statements", message, ("misconceptions", at, "statements"))
    yield from _given_away(item)


def graded_checks(item: Item, grader: Grader) -> Iterator[Finding]:
    """What shows when the item's own texts are graded against it."""
    yield from _reference(item, grader)
    yield from _key_statements(item, grader)
    yield from _same_idea(item, grader)
    yield from _feedback(item, grader)
    yield from _misconceptions(item, grader)
    yield from _find_out(item, grader)
    for at, follow_up in enumerate(item.follow_ups):
        score = grader.grade(follow_up_item(item, follow_up), follow_up.reference_answer)
        if score.score is None or score.score < score.max_score or score.errors:
            message = f"the answer earns {_earned(score)}{_errors(score)}"
            yield Finding("follow-up-reference", message, ("follow_ups", at, "reference_answer"))


def _elements(item: Item) -> Iterator[tuple[Location, Element]]:
    for name, component in item.components.items():
        for at, element in enumerate(component.elements):
            yield ("components", name, "elements", at), element
    for number, follow_up in enumerate(item.follow_ups):
        for at, element in enumerate(follow_up.elements):
            yield ("follow_ups", number, "elements", at), element


def _statements(item: Item) -> Iterator[tuple[Location, str]]:
    for where, element in _elements(item):
        for at, text in enumerate(element.key_statements):
            yield (*where, "key_statements", at), text
    for number, misconception in enumerate(item.misconceptions):
        for at, text in enumerate(misconception.statements):
            yield ("misconceptions", number, "statements", at), text
    for at, text in enumerate(item.find_out):
        yield ("find_out", at), text


def _few_statements(element: Element, where: Location) -> Iterator[Finding]:
    count = len(element.key_statements)
    if count < _FEW_STATEMENTS:
        message = f"{count} key statement{'s' * (count > 1)}; give at least {_FEW_STATEMENTS} wordings"
        yield Finding("few-statements", message, (*where, "key_statements"))


def _keyword_checks(element: Element, where: Location, language: str, prompt: Words | None) -> Iterator[Finding]:
    for number, group in enumerate(element.keywords.groups if element.keywords else ()):
        for at, alternative in enumerate(group.any):
            place = (*where, "keywords", "groups", number, "any", at)
            alone = KeywordGroup(any=(alternative,), match=group.match)
            tokens = tokenise(alternative)
            if not Words(normalise(alternative).text, language).find(alone):
                message = f"{_short(alternative)} can never be met: it has no word, or a response is read differently"
                yield Finding("unreachable-keyword", message, place)
            elif len(tokens) == 1 and tokens[0].text.casefold() in FUNCTION_WORDS - NEGATIONS:
                message = f"{_short(alternative)} says nothing about the idea; choose words a wrong answer lacks"
                yield Finding("stop-word-keyword", message, place)
            elif prompt and prompt.find(alone):
                message = f"{_short(alternative)} stands in the prompt, so repeating the question meets it"
                yield Finding("keyword-in-prompt", message, place)


def _without_keyword(element: Element, where: Location, language: str) -> Iterator[Finding]:
    for at, text in enumerate(element.key_statements if element.keywords else ()):
        if element.keywords and match_keywords(element.keywords, [Words(normalise(text).text, language)]).credit == 0:
            message = f"{_short(text)} meets no keyword of '{element.id}', so it earns less than it should"
            yield Finding("statement-without-keyword", message, (*where, "key_statements", at))


def _feedback_texts(item: Item) -> Iterator[tuple[Location, str]]:
    """What candidates read before they know the answer (a misconception's feedback may state the truth)."""
    for name, component in item.components.items():
        for state in ("present", "partial", "missing"):
            yield ("components", name, "feedback", state), getattr(component.feedback, state)
        if component.hint:
            yield ("components", name, "hint"), component.hint


def _given_away(item: Item) -> Iterator[Finding]:
    statements = [KeywordGroup(any=(text,), match="stem") for _, e in _elements(item) for text in e.key_statements]
    for where, text in _feedback_texts(item):
        words = Words(normalise(text).text, item.language)
        for statement in statements:
            if words.find(statement):
                message = f"contains the key statement {_short(statement.any[0])}; help without giving it away"
                yield Finding("gives-away", message, where)


def _reference(item: Item, grader: Grader) -> Iterator[Finding]:
    score = grader.grade(item, item.reference_answer)
    where: Location = ("reference_answer",)
    if score.score is None or score.score < item.scale.max:
        weak = [c.name for c in score.components if c.status != "present"]
        said = f"; not recognised: {', '.join(weak)}" if weak else ""
        code = f"; read as {score.condition_code}" if score.condition_code else ""
        yield Finding("reference-below-full", f"the reference answer earns {_earned(score)}{said}{code}", where)
    for error in score.errors:
        message = f"{_short(error.text)} is taken for a false statement ({error.kind} {error.id})"
        yield Finding("reference-wrong", message, where)


def _key_statements(item: Item, grader: Grader) -> Iterator[Finding]:
    found = [pair for pair in _statements(item) if pair[0][0] == "components"]
    for (where, text), score in zip(found, grader.grade_many(item, [text for _, text in found]), strict=True):
        if score.errors:
            yield Finding("statement-wrong", f"{_short(text)} is taken for a false statement{_errors(score)}", where)
        roles = {view.role for view in score.statements}
        if not roles & {"claim", "code", "error"}:
            message = f"{_short(text)} is read as {', '.join(sorted(roles)) or score.condition_code} and earns nothing"
            yield Finding("statement-unread", message, where)


def _same_idea(item: Item, grader: Grader) -> Iterator[Finding]:
    index = grader.index(item)
    alike = likeness(index.keys.align(list(index.keys.phrases)))
    alike = np.maximum(alike, alike.T)
    best: dict[tuple[Location, Location], tuple[float, str, str]] = {}
    for row, column in np.argwhere(np.triu(alike, 1) >= SAME_IDEA):
        one, other = index.slots[row], index.slots[column]
        if one.component != other.component:
            places = tuple(("components", slot.component, "elements", slot.element) for slot in (one, other))
            texts = (index.keys.phrases[row].text, index.keys.phrases[column].text)
            best.setdefault((places[0], places[1]), (0.0, "", ""))
            best[places[0], places[1]] = max(best[places[0], places[1]], (float(alike[row, column]), *texts))
    for (first, second), (_, here, there) in best.items():
        message = f"{_short(here)} says the same as {_short(there)} in {'.'.join(map(str, first))}"
        yield Finding("same-idea", message, second)


def _feedback(item: Item, grader: Grader) -> Iterator[Finding]:
    texts = list(_feedback_texts(item))
    for (where, text), score in zip(texts, grader.grade_many(item, [text for _, text in texts]), strict=True):
        credit = score.component(str(where[1])).credit
        if credit >= GIVEN_AWAY:
            message = f"{_short(text)} would earn {credit:.2f} of this component as an answer; say less"
            yield Finding("gives-away-idea", message, where)


def _misconceptions(item: Item, grader: Grader) -> Iterator[Finding]:
    found = [pair for pair in _statements(item) if pair[0][0] == "misconceptions"]
    for (where, text), score in zip(found, grader.grade_many(item, [text for _, text in found]), strict=True):
        known = item.misconceptions[int(where[1])]
        if known.id not in {error.id for error in score.errors}:
            said = f", read as {score.condition_code}" if score.condition_code else f", earns {_earned(score)}"
            message = f"{_short(text)} is not recognised as {known.id}{said}"
            yield Finding("silent-misconception", message, where)


def _find_out(item: Item, grader: Grader) -> Iterator[Finding]:
    answers = [f"I don't know. {text}" for text in item.find_out]
    for at, score in enumerate(grader.grade_many(item, answers)):
        if score.condition_code != "dont_know_how":
            message = f"{_short(item.find_out[at])} is not read as a way to find out"
            yield Finding("silent-find-out", message, ("find_out", at))


def _earned(score: Score) -> str:
    return f"{'no mark' if score.score is None else f'{score.score:g}'} of {score.max_score:g}"


def _errors(score: Score) -> str:
    names: Sequence[str] = sorted({f"{error.kind} {error.id}" for error in score.errors})
    return f" ({', '.join(names)})" if names else ""


def _short(text: str, width: int = 60) -> str:
    flat = " ".join(text.split())
    return f"'{flat if len(flat) <= width else flat[: width - 1] + '…'}'"
