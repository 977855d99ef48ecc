"""Structured feedback after the guidance: give the definition, then the why, then a one-line example or a pitfall."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from grader.i18n import mark_for_translation as _
from grader.i18n import translator
from grader.rubric import FollowUp, Item
from grader.score import ComponentScore, ConditionCode, ErrorFound, Feedback, Quoted, Score

Translate = Callable[[str], str]


#: Characters that would steer a terminal, turn the reading direction or cannot be written at all.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")

NAMES = {
    "definition": _("definition"),
    "reason": _("reason"),
    "example_or_pitfall": _("example or pitfall"),
    "answer": _("answer"),
}

CONDITIONS: dict[ConditionCode, str] = {
    "blank": _("There is no answer here. If you do not know, say how you would find out: that earns a small credit."),
    "gibberish": _("These are not words of a language. Write one or two full sentences."),
    "echo": _("This repeats the question and adds nothing to it. Say what it means in your own words."),
    "keyword_list": _(
        "These are terms side by side. A term earns nothing until you say something about it: what it does, and why."
    ),
    "off_topic": _("This is about something else. Read the question once more and answer what it asks."),
    "dont_know": _(
        "Being honest is fine. Add how you would find out, for example by a two-line experiment or the documentation."
    ),
    "dont_know_how": _("You do not know, but you say how you would find out. That is worth a small credit."),
    "language": _("This item is graded in another language. A person will look at your answer."),
    "too_long": _("This is longer than the item allows. A person will look at your answer."),
}

ADVICE = {
    "definition": _("Start with the definition: answer the question directly in one sentence."),
    "reason": _("Then give the why: the cause, the mechanism or the consequence."),
    "example_or_pitfall": _("End with one line of example, or a pitfall."),
}


def component_name(name: str, translate: Translate) -> str:
    """A component's name as a reader sees it."""
    return translate(NAMES[name]) if name in NAMES else name.replace("_", " ")


def build_feedback(
    item: Item,
    components: Sequence[ComponentScore],
    errors: Sequence[ErrorFound],
    condition: ConditionCode | None,
    score: float | None,
    *,
    language: str = "en",
) -> Feedback:
    """The feedback for a mark; every text comes from the rubric or from a translated catalogue."""
    translate = translator(language)
    present = [_present(item, c, translate) for c in components if c.status != "missing"]
    missing = [_missing(item, c, translate) for c in components if c.status != "present"]
    wrong = [Quoted(component=next(iter(e.refutes), None), quote=e.text, text=e.explanation) for e in errors]
    asked = next_follow_up(item, components) if condition in (None, "too_long", "dont_know", "dont_know_how") else None
    return Feedback(
        language=language,
        summary=_summary(item, components, errors, condition, score, translate),
        condition=translate(CONDITIONS[condition]) if condition else None,
        present=tuple(present),
        missing=tuple(missing),
        wrong=tuple(wrong),
        next_question=asked.question if asked else None,
        next_question_id=asked.id if asked else None,
    )


def _present(item: Item, component: ComponentScore, translate: Translate) -> Quoted:
    best = max(
        (element for element in component.elements if element.evidence),
        key=lambda element: element.credit,
        default=None,
    )
    whole = component.status == "present"
    text = item.components[component.name].feedback.present if whole else translate(_("This counts for part of it."))
    quote = best.evidence.text if best and best.evidence else ""
    return Quoted(component=component.name, quote=quote, text=text)


def _missing(item: Item, component: ComponentScore, translate: Translate) -> Quoted:
    rubric = item.components[component.name]
    text = rubric.feedback.partial if component.status == "partial" else rubric.feedback.missing
    advice = ADVICE.get(component.name)
    full = f"{translate(advice)} {text}" if advice and component.status == "missing" else text
    return Quoted(component=component.name, text=full, hint=rubric.hint)


def _summary(
    item: Item,
    components: Sequence[ComponentScore],
    errors: Sequence[ErrorFound],
    condition: ConditionCode | None,
    score: float | None,
    translate: Translate,
) -> str:
    if score is None:
        return translate(_("No mark yet: a person has to look at this answer."))
    head = translate(_("{score} of {max} points")).format(score=f"{score:g}", max=f"{item.scale.max:g}")
    parts = []
    for state, label in (("present", _("there: {names}")), ("partial", _("incomplete: {names}"))):
        names = [component_name(c.name, translate) for c in components if c.status == state]
        if names:
            parts.append(translate(label).format(names=", ".join(names)))
    missing = [component_name(c.name, translate) for c in components if c.status == "missing"]
    if missing:
        parts.append(translate(_("missing: {names}")).format(names=", ".join(missing)))
    if errors:
        parts.append(
            translate(_("one statement is wrong")) if len(errors) == 1 else translate(_("some statements are wrong"))
        )
    return f"{head}; {'; '.join(parts)}." if parts else f"{head}."


def next_follow_up(
    item: Item, components: Sequence[ComponentScore], asked: frozenset[str] = frozenset()
) -> FollowUp | None:
    """The first follow-up not yet asked whose condition holds, or ``None``."""
    met = {component.name for component in components if component.status == "present"}
    for follow_up in item.follow_ups:
        wanted = follow_up.ask_when
        if follow_up.id not in asked and set(wanted.met) <= met and not set(wanted.missed) & met:
            return follow_up
    return None


def render_text(score: Score, item: Item, *, show_answer: bool = False) -> str:
    """The feedback of ``score`` as plain text, in the language it was made in."""
    feedback, translate = score.feedback, translator(score.feedback.language)
    lines = [feedback.summary]
    if feedback.condition:
        lines += ["", feedback.condition]
    for heading, entries in (
        (_("What is there"), feedback.present),
        (_("What is wrong"), feedback.wrong),
        (_("What is missing"), feedback.missing),
    ):
        if entries:
            lines += ["", translate(heading)]
            lines += [line for entry in entries for line in _entry_lines(entry, translate)]
    if feedback.next_question:
        lines += ["", translate(_("The examiner's next question")), f"  {feedback.next_question}"]
    if show_answer:
        lines += ["", translate(_("A full answer")), f"  {item.reference_answer}"]
    return "\n".join(lines)


def _entry_lines(entry: Quoted, translate: Translate) -> list[str]:
    name = f"{component_name(entry.component, translate)}: " if entry.component else ""
    lines = [f"  - {name}{entry.text}"]
    if entry.quote:
        lines.append(f"    \u201c{' '.join(_UNSEEN.sub(' ', entry.quote).split())}\u201d")
    if entry.hint:
        lines.append(f"    {translate(_('Hint'))}: {entry.hint}")
    return lines
