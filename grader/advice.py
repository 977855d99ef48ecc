"""What labelled answers say about a rubric: parts that nobody earns, ideas it lacks, keywords that tell nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from grader.evidence.keywords import Words
from grader.grading import Grader
from grader.i18n import mark_for_translation as _
from grader.i18n import translator
from grader.labels import check_labels
from grader.representation import Array
from grader.rubric import Item, KeywordGroup
from grader.score import Score
from grader.text import normalise

Flags = NDArray[np.bool_]
Kind = Literal[
    "never_earned", "always_earned", "unmatched_key_statement", "missing_idea", "idle_keywords", "misconception"
]

#: Answers with at least this share of the scale are strong, with at most `WEAK` weak.
STRONG, WEAK = 0.8, 0.4
#: Fewer answers than this say nothing.
LEAST_ANSWERS = 10
_LEAST_SIDE = 5
_RARE, _OFTEN = 0.05, 0.95
_COMMON_ERROR = 0.1
_IDEA_SHARE = 0.2
#: Cosine from which on two statements say the same, and below which a statement says nothing of the rubric.
_SAME_IDEA, _NOT_IN_RUBRIC = 0.7, 0.65
_MOST_EXAMPLES = 5

_SENTENCES: dict[Kind, str] = {
    "never_earned": _("Only {share:.0%} of the answers earn {component}: is it asked for, and is it worded widely?"),
    "always_earned": _("{share:.0%} of the answers earn {component}: it tells nobody apart."),
    "unmatched_key_statement": _("No answer is closest to “{text}” in {component}: reword it, or leave it out."),
    "missing_idea": _(
        "{share:.0%} of the strong answers say “{text}” or the like, {other:.0%} of the weak ones; add it?"
    ),
    "idle_keywords": _(
        "The keywords {text} in {component} tell nothing: {share:.0%} of the strong and {other:.0%} of the weak "
        "answers have them."
    ),
    "misconception": _("{share:.0%} of the answers hold the misconception {text}: worth a word in class."),
}


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing about a rubric worth looking at.

    Attributes:
        kind: What was found.
        component: Component it is about; empty if none.
        element: Id of the element it is about; empty if none.
        text: Key statement, candidates' words, keywords, or id of the misconception; empty if none.
        share: Share of the answers (of the strong ones for ``missing_idea`` and ``idle_keywords``) it holds for.
        other: The same share of the weak answers for these two, else ``None``.
        rows: Places (from 0) of some answers to look at.
    """

    kind: Kind
    component: str = ""
    element: str = ""
    text: str = ""
    share: float = 0.0
    other: float | None = None
    rows: tuple[int, ...] = ()

    def sentence(self, language: str = "en") -> str:
        """The advice in ``language``."""
        from grader.feedback import component_name

        translate = translator(language)
        name = component_name(self.component, translate)
        fields = {"component": name, "text": self.text, "share": self.share, "other": self.other or 0.0}
        return translate(_SENTENCES[self.kind]).format(**fields)

    def to_dict(self, language: str = "en") -> dict[str, Any]:
        """Everything as plain data, with the sentence."""
        return asdict(self) | {"sentence": self.sentence(language)}


def advise(grader: Grader, item: Item, responses: Sequence[str], scores: Sequence[float]) -> tuple[Advice, ...]:
    """What labelled answers say about the rubric of ``item``; nothing if there are fewer than ten.

    Args:
        grader: Reads the answers, without calibration.
        item: The item.
        responses: What candidates wrote.
        scores: The raters' marks in points of the item's scale.

    Raises:
        InputError: Lengths differ, or a mark is missing or outside the scale.
    """
    human = check_labels(item, responses, scores, distinct=False)
    if len(human) < LEAST_ANSWERS:
        return ()
    marked = grader.grade_many(item, responses)
    return (
        *_components(item, marked),
        *_key_statements(item, marked),
        *_missing_ideas(grader, item, responses, marked, human),
        *_keywords(item, responses, human),
        *_misconceptions(marked),
    )


def _components(item: Item, marked: Sequence[Score]) -> Iterator[Advice]:
    """Components that hardly anybody or nearly everybody earns (at least half a credit)."""
    for name in item.components:
        earned = [score.component(name).credit >= 0.5 for score in marked]
        share = sum(earned) / len(earned)
        if share <= _RARE:
            yield Advice("never_earned", name, share=share, rows=_some(earned))
        elif share >= _OFTEN and len(item.components) > 1:
            yield Advice("always_earned", name, share=share, rows=_some([not each for each in earned]))


def _key_statements(item: Item, marked: Sequence[Score]) -> Iterator[Advice]:
    """Key statements that are never the one that an answer's words match best, where others of the element are."""
    matched = _matches(marked)
    for name, component in item.components.items():
        for element in component.elements:
            found = [matched[name, element.id, normalise(text).text] for text in element.key_statements]
            if sum(found) >= LEAST_ANSWERS:
                for text, count in zip(element.key_statements, found, strict=True):
                    if not count:
                        yield Advice("unmatched_key_statement", name, element.id, text)


def _matches(marked: Sequence[Score]) -> Counter[tuple[str, str, str]]:
    """How often each key statement (component, element, wording) is the one that matches best."""
    return Counter(
        (component.name, element.id, element.evidence.key_statement)
        for score in marked
        for component in score.components
        for element in component.elements
        if element.evidence and element.evidence.key_statement
    )


def _missing_ideas(
    grader: Grader, item: Item, responses: Sequence[str], marked: Sequence[Score], human: Array
) -> Iterator[Advice]:
    """Statements frequent in strong answers, less so in weak ones, that no key statement is like."""
    strong, weak = human >= STRONG, human <= WEAK
    if strong.sum() < _LEAST_SIDE:
        return
    owners, texts = _claims(responses, marked)
    if not texts:
        return
    vectors = np.stack([encoding.pooled for encoding in grader.encoder.encode(texts)]).astype(np.float64)
    index = grader.index(item)
    known = [*index.keys.phrases, index.prompt]
    rubric = np.stack([phrase.encoding.pooled for phrase in known]).astype(np.float64)
    new = (vectors @ rubric.T).max(axis=1) < _NOT_IN_RUBRIC
    alike = np.round(vectors @ vectors.T, 6) >= _SAME_IDEA
    left = new.copy()
    while left.any():
        says = alike & left[:, None] & left[None, :]
        counts = np.array([len(_holders(owners, row, strong)) for row in says])
        best = int(counts.argmax())
        holders = _holders(owners, says[best], strong)
        share = len(holders) / strong.sum()
        if share < _IDEA_SHARE or len(holders) < 3:
            return
        other = len(_holders(owners, says[best], weak)) / max(weak.sum(), 1)
        if share > 2 * other:
            yield Advice("missing_idea", text=texts[best], share=share, other=other, rows=_first(holders))
        left &= ~alike[best]


def _claims(responses: Sequence[str], marked: Sequence[Score]) -> tuple[list[int], list[str]]:
    """The claims of all answers, each with the place of its answer."""
    owners, texts = [], []
    for row, (response, score) in enumerate(zip(responses, marked, strict=True)):
        for view in score.statements:
            text = normalise(response[view.start : view.end]).text.strip()
            if view.role == "claim" and len(text.split()) >= 3:
                owners.append(row)
                texts.append(text)
    return owners, texts


def _holders(owners: Sequence[int], says: Flags, side: Flags) -> list[int]:
    """Places of the answers on one side that hold one of the statements."""
    return sorted({owner for owner, said in zip(owners, says.tolist(), strict=True) if said and side[owner]})


def _keywords(item: Item, responses: Sequence[str], human: Array) -> Iterator[Advice]:
    """Keyword groups that weak answers have about as often as strong ones."""
    strong, weak = human >= STRONG, human <= WEAK
    if min(strong.sum(), weak.sum()) < _LEAST_SIDE:
        return
    words = [Words(normalise(text).text, item.language) for text in responses]
    for name, component in item.components.items():
        for element in component.elements:
            for group in element.keywords.groups if element.keywords else ():
                has = np.array([bool(text.find(group)) for text in words])
                share, other = float(has[strong].mean()), float(has[weak].mean())
                if has.any() and share <= other + _RARE:
                    yield Advice("idle_keywords", name, element.id, _listed(group), share, other, _some(has & weak))


def _listed(group: KeywordGroup) -> str:
    return " / ".join(group.any)


def _misconceptions(marked: Sequence[Score]) -> Iterator[Advice]:
    """Misconceptions of the rubric that many answers hold."""
    rows: dict[str, list[int]] = {}
    for row, score in enumerate(marked):
        for name in sorted({error.id for error in score.errors if error.kind == "misconception"}):
            rows.setdefault(name, []).append(row)
    for name, holders in sorted(rows.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        if len(holders) / len(marked) >= _COMMON_ERROR:
            yield Advice("misconception", text=name, share=len(holders) / len(marked), rows=_first(holders))


def _some(chosen: Sequence[bool] | Flags) -> tuple[int, ...]:
    """The first places that are chosen."""
    return _first([row for row, wanted in enumerate(chosen) if wanted])


def _first(rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(rows[:_MOST_EXAMPLES])
