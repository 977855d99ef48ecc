"""Evidence and credits put together: components with the words they rest on, and the false statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grader.evidence.findings import Contradiction
from grader.evidence.keywords import KeywordEvidence
from grader.evidence.similarity import Alignment, Phrase
from grader.i18n import mark_for_translation as _
from grader.i18n import translator
from grader.index import ItemIndex
from grader.reading import Reading
from grader.rubric import Component, Item
from grader.score import ComponentScore, ElementScore, ErrorFound, Evidence, StatementView
from grader.scoring import component_credit, status

Floats = NDArray[np.float32]
KeywordTable = dict[tuple[str, int], KeywordEvidence]

#: Below this cosine to everything in the item a response is about something else.
OFF_TOPIC = 0.28
#: An element needs at least this credit for its words to be quoted.
NOTABLE = 0.15
#: Share of the best recall from which on a statement is taken to have said the element already.
SAID_ALREADY = 0.6


def no_components(item: Item) -> list[ComponentScore]:
    """All components of an item without a credit."""
    return [
        ComponentScore(
            name=name,
            weight=component.weight,
            credit=0.0,
            points=0.0,
            status="missing",
            elements=tuple(ElementScore(id=element.id, credit=0.0) for element in component.elements),
        )
        for name, component in item.components.items()
    ]


def judge_components(
    index: ItemIndex,
    reading: Reading,
    counted: Sequence[int],
    credit: Floats,
    found: Alignment,
    keywords: KeywordTable,
    findings: Sequence[Contradiction],
) -> list[ComponentScore]:
    """Credits of all components.

    Args:
        index: The item.
        reading: The response.
        counted: Which of its statements may earn a credit.
        credit: Credit of each key statement, shape (k,).
        found: Alignment of key statements with the counted statements.
        keywords: Keyword evidence by (component, element).
        findings: False statements; what they contradict earns nothing.
    """
    wrong = contradicted_elements(index, findings)
    credits = credit.tolist()
    rows: dict[tuple[str, int], list[int]] = {}
    for row, slot in enumerate(index.slots):
        rows.setdefault((slot.component, slot.element), []).append(row)
    results = []
    for name, component in index.item.components.items():
        elements, places = [], []
        for at, element in enumerate(component.elements):
            best = max(rows[name, at], key=lambda row: (credits[row], -row))
            value = 0.0 if (name, at) in wrong else round(credits[best], 4)
            evidence = None
            if value >= NOTABLE:
                said = int(found.recall[best].argmax())
                words = keywords.get((name, at))
                evidence = _evidence(index, reading, counted[said], best, float(found.recall[best, said]), words)
            elements.append(
                ElementScore(id=element.id, credit=value, contradicted=(name, at) in wrong, evidence=evidence)
            )
            places.append(_first_said(found.recall[best]) if value >= NOTABLE else None)
        results.append(_component(name, component, elements, places))
    return results


def _first_said(recall: Floats) -> int:
    """The first statement that says a key statement nearly as well as the best one does."""
    return int((recall >= SAID_ALREADY * recall.max()).argmax())


def contradicted_elements(index: ItemIndex, findings: Sequence[Contradiction]) -> frozenset[tuple[str, int]]:
    """(component, element) pairs that cannot be earned because of what the response claims."""
    wrong = set()
    for finding in findings:
        if finding.suspected:
            continue
        if finding.misconception is not None:
            for name in index.item.misconceptions[finding.misconception].refutes:
                wrong |= {(name, at) for at in range(len(index.item.components[name].elements))}
        elif finding.key is not None:
            wrong.add((index.slots[finding.key].component, index.slots[finding.key].element))
    return frozenset(wrong)


def _component(
    name: str, component: Component, elements: Sequence[ElementScore], places: Sequence[int | None]
) -> ComponentScore:
    credit = round(component_credit(component, [element.credit for element in elements], places), 4)
    return ComponentScore(
        name=name,
        weight=component.weight,
        credit=credit,
        points=round(component.weight * credit, 2),
        status=status(credit),
        elements=tuple(elements),
    )


def calibrated_components(components: Sequence[ComponentScore], credits: Mapping[str, float]) -> list[ComponentScore]:
    """The components with the credits, 0 to 1, that a calibration gives them; others stay as they are."""
    return [
        component.model_copy(
            update={
                "credit": credits[component.name],
                "points": round(component.weight * credits[component.name], 2),
                "status": status(credits[component.name]),
            }
        )
        if component.name in credits
        else component
        for component in components
    ]


def _evidence(
    index: ItemIndex, reading: Reading, statement: int, row: int, similarity: float, keywords: KeywordEvidence | None
) -> Evidence:
    part = reading.statements[statement]
    start, end = reading.source.span(part.start, part.end)
    slot = index.slots[row]
    return Evidence(
        start=start,
        end=end,
        text=reading.source.original[start:end],
        element=index.item.components[slot.component].elements[slot.element].id,
        key_statement=index.keys.phrases[row].text,
        similarity=round(max(similarity, 0.0), 4),
        keywords=tuple(reading.source.span(*span) for span in keywords.spans) if keywords else (),
    )


def off_topic(
    index: ItemIndex, chosen: Sequence[Phrase], found: Alignment, components: Sequence[ComponentScore]
) -> bool:
    """Whether nothing is earned and nothing in the item is even about the same thing."""
    if any(component.credit >= 0.5 for component in components):
        return False
    asked = max(float(index.prompt.encoding.pooled @ phrase.encoding.pooled) for phrase in chosen)
    return max(asked, float(found.cosine.max())) < OFF_TOPIC


EXPLANATIONS = {
    "negation": _("This says “{first}”, and the opposite is the case."),
    "no negation": _("This leaves out a negation: the opposite is the case."),
    "roles": _("You have the two the wrong way round: check what belongs to “{first}” and what to “{second}”."),
    "number": _("The number in “{first}” is not right."),
    "antonym": _("This says the opposite of what is the case: check the word “{first}”."),
    "contradiction": _("This contradicts what is the case."),
}


def _explained(finding: Contradiction, language: str) -> str:
    """Why a statement is false, with the words that make it so."""
    first, second = (*finding.words, "", "")[:2]
    kind = "no negation" if finding.kind == "negation" and not finding.words else finding.kind
    return translator(language)(EXPLANATIONS[kind]).format(first=first, second=second)


def errors_found(
    index: ItemIndex, reading: Reading, counted: Sequence[int], findings: Sequence[Contradiction], language: str
) -> list[ErrorFound]:
    """The false statements in the candidate's own words, with why they are false."""
    errors = []
    for finding in findings:
        part = reading.statements[counted[finding.statement]]
        start, end = reading.source.span(part.start, part.end)
        if finding.misconception is not None:
            known = index.item.misconceptions[finding.misconception]
            name, refutes, why = known.id, known.refutes, known.feedback
        else:
            slot = index.slots[finding.key or 0]
            name = index.item.components[slot.component].elements[slot.element].id
            refutes = (slot.component,)
            why = _explained(finding, language)
        words = reading.source.original[start:end]
        errors.append(
            ErrorFound(kind=finding.kind, id=name, start=start, end=end, text=words, refutes=refutes, explanation=why)
        )
    return errors


def statement_views(
    reading: Reading, counted: Sequence[int], findings: Sequence[Contradiction]
) -> tuple[StatementView, ...]:
    """How each statement was read, for highlighting."""
    wrong = {counted[finding.statement] for finding in findings}
    views = []
    for at, part in enumerate(reading.statements):
        start, end = reading.source.span(part.start, part.end)
        views.append(StatementView(start=start, end=end, role="error" if at in wrong else reading.roles[at]))
    return tuple(views)
