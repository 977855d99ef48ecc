"""The calculation of one mark, line by line: what each element's credit is made of, and how the credits add up."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from grader.errors import InputError
from grader.evidence.features import FEATURES, element_keywords, features
from grader.evidence.keywords import KeywordEvidence, Words
from grader.grading import Grader
from grader.index import ItemIndex
from grader.reading import Reading, counted_statements, read_response
from grader.rubric import Item
from grader.score import Score
from grader.scoring import MANY_WORDINGS, Floats, Prior, load_prior


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Measure(_Part):
    """One feature of an element's best wording; ``product`` is what it adds to the weighted sum."""

    name: str
    meaning: str
    value: float
    weight: float
    product: float


class ElementCalculation(_Part):
    """How one element got its credit.

    Attributes:
        component: Name of its component.
        element: Its id.
        wording: The key statement that gives the highest credit.
        scorer: Which curve of the prior scores it: by the number of its wordings, or because it is a model answer.
        measures: Its features; their products and ``bias`` sum to ``total``.
        bias: Constant of the weighted sum.
        total: The weighted sum.
        stretch: How far the logistic curve is stretched beyond 0 and 1 before it is clipped.
        computed: Credit after the curve, 0 to 1.
        credit: Credit that counts; 0 where the response contradicts the element or is off topic.
        keywords: Keyword alternatives met.
    """

    component: str
    element: str
    wording: str
    scorer: Literal["rubric", "reference"]
    measures: tuple[Measure, ...]
    bias: float
    total: float
    stretch: float
    computed: float
    credit: float
    keywords: tuple[str, ...] = ()


class Explanation(_Part):
    """A mark and where it comes from; the points of ``score.calculation`` sum to ``score.score``."""

    score: Score
    elements: tuple[ElementCalculation, ...]


def explain(grader: Grader, item: Item, response: str, *, prior: Prior | None = None) -> Explanation:
    """The mark of ``response`` with the calculation behind every credit.

    Args:
        grader: Marks the response.
        item: The item.
        response: What the candidate wrote.
        prior: The scorer that ``grader`` uses for the item; the shipped one if not given.

    Raises:
        InputError: ``grader`` uses another scorer.
    """
    scorer = grader.scorer(item)
    prior = prior or (load_prior() if item.language == "en" else scorer.prior)
    if scorer.prior.version != prior.version:
        raise InputError(f"the grader uses the scorer {scorer.prior.version}, not {prior.version}; pass its prior")
    score = grader.grade(item, response)
    index = grader.index(item)
    reading = read_response(response, index)
    counted = counted_statements(reading)
    if not counted:
        return Explanation(score=score, elements=())
    return Explanation(score=score, elements=tuple(_elements(grader, index, reading, counted, prior, score)))


def _elements(
    grader: Grader, index: ItemIndex, reading: Reading, counted: list[int], prior: Prior, score: Score
) -> list[ElementCalculation]:
    texts = [reading.statements[at].text for at in counted]
    words = [Words(text, index.item.language) for text in texts]
    keywords = element_keywords(index, words)
    table, _ = features(index, index.phrases(texts, grader.scorer(index.item).encoder.encode(texts)), keywords)
    plain = index.item.is_model_answer
    credits = prior.credits(table, model_answer=plain)
    results = []
    for component in score.components:
        for at, element in enumerate(component.elements):
            rows = [n for n, slot in enumerate(index.slots) if (slot.component, slot.element) == (component.name, at)]
            best = max(rows, key=lambda row: (float(credits[row]), -row))
            results.append(
                ElementCalculation(
                    component=component.name,
                    element=element.id,
                    wording=index.keys.phrases[best].text,
                    computed=round(float(credits[best]), 4),
                    credit=element.credit,
                    keywords=_met(index, component.name, at, keywords.get((component.name, at)), words),
                    **_sum(table[best], prior, plain),
                )
            )
    return results


def _sum(row: Floats, prior: Prior, plain: bool) -> dict[str, Any]:
    """The weighted sum of one row of features."""
    values = dict(zip(FEATURES, (float(value) for value in row), strict=True))
    scorer = "rubric" if values["wordings"] >= MANY_WORDINGS and not plain else "reference"
    curve = prior.rubric if scorer == "rubric" else prior.reference
    weights = np.asarray(curve.weights, dtype=np.float64)
    measures = tuple(
        Measure(
            name=name, meaning=FEATURES[name], value=value, weight=round(weight, 6), product=round(value * weight, 4)
        )
        for (name, value), weight in zip(values.items(), weights.tolist(), strict=True)
    )
    total = round(curve.bias + float(row.astype(np.float64) @ weights), 4)
    return {"scorer": scorer, "measures": measures, "bias": curve.bias, "total": total, "stretch": curve.stretch}


def _met(
    index: ItemIndex, component: str, at: int, evidence: KeywordEvidence | None, words: list[Words]
) -> tuple[str, ...]:
    keywords = index.item.components[component].elements[at].keywords
    if keywords is None or evidence is None:
        return ()
    return tuple(
        alternative
        for number in evidence.met
        for alternative in keywords.groups[number].any
        if any(text.find(keywords.groups[number].model_copy(update={"any": (alternative,)})) for text in words)
    )
