"""Which question of a sheet is which item: proposed by id, alias or wording; the caller decides."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rapidfuzz import fuzz

from grader.errors import InputError
from grader.formats.headers import flat
from grader.formats.sheet import Cell, Question, Sheet

How = Literal["id", "alias", "text", "none"]

_TAG = re.compile(r"<[^<>]{1,200}>")
_LEADING_NUMBER = re.compile(r"^(?:question|frage|aufgabe|q)?\s*\d{1,3}\s*[.):]\s+", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:q|question|item|frage|aufgabe|antwort|response|prompt)?[-_ .]*0*(\d{1,9})", re.ASCII)
_TIE = 2.0
_NOTHING: tuple[str | None, How, float] = (None, "none", 0.0)
_MAX_ALTERNATIVES = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposed pair.

    Attributes:
        key: Key of the question in the sheet.
        header: Its header text.
        item: Id of the proposed item, or None.
        how: What it rests on: the exact id, an alias, the wording, or nothing.
        score: 100 for ids and aliases; for wordings the similarity of the two texts, 0..100.
        alternatives: The nearest items by wording and their similarity, best first.
    """

    key: str
    header: str
    item: str | None
    how: How
    score: float
    alternatives: tuple[tuple[str, float], ...] = ()


def propose_mapping(
    sheet: Sheet,
    items: Mapping[str, str],
    *,
    aliases: Mapping[str, Sequence[str]] | None = None,
    threshold: float = 85.0,
) -> tuple[Proposal, ...]:
    """One proposal for each question, in the order of the sheet; no item is proposed twice.

    Args:
        sheet: The sheet.
        items: Item id to prompt.
        aliases: Item id to other names of it, compared with key, header and question text.
        threshold: Least similarity of wordings, 0..100. When the runner-up is within two points, nothing is
            proposed, because the wording does not tell the two items apart.
    """
    taken: dict[str, tuple[str, How, float]] = {}
    _claim(sheet.questions, taken, {one: _id_names(one) for one in items}, "id")
    named = {one: [*_slugs(list(aliases.get(one, ())) if aliases else []), *_numbers(one)] for one in items}
    _claim(sheet.questions, taken, named, "alias")
    ranked = {question.key: _rank(question, items) for question in sheet.questions if question.key not in taken}
    _claim_by_text(ranked, taken, threshold)
    proposals = []
    for question in sheet.questions:
        item, how, score = taken.get(question.key, _NOTHING)
        rest = tuple(ranked.get(question.key, [])[:_MAX_ALTERNATIVES])
        if item is None and rest:
            score = rest[0][1]
        proposals.append(Proposal(question.key, question.header, item, how, score, rest))
    return tuple(proposals)


def accepted(proposals: Iterable[Proposal]) -> dict[str, str]:
    """The proposals as a mapping from question key to item id, without those that propose nothing."""
    return {one.key: one.item for one in proposals if one.item is not None}


def mapped_cells(sheet: Sheet, mapping: Mapping[str, str]) -> tuple[Cell, ...]:
    """The responses of the mapped questions, ``item_key`` replaced by the item id.

    Raises:
        InputError: The mapping names a question the sheet does not have, or one item for two questions.
    """
    check_mapping(sheet, mapping)
    return tuple(replace(cell, item_key=mapping[cell.item_key]) for cell in sheet.cells if cell.item_key in mapping)


def check_mapping(sheet: Sheet, mapping: Mapping[str, str]) -> None:
    """Raise when a mapping does not fit the sheet."""
    keys = [question.key for question in sheet.questions]
    unknown = [key for key in mapping if key not in keys]
    if unknown:
        allowed = ", ".join(map(repr, keys[:20]))
        raise InputError(f"{sheet.table.name}: no question {unknown[0]!r} to map; allowed: {allowed}")
    first: dict[str, str] = {}
    for key, item in mapping.items():
        if item in first:
            raise InputError(
                f"{sheet.table.name}: the questions {first[item]!r} and {key!r} are both mapped to the item "
                f"{item!r}; allowed: one question an item"
            )
        first[item] = key


def _claim(
    questions: Sequence[Question],
    taken: dict[str, tuple[str, How, float]],
    names: Mapping[str, Sequence[str]],
    how: How,
) -> None:
    """Give each question the one free item that shares a name with it; two such items give none."""
    used = {item for item, _, _ in taken.values()}
    lookup: dict[str, list[str]] = {}
    for item, own in names.items():
        for name in dict.fromkeys(own):
            lookup.setdefault(name, []).append(item)
    for question in questions:
        if question.key in taken:
            continue
        texts = [question.key, question.header, question.text]
        own = _slugs(texts) if how == "id" else [*_slugs(texts), *_numbers(question.key), *_numbers(question.header)]
        fitting = {item for name in own if name for item in lookup.get(name, []) if item not in used}
        if len(fitting) == 1:
            item = fitting.pop()
            taken[question.key] = (item, how, 100.0)
            used.add(item)


def _id_names(item: str) -> list[str]:
    return _slugs([item])


def _slugs(texts: Iterable[str]) -> list[str]:
    """Names folded so that ``View vs. reshape`` equals ``view-vs-reshape``."""
    return [slug for text in texts if (slug := _words(text))]


def _numbers(name: str) -> list[str]:
    match = _NUMBERED.fullmatch(flat(name))
    return [f"#{match.group(1)}"] if match else []


def _words(text: str) -> str:
    """A text without markup, leading number, punctuation and case."""
    bare = _LEADING_NUMBER.sub("", flat(html.unescape(_TAG.sub(" ", text))))
    return " ".join("".join(" " if unicodedata.category(char)[0] in "PSZC" else char for char in bare).split())


def _rank(question: Question, items: Mapping[str, str]) -> list[tuple[str, float]]:
    own = _words(question.text or question.header)
    # Letter by letter and in order: a measure that ignores word order takes "A copies B" for "B copies A".
    scored = [(item, round(fuzz.ratio(own, _words(prompt)), 1)) for item, prompt in items.items()]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def _claim_by_text(
    ranked: Mapping[str, list[tuple[str, float]]],
    taken: dict[str, tuple[str, How, float]],
    threshold: float,
) -> None:
    """Best pairs first, so that a question does not take an item that fits another one better."""
    used = {item for item, _, _ in taken.values()}
    pairs = [(score, key, item) for key, ranking in ranked.items() for item, score in ranking if score >= threshold]
    order = {key: at for at, key in enumerate(ranked)}
    for score, key, item in sorted(pairs, key=lambda pair: (-pair[0], order[pair[1]], pair[2])):
        if key in taken or item in used:
            continue
        rivals = [other for one, other in ranked[key] if one != item and one not in used]
        if rivals and score - max(rivals) < _TIE and not (score == 100.0 and max(rivals) < 100.0):
            continue
        taken[key] = (item, "text", score)
        used.add(item)
