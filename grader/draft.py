"""A first rubric from a question and a model answer, for a person to finish.

No generative model: the statements of the model answer are sorted into definition, reason, and example or pitfall by
cue phrases, by where they stand, and by likeness to prototypes; keywords are the rarest words that the question does
not say. Everything uncertain is marked with a comment.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import FoldedScalarString

from grader.encoder import Encoder
from grader.errors import InputError
from grader.languages import function_words, negations
from grader.rubric import STANDARD_COMPONENTS, Item
from grader.segment import Statement, statements
from grader.text import identifier_parts, normalise, stem, tokenise
from grader.words import information

DEFINITION, REASON, EXAMPLE = STANDARD_COMPONENTS
_WEIGHTS = {DEFINITION: 2.4, REASON: 1.5, EXAMPLE: 1.1}
_MAX_KEYWORDS = 5
_MIN_INFORMATION = 0.3
#: Fewer words than this do not stand alone, so a sentence is not cut there.
_CLAUSE_WORDS = 4
#: So many numbered sentences are steps.
_STEPS = 3
#: A lead of the best part over the next below which a person has to look.
_UNSURE = 0.5
#: What a cue phrase, the place in the answer and likeness to prototypes count; on the reference answers of the bank,
#: all three put 84 of 100 statements where the rubric has them, any one alone 80 to 82.
_CUE, _POSITION, _PROTOTYPE = 1.0, 1.2, 2.0

_CUES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "en": {
        DEFINITION: re.compile(
            r"\b(?:(?:is|are) (?:a|an|the|called|defined)|means?|refers? to|consists? of|describes?)\b", re.I
        ),
        REASON: re.compile(
            r"\b(?:because|since|so that|therefore|thus|hence|otherwise|as a result|in order to|due to|leads? to"
            r"|causes?|(?:which|this) (?:means|makes|prevents|allows|ensures)|without (?:it|this)|allows?|prevents?"
            r"|ensures?|makes? sure|the reason)\b",
            re.I,
        ),
        EXAMPLE: re.compile(
            r"\b(?:for (?:example|instance)|e\.g\.|such as|say,|imagine|suppose|a (?:common |typical )?"
            r"(?:mistake|pitfall|trap|error)|pitfall|beware|careful|never forget|do not confuse|like when|typically)",
            re.I,
        ),
    },
    "de": {
        DEFINITION: re.compile(
            r"\b(?:ist|sind) (?:eine?|der|die|das)\b|\bbedeutet\b|\bbezeichnet\b|\bbesteht aus\b|\bbeschreibt\b"
            r"|\bversteht man\b",
            re.I,
        ),
        REASON: re.compile(
            r"\b(?:weil|denn|da(?:durch|her|mit)|deshalb|deswegen|sodass|so dass|sonst|andernfalls|führt (?:dazu|zu)"
            r"|verhindert|ermöglicht|aufgrund|der grund|um .{1,60} zu)\b",
            re.I,
        ),
        EXAMPLE: re.compile(
            r"\b(?:zum beispiel|z\.\s?b\.|beispielsweise|etwa wenn|angenommen|stell dir|ein (?:häufiger|typischer) "
            r"fehler|vorsicht|falle|nicht verwechseln)",
            re.I,
        ),
    },
}
_SPLIT = {
    "en": re.compile(
        r",? (?=because |so that |since |which means |otherwise )|[,;] (?=for example|for instance|e\.g\.)"
    ),
    "de": re.compile(r", (?=weil |denn |da |sodass |so dass |sonst )|[,;] (?=zum Beispiel|z\. ?B\.|beispielsweise)"),
}
_NUMBER = re.compile(r"(?:^|(?<=\s))\(?(\d{1,2})[.)] (?=\S)")
_PROTOTYPES = {
    DEFINITION: (
        "It is a method that does a certain thing.",
        "The term describes how something is defined.",
        "The difference is that one does this and the other does that.",
    ),
    REASON: (
        "This matters because otherwise the result would be wrong.",
        "The reason is that it leads to a better outcome.",
        "Without it something would go wrong.",
    ),
    EXAMPLE: (
        "For example, in this concrete case with these numbers it gives that value.",
        "A common mistake is to forget to do it.",
        "Take a shop with ten customers.",
    ),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A rubric that a person has yet to finish.

    Attributes:
        item: The rubric; it loads and can be graded with.
        text: The rubric as YAML with comments where a person has to look.
        checks: What the comments say, in the order of the file.
    """

    item: Item
    text: str
    checks: tuple[str, ...]


@dataclass(slots=True)
class _Part:
    """A statement of the model answer with the component it was sorted into, and how far ahead that one is."""

    text: str
    component: str
    lead: float
    is_step: bool = False
    wordings: list[str] = field(default_factory=list)


def draft_item(
    question: str,
    answers: Sequence[str] | str,
    *,
    item_id: str,
    language: str = "en",
    max_score: float = 5.0,
    step: float | None = None,
    source: str | None = None,
    encoder: Encoder | None = None,
) -> Draft:
    """A first rubric for ``question``.

    Args:
        question: The prompt.
        answers: The model answer, or several with the fullest first; the others become further wordings.
        item_id: Id of the item.
        language: Two-letter code; cue phrases are known for English and German.
        max_score: Top of the scale.
        step: Score step; a tenth of the scale if not given.
        source: Where the content comes from.
        encoder: Compares statements with prototypes (English only); without one cue phrases and position decide.

    Raises:
        InputError: The question or every answer is empty, or a value is not acceptable to `Item`.
    """
    given = [answers] if isinstance(answers, str) else list(answers)
    texts = [text for text in (" ".join(answer.split()) for answer in given) if text]
    prompt = question.strip()
    if not prompt or not texts:
        lacks = "model answer" if prompt else "question"
        raise InputError(f"item '{item_id}': no {lacks}; allowed: at least one sentence")
    said = set(_terms(prompt, language))
    parts = _sorted_parts(texts[0], said, language, encoder)
    if not parts:
        raise InputError(f"item '{item_id}': the model answer has no word; allowed: at least one sentence")
    _add_wordings(parts, texts[1:], said, language, encoder)
    data, checks = _content(said, parts, language)
    head: dict[str, Any] = {"id": item_id, "version": 1, "language": language, "source": source, "prompt": prompt}
    scale = {"max": _plain_number(max_score), "step": _plain_number(step or max_score / 10)}
    head |= {"scale": scale, "reference_answer": texts[0]}
    content = {name: value for name, value in {**head, **data}.items() if value is not None}
    _scale_weights(content["components"], max_score)
    item = _validated(content, item_id)
    return Draft(item, _yaml(content, checks), tuple(checks.values()))


def item_id_of(name: str, taken: Iterable[str] = (), *, fallback: str = "item") -> str:
    """An id made of the letters and digits of ``name``, with a number added while it is in ``taken``.

    >>> item_id_of("Größe & Gewicht?", {"groesse-gewicht"})
    'groesse-gewicht-2'
    """
    text = name.casefold()
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue")):
        text = text.replace(umlaut, letters)
    ascii_only = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", ascii_only)[:8]
    base = "-".join(words)[:60].strip("-") or fallback
    used, number, found = set(taken), 2, base
    while found in used:
        found, number = f"{base}-{number}", number + 1
    return found


def _sorted_parts(
    answer: str, said: set[str], language: str, encoder: Encoder | None, *, whole: bool = True
) -> list[_Part]:
    """The statements of ``answer``; in a ``whole`` one the place counts and something is the definition."""
    steps, rest = _numbered(answer) if whole else ([], answer)
    texts = _clauses(rest, said, language)
    scores = _scores(texts, language, encoder, _POSITION if whole else 0.0, before=len(steps))
    parts = [_Part(_tidy(text), DEFINITION, 1.0, is_step=True) for text in steps]
    for text, row in zip(texts, scores, strict=True):
        first, second = sorted(row, reverse=True)[:2]
        parts.append(_Part(text, STANDARD_COMPONENTS[int(np.argmax(row))], first - second))
    if whole and parts and all(part.component != DEFINITION for part in parts):
        parts[0].component, parts[0].lead = DEFINITION, 0.0
    return parts


def _numbered(answer: str) -> tuple[list[str], str]:
    """The steps of an answer that numbers them from 1 on, and what else it says."""
    marks = list(_NUMBER.finditer(answer))
    if len(marks) < _STEPS or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return [], answer
    ends = [*(mark.start() for mark in marks[1:]), len(answer)]
    pieces = [answer[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    last, *others = [statement.text for statement in statements(normalise(pieces[-1]))] or [""]
    steps = [text for text in (*pieces[:-1], last) if _has_words(text)]
    return steps, " ".join((answer[: marks[0].start()].strip(), *others)).strip()


def _clauses(answer: str, said: set[str], language: str) -> list[str]:
    """The statements of the answer; a reason or example in a clause of its own is cut off."""
    split = _SPLIT.get(language)
    found: list[str] = []
    for statement in statements(normalise(answer)):
        found.extend([statement.text] if statement.is_code else map(_tidy, _cut(statement, said, split, language)))
    return [text for text in found if _has_words(text)]


def _has_words(text: str) -> bool:
    return any(token.kind != "number" for token in tokenise(text))


def _tidy(text: str) -> str:
    """A piece of a sentence as a sentence; single terms and code stay as they are."""
    text = text.strip()
    kept = text.rstrip(";,").rstrip()
    return kept[:1].upper() + kept[1:] if re.match(r"[^\W\d_]+\s.*[.!?;,]$", text, re.S) else kept


def _cut(statement: Statement, said: set[str], split: re.Pattern[str] | None, language: str) -> list[str]:
    pieces = [statement.text] if split is None else split.split(statement.text)
    words = [piece.split() for piece in pieces]
    # A clause without its negation would contradict the sentence it comes from.
    negated = any(word.casefold().strip(",.;:") in negations(language) for piece in words for word in piece)
    # A clause that says no more than the question would be credited for repeating it.
    repeats = any(set(_terms(piece, language)) <= said for piece in pieces)
    if len(pieces) == 1 or negated or repeats or min(map(len, words)) < _CLAUSE_WORDS:
        return [statement.text]
    return pieces


def _scores(
    texts: Sequence[str], language: str, encoder: Encoder | None, place: float, *, before: int = 0
) -> list[list[float]]:
    """How much speaks for each component, one row a statement; ``before`` statements come earlier."""
    cues = _CUES.get(language, {})
    likeness = _likeness(texts, encoder) if encoder is not None and language == "en" else np.zeros((len(texts), 3))
    rows = []
    for at, text in enumerate(texts, before):
        found = {name: bool(pattern.search(text)) for name, pattern in cues.items()}
        # "It is … because" gives the reason: the weaker cue counts only when no other one is there.
        cue = {
            DEFINITION: found.get(DEFINITION, False) and not found.get(REASON) and not found.get(EXAMPLE),
            REASON: found.get(REASON, False) and not found.get(EXAMPLE),
            EXAMPLE: found.get(EXAMPLE, False),
        }
        share = at / max(before + len(texts) - 1, 1)
        position = {DEFINITION: 1.5 if at == 0 else 1 - share, REASON: 1 - abs(2 * share - 1), EXAMPLE: share}
        rows.append(
            [
                _CUE * cue[name] + place * position[name] + _PROTOTYPE * float(likeness[at - before, column])
                for column, name in enumerate(STANDARD_COMPONENTS)
            ]
        )
    return rows


def _likeness(texts: Sequence[str], encoder: Encoder) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Cosine of each statement with the nearest prototype of each component less its mean, (statements, 3)."""
    prototypes = [text for name in STANDARD_COMPONENTS for text in _PROTOTYPES[name]]
    vectors = np.stack([e.pooled for e in encoder.encode([*texts, *prototypes])]).astype(np.float64)
    alike = vectors[: len(texts)] @ vectors[len(texts) :].T
    best = alike.reshape(len(texts), len(STANDARD_COMPONENTS), -1).max(axis=2)
    return np.asarray(np.round(best - best.mean(axis=1, keepdims=True), 4), dtype=np.float64)


def _add_wordings(
    parts: list[_Part], answers: Sequence[str], said: set[str], language: str, encoder: Encoder | None
) -> None:
    """Statements of further answers become wordings of the most similar element of their component."""
    for answer in answers:
        for other in _sorted_parts(answer, said, language, encoder, whole=False):
            same = [part for part in parts if part.component == other.component] or parts
            best = max(same, key=lambda part: _overlap(part.text, other.text, language))
            known = {text.casefold() for part in parts for text in (part.text, *part.wordings)}
            if other.text.casefold() not in known:
                best.wordings.append(other.text)


def _overlap(one: str, other: str, language: str) -> float:
    left, right = set(_terms(one, language)), set(_terms(other, language))
    return len(left & right) / max(len(left | right), 1)


def _content(
    said: set[str], parts: Sequence[_Part], language: str
) -> tuple[dict[str, Any], dict[tuple[str, ...], str]]:
    """Components for the rubric, and what a person has to check, by place."""
    components: dict[str, Any] = {}
    checks: dict[tuple[str, ...], str] = {("reference_answer",): "does this answer earn full marks, and say all three?"}
    for name in STANDARD_COMPONENTS:
        mine = [part for part in parts if part.component == name]
        where = ("components", name)
        if not mine:
            continue
        steps = all(part.is_step for part in mine)
        rule = {"rule": "required"} if name == DEFINITION or len(mine) == 1 else {"rule": "at_least", "n": 1}
        rule = {"rule": "in_order"} if steps else rule
        elements = [_element(part, number, said, language) for number, part in enumerate(mine, 1)]
        components[name] = {"weight": _WEIGHTS[name], **rule, "elements": elements}
        doubts = [part.text for part in mine if part.lead < _UNSURE]
        advice = "give every element an id that says what it is, and at least four wordings, some in everyday words"
        if doubts:
            shown = "; ".join(f"'{' '.join(text.split()[:6])} …'" for text in doubts)
            advice = f"is this the right part for {shown}? Then {advice}"
        checks[where] = (
            f"must the steps be said in this order (else rule: required)? Then {advice}" if steps else advice
        )
        checks[(*where, "elements")] = "keywords are guesses: keep words that a wrong answer would not use"
    missing = [name for name in STANDARD_COMPONENTS if name not in components]
    end = "add misconceptions, find_out, follow_ups and quick_checks (docs/rubric-format.md)"
    if missing:
        end = f"the model answer has no {' and no '.join(missing)}: add what is wanted, weights sum to scale.max; {end}"
    checks["components",] = end
    return {"components": components}, checks


def _element(part: _Part, number: int, said: set[str], language: str) -> dict[str, Any]:
    keywords = _keywords([part.text, *part.wordings], said, language)
    element: dict[str, Any] = {"id": f"idea-{number}", "key_statements": [part.text, *part.wordings]}
    if keywords:
        element["keywords"] = {"need": "any", "groups": [keywords]}
    return element


def _keywords(texts: Sequence[str], said: set[str], language: str) -> list[str]:
    """The words of most information that the prompt does not say, at most five, the rarest first."""
    weights: dict[str, tuple[float, str]] = {}
    plain = function_words(language) | negations(language)
    cues = _CUES.get(language, {}).values()
    for text in texts:
        for token in tokenise(reduce(lambda left, cue: cue.sub(" ", left), cues, text)):
            word = token.text
            if token.kind == "number" or word.casefold() in plain or len(word) < 3:
                continue
            stems = {stem(piece, language) for piece in (identifier_parts(word) if token.is_code else [word])}
            weight = 1.0 if language != "en" else information(word)
            if not stems & said and weight >= _MIN_INFORMATION:
                weights.setdefault(min(stems), (weight, word if token.is_code else word.casefold()))
    ranked = sorted(weights.values(), key=lambda pair: (-round(pair[0], 3), pair[1]))
    return [word for _, word in ranked[:_MAX_KEYWORDS]]


def _terms(text: str, language: str) -> list[str]:
    return [
        stem(part, language)
        for token in tokenise(normalise(text).text)
        for part in (identifier_parts(token.text) if token.is_code else [token.text])
        if part.casefold() not in function_words(language)
    ]


def _plain_number(value: float) -> float | int:
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded


def _scale_weights(components: dict[str, Any], max_score: float) -> None:
    """Weights in the usual proportions that sum to the top of the scale; the last takes what rounding leaves."""
    total = sum(component["weight"] for component in components.values())
    *others, last = components.values()
    for component in others:
        component["weight"] = _plain_number(round(component["weight"] / total * max_score, 2))
    last["weight"] = _plain_number(max_score - sum(component["weight"] for component in others))


def _validated(content: Mapping[str, Any], item_id: str) -> Item:
    from pydantic import ValidationError

    from grader.yamlfile import found_problems

    try:
        return Item.model_validate(content)
    except ValidationError as error:
        where, what = found_problems(error.errors(include_url=False))[0]
    raise InputError(f"item '{item_id}': {'.'.join(map(str, where))}: {what}")


def _yaml(content: Mapping[str, Any], checks: Mapping[tuple[str, ...], str]) -> str:
    root = _commented(content)
    for (*parents, key), text in checks.items():
        node, depth = root, 0
        for parent in parents:
            node, depth = node[parent], depth + 1
        node.yaml_set_comment_before_after_key(key, before=f"CHECK: {text}", indent=2 * depth)
    writer = YAML()
    writer.width = 110
    writer.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    writer.dump(root, stream)
    return stream.getvalue()


def _commented(value: Any, *, in_a_row: bool = False) -> Any:
    """``value`` as the writer takes it: keywords in a row, long texts folded."""
    if isinstance(value, Mapping):
        return CommentedMap({key: _commented(entry, in_a_row=key == "groups") for key, entry in value.items()})
    if isinstance(value, list):
        sequence = CommentedSeq(_commented(entry) for entry in value)
        if in_a_row:
            sequence.fa.set_flow_style()
        return sequence
    return FoldedScalarString(value) if isinstance(value, str) and len(value) > 100 else value
