"""The pipeline: the one place where the stages meet.

text → statements → screens → evidence → credit → score → feedback. `Grader.grade_many` is the primitive; everything
else (command line, tables, service) calls it, so one answer gets one mark everywhere.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from grader.encoder import Encoder, Encoding, SentenceTransformerEncoder
from grader.errors import InputError
from grader.evidence.contradiction import Contradiction, contradictions
from grader.evidence.features import element_keywords, features
from grader.evidence.keywords import KeywordEvidence, Words
from grader.evidence.similarity import Alignment, Phrase
from grader.feedback import build_feedback
from grader.index import ItemIndex, build_index
from grader.rubric import Item
from grader.score import (
    ComponentScore,
    ConditionCode,
    ElementScore,
    ErrorFound,
    Evidence,
    ReferralReason,
    Score,
    StatementView,
)
from grader.scoring import Prior, component_credit, load_prior, mark, status
from grader.screen import HARD_LIMIT, Role, foreign_language, has_dont_know, is_blank, role
from grader.segment import Statement, statements
from grader.signature import signature
from grader.spelling import correct
from grader.text import Normalised, normalise
from grader.words import table_hash

Floats = NDArray[np.float32]

_CACHED_ITEMS = 256
_CHUNK = 256
#: Below this cosine to everything in the item a response is about something else.
OFF_TOPIC = 0.28
#: A contradicted or quoted element must have at least this credit to matter.
_NOTABLE = 0.15


@dataclass(slots=True)
class _Reading:
    """One response on its way through the pipeline."""

    source: Normalised
    statements: list[Statement]
    roles: list[Role]
    condition: ConditionCode | None = None
    gradable: bool = True

    def chosen(self, *wanted: Role) -> list[int]:
        return [at for at, found in enumerate(self.roles) if found in wanted]


class Grader:
    """Scores responses against items; keeps the encoder and the encoded rubrics."""

    def __init__(self, encoder: Encoder | None = None, *, prior: Prior | None = None) -> None:
        """A grader.

        Args:
            encoder: The language model; the packaged MiniLM if not given, loaded at the first response.
            prior: The scorer of elements; the shipped one if not given.
        """
        self._encoder = encoder
        self._prior = prior or load_prior()
        self._indices: OrderedDict[str, ItemIndex] = OrderedDict()
        self._lock = Lock()

    @property
    def encoder(self) -> Encoder:
        """The language model, loaded on first use."""
        with self._lock:
            if self._encoder is None:
                self._encoder = SentenceTransformerEncoder()
        return self._encoder

    def grade(self, item: Item, response: str, *, language: str = "en") -> Score:
        """The score of one response; `grade_many` with one element."""
        return self.grade_many(item, [response], language=language)[0]

    def grade_many(self, item: Item, responses: Sequence[str], *, language: str = "en") -> list[Score]:
        """The scores of ``responses``, in order; each is what it would be alone.

        Args:
            item: The item.
            responses: What candidates wrote. Any text is acceptable, an empty one too.
            language: Language of the feedback.

        Raises:
            InputError: A response is not text.
        """
        for position, response in enumerate(responses):
            if not isinstance(response, str):
                kind = type(response).__name__
                raise InputError(f"response {position} is {kind}, must be text (use an empty string for no answer)")
        index = self.index(item)
        scores: list[Score] = []
        for start in range(0, len(responses), _CHUNK):
            readings = [_read(response, index) for response in responses[start : start + _CHUNK]]
            texts = [s.text for reading in readings for s in reading.statements]
            encodings = dict(zip(texts, self.encoder.encode(texts), strict=True)) if texts else {}
            scores.extend(self._score(index, reading, encodings, language) for reading in readings)
        return scores

    def index(self, item: Item) -> ItemIndex:
        """The prepared item, from a cache keyed by its content."""
        key = item.content_hash
        with self._lock:
            if key in self._indices:
                self._indices.move_to_end(key)
                return self._indices[key]
        built = build_index(item, self.encoder)
        with self._lock:
            self._indices[key] = built
            while len(self._indices) > _CACHED_ITEMS:
                self._indices.popitem(last=False)
        return built

    def signature(self, item: Item) -> str:
        """The signature that marks of ``item`` carry."""
        return signature(item, encoder=self.encoder.signature, prior=self._prior.version, words=table_hash())

    def _score(self, index: ItemIndex, reading: _Reading, encodings: dict[str, Encoding], language: str) -> Score:
        item = index.item
        texts = [s.text for s in reading.statements]
        phrases = index.phrases(texts, [encodings[text] for text in texts])
        counted = _counted(reading)
        found = errors = None
        components = _nothing(item)
        findings: list[Contradiction] = []
        if counted:
            chosen = [phrases[at] for at in counted]
            words = [Words(texts[at], item.language, reading.statements[at].start) for at in counted]
            keywords = element_keywords(index, words)
            table, found = features(index, chosen, keywords)
            credit = self._prior.credits(table)
            findings = contradictions(index, chosen, found, [reading.roles[at] == "claim" for at in counted])
            components = _components(index, reading, counted, credit, found, keywords, findings)
            if reading.condition is None and _off_topic(index, chosen, found, components):
                reading.condition, components, findings = "off_topic", _nothing(item), []
        errors = _errors(index, reading, counted, findings)
        return self._finish(index, reading, components, errors, counted, findings, language)

    def _finish(
        self,
        index: ItemIndex,
        reading: _Reading,
        components: list[ComponentScore],
        errors: list[ErrorFound],
        counted: list[int],
        findings: list[Contradiction],
        language: str,
    ) -> Score:
        item = index.item
        honest = bool(reading.chosen("find_out"))
        listed = [item.misconceptions[f.misconception] for f in findings if f.misconception is not None]
        penalties = [m.penalty if m.penalty is not None else item.error_deduction for m in listed if m.cap is None]
        penalties += [item.error_deduction for f in findings if f.misconception is None]
        caps = {f"misconception:{m.id}": m.cap for m in listed if m.cap is not None}
        if reading.condition == "keyword_list":
            caps["keyword_list"] = item.keyword_list_cap
        result = mark(
            item,
            {component.name: component.points for component in components},
            error_deduction=max(penalties, default=0.0),
            caps=caps,
            honest=honest,
        )
        condition = _condition(reading, honest, result.raw, item)
        score = result.score if reading.gradable else None
        reasons = _referral(item, condition)
        return Score(
            item=item.id,
            score=score,
            max_score=item.scale.max,
            step=item.scale.step,
            raw=result.raw if reading.gradable else 0.0,
            components=tuple(components),
            errors=tuple(errors),
            condition_code=condition,
            referred=bool(reasons),
            referral_reasons=reasons,
            calculation=result.steps if reading.gradable else (),
            statements=_views(reading, counted, findings),
            feedback=build_feedback(item, components, errors, condition, score, language=language),
            signature=self.signature(item),
        )


def _read(response: str, index: ItemIndex) -> _Reading:
    """Normalises, screens and segments one response."""
    item = index.item
    if len(response) > HARD_LIMIT:
        return _Reading(Normalised(response, "", (), ()), [], [], "too_long", gradable=False)
    source = normalise(response)
    if is_blank(source.text):
        return _Reading(source, [], [], "blank")
    if foreign_language(source.text, item.language):
        return _Reading(source, [], [], "language", gradable=False)
    source = correct(source, index.vocabulary)
    parts = statements(source)
    honest = has_dont_know(source.text)
    roles = [role(part, index, honest=honest) for part in parts]
    reading = _Reading(source, parts, roles)
    if not parts:
        reading.condition = "gibberish"
    elif not reading.chosen("claim", "code"):
        order: tuple[tuple[Role, ConditionCode], ...] = (
            ("find_out", "dont_know_how"), ("dont_know", "dont_know"), ("keyword_list", "keyword_list"),
            ("echo", "echo"), ("gibberish", "gibberish"),
        )  # fmt: skip
        reading.condition = next(code for wanted, code in order if wanted in roles)
    elif len(source.text.split()) > item.limits.max_words:
        reading.condition = "too_long"
    return reading


def _counted(reading: _Reading) -> list[int]:
    """Statements that may earn a credit: claims and code, or the terms of a bare list (which has a cap)."""
    if not reading.gradable:
        return []
    return reading.chosen("keyword_list") if reading.condition == "keyword_list" else reading.chosen("claim", "code")


def _nothing(item: Item) -> list[ComponentScore]:
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


def _components(
    index: ItemIndex,
    reading: _Reading,
    counted: list[int],
    credit: Floats,
    found: Alignment,
    keywords: dict[tuple[str, int], KeywordEvidence],
    findings: list[Contradiction],
) -> list[ComponentScore]:
    item = index.item
    refuted = {name for f in findings if f.misconception is not None for name in item.misconceptions[f.misconception].refutes}
    flipped = {(index.slots[f.key].component, index.slots[f.key].element) for f in findings if f.key is not None}
    rows: dict[tuple[str, int], list[int]] = {}
    for row, slot in enumerate(index.slots):
        rows.setdefault((slot.component, slot.element), []).append(row)
    results = []
    for name, component in item.components.items():
        scores, places = [], []
        for at, element in enumerate(component.elements):
            best = max(rows[name, at], key=lambda row: (float(credit[row]), -row))
            contradicted = name in refuted or (name, at) in flipped
            value = 0.0 if contradicted else float(credit[best])
            place = int(found.recall[best].argmax())
            evidence = None
            if value >= _NOTABLE:
                evidence = _evidence(index, reading, counted[place], best, place, found, keywords.get((name, at)), element.id)
            scores.append(ElementScore(id=element.id, credit=round(value, 4), contradicted=contradicted, evidence=evidence))
            places.append(place if value >= _NOTABLE else None)
        total = round(component_credit(component, [s.credit for s in scores], places), 4)
        points = round(component.weight * total, 2)
        results.append(
            ComponentScore(
                name=name, weight=component.weight, credit=total, points=points, status=status(total), elements=tuple(scores)
            )
        )
    return results


def _evidence(
    index: ItemIndex,
    reading: _Reading,
    statement: int,
    row: int,
    column: int,
    found: Alignment,
    keywords: KeywordEvidence | None,
    element: str,
) -> Evidence:
    part = reading.statements[statement]
    start, end = reading.source.span(part.start, part.end)
    return Evidence(
        start=start,
        end=end,
        text=reading.source.original[start:end],
        element=element,
        key_statement=index.keys.phrases[row].text,
        similarity=round(max(float(found.recall[row, column]), 0.0), 4),
        keywords=tuple(reading.source.span(*span) for span in keywords.spans) if keywords else (),
    )


def _off_topic(index: ItemIndex, chosen: list[Phrase], found: Alignment, components: list[ComponentScore]) -> bool:
    """Nothing earned and nothing in the item is even about the same thing."""
    if any(component.credit >= 0.5 for component in components):
        return False
    asked = max(float(index.prompt.encoding.pooled @ phrase.encoding.pooled) for phrase in chosen)
    return max(asked, float(found.cosine.max())) < OFF_TOPIC


def _errors(index: ItemIndex, reading: _Reading, counted: list[int], findings: list[Contradiction]) -> list[ErrorFound]:
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
            why = (
                "This says the opposite of what is the case: check the negation."
                if finding.kind == "negation"
                else "The number in this is not right."
            )
        errors.append(
            ErrorFound(
                kind=finding.kind, id=name, start=start, end=end, text=reading.source.original[start:end],
                refutes=refutes, explanation=why,
            )
        )  # fmt: skip
    return errors


def _condition(reading: _Reading, honest: bool, raw: float, item: Item) -> ConditionCode | None:
    """The screen's code, or that the candidate says they do not know and has earned no more than the honest credit."""
    if reading.condition is not None or raw > item.honest_credit:
        return reading.condition
    if honest:
        return "dont_know_how"
    return "dont_know" if reading.chosen("dont_know") else None


def _referral(item: Item, condition: ConditionCode | None) -> tuple[ReferralReason, ...]:
    if condition == "language":
        return ("language",)
    if condition == "too_long":
        return ("too_long",)
    return ("off_topic",) if condition == "off_topic" and item.limits.refer_off_topic else ()


def _views(reading: _Reading, counted: list[int], findings: list[Contradiction]) -> tuple[StatementView, ...]:
    wrong = {counted[finding.statement] for finding in findings}
    views = []
    for at, part in enumerate(reading.statements):
        start, end = reading.source.span(part.start, part.end)
        views.append(StatementView(start=start, end=end, role="error" if at in wrong else reading.roles[at]))
    return tuple(views)
