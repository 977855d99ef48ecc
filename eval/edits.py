"""Edits that turn a right answer, its question or nothing at all into the texts of the abuse suite.

Every edit takes what is known about one right answer and a random generator, and gives a text, or ``None`` where the
answer offers nothing to edit (no number, no verb to negate).
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex

from eval.wordlists import (
    ANTONYMS,
    AUXILIARIES,
    BLANKS,
    INJECTIONS,
    JUNK,
    NUMBER_WORDS,
    PIVOTS,
    RESTATEMENTS,
)
from grader.text import tokenise
from grader.words import NEGATIONS, frequencies, information

Random = np.random.Generator
_CONTENT = 0.3
_LEAST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Source:
    """One right answer and its surroundings.

    Attributes:
        question: The prompt.
        answer: The right answer.
        reference: A reference answer.
        foreign: A right answer to another question, ``None`` if there is no question that differs enough.
        wrong: An answer to the same question that earned nothing, ``None`` if there is none.
    """

    question: str
    answer: str
    reference: str
    foreign: str | None = None
    wrong: str | None = None


Edit = Callable[[Source, Random], str | None]


def pick(options: Sequence[str], rng: Random) -> str:
    """One of ``options``."""
    return options[int(rng.integers(len(options)))]


def _replaced(text: str, start: int, end: int, new: str) -> str:
    """``text`` with a span replaced by ``new`` in the span's case."""
    old = text[start:end]
    if old.isupper() and len(old) > 1:
        new = new.upper()
    elif old[:1].isupper():
        new = new[:1].upper() + new[1:]
    return text[:start] + new + text[end:]


# --- texts that are no answer ---------------------------------------------------------------------------


def blank(source: Source, rng: Random) -> str:
    """Nothing, or a sign for it."""
    return pick(BLANKS, rng)


def gibberish(source: Source, rng: Random) -> str:
    """As many strings of random letters as the answer has words, at least three."""
    letters = list(string.ascii_lowercase)
    count = max(len(source.answer.split()), 3)
    return " ".join("".join(rng.choice(letters, size=int(rng.integers(3, 10)))) for _ in range(count))


def random_words(source: Source, rng: Random) -> str:
    """As many common English words as the answer has, at least four."""
    words = _common_words()
    count = max(len(source.answer.split()), 4)
    return " ".join(pick(words, rng) for _ in range(count))


@lru_cache(maxsize=1)
def _common_words() -> list[str]:
    return [word for word, count in list(frequencies().items())[:5000] if count and len(word) > 2]


def restated_question(source: Source, rng: Random) -> str:
    """The question instead of an answer."""
    question = " ".join(source.question.split())
    return pick(RESTATEMENTS, rng).replace("{}", question)


def foreign_answer(source: Source, rng: Random) -> str | None:
    """A right answer to another question."""
    return source.foreign


def shuffled_words(source: Source, rng: Random) -> str | None:
    """The answer's own words in random order; answers of fewer than six words are left out."""
    words = source.answer.split()
    if len(words) < _LEAST_WORDS:
        return None
    return " ".join(words[at] for at in rng.permutation(len(words)))


def keyword_list(source: Source, rng: Random) -> str | None:
    """The content words of the reference between commas, in random order; at least four."""
    found = [token.text.casefold() for token in tokenise(source.reference) if information(token.text) >= _CONTENT]
    unique = list(dict.fromkeys(found))
    if len(unique) < 4:
        return None
    return ", ".join(unique[at] for at in rng.permutation(len(unique)))


def injection(source: Source, rng: Random) -> str:
    """A text that gives orders to the machine."""
    return pick(INJECTIONS, rng)


def wrong_with_injection(source: Source, rng: Random) -> str | None:
    """A wrong answer followed by a text that gives orders to the machine."""
    return None if source.wrong is None else f"{source.wrong} {pick(INJECTIONS, rng)}"


def wrong_with_junk(source: Source, rng: Random) -> str | None:
    """A wrong answer with a meaningless string before it."""
    return None if source.wrong is None else f"{pick(JUNK, rng)} {source.wrong}"


def wrong_answer(source: Source, rng: Random) -> str | None:
    """A wrong answer as it was written, to compare the two above with."""
    return source.wrong


# --- right answers made wrong ---------------------------------------------------------------------------


def polarity_flipped(source: Source, rng: Random) -> str | None:
    """One "not" taken out, or put behind the first auxiliary."""
    tokens = tokenise(source.answer)
    for token in tokens:
        word = token.text.casefold()
        if word == "not" or (word == "no" and token is not tokens[0]):
            return " ".join((source.answer[: token.start] + source.answer[token.end :]).split())
        if word.endswith("n't") and word not in ("can't", "won't"):
            return _replaced(source.answer, token.start, token.end, word.removesuffix("n't"))
        if word in ("cannot", "can't"):
            return _replaced(source.answer, token.start, token.end, "can")
    if any(token.text.casefold() in NEGATIONS for token in tokens):
        return None
    for token in tokens:
        if token.text.casefold() in AUXILIARIES:
            return f"{source.answer[: token.end]} not{source.answer[token.end :]}"
    return None


def antonym(source: Source, rng: Random) -> str | None:
    """One word replaced by its opposite."""
    places = [token for token in tokenise(source.answer) if token.text.casefold() in ANTONYMS]
    if not places:
        return None
    token = places[int(rng.integers(len(places)))]
    return _replaced(source.answer, token.start, token.end, pick(ANTONYMS[token.text.casefold()], rng))


_SIDE = r"[^.;,\n]{2,90}"
_PIVOT = regex.compile(
    rf"^(?P<left>{_SIDE}?)\s(?P<pivot>{'|'.join(PIVOTS)})\s(?P<right>{_SIDE})(?P<rest>.*)$", regex.I | regex.S
)
_THAN = regex.compile(
    r"^(?P<left>[^.;,\n]{2,80}?)\s(?P<pivot>(?:is|are|was|were|has|have|goes|moves)\s[^.;,\n]{2,40}?\sthan)\s"
    r"(?P<right>[^.;,\n]{2,80})(?P<rest>.*)$",
    regex.I | regex.S,
)
_FROM_TO = regex.compile(
    r"^(?P<head>.*?\b)from\s(?P<left>[^.;,\n]{2,50}?)\s(?P<pivot>into|to)\s(?P<right>[^.;,\n]{2,50})(?P<rest>.*)$",
    regex.I | regex.S,
)


def roles_swapped(source: Source, rng: Random) -> str | None:
    """The two sides of a comparison, a cause, a use or a way from … to … exchanged."""
    text = source.answer.strip()
    match = _FROM_TO.match(text)
    if match:
        new = f"{match['head']}from {match['right']} {match['pivot']} {match['left']}{match['rest']}"
    else:
        match = _THAN.match(text) or _PIVOT.match(text)
        if not match:
            return None
        new = f"{match['right']} {match['pivot']} {match['left']}{match['rest']}"
    same = match["left"].casefold().split() == match["right"].casefold().split()
    return None if same else new


def number_changed(source: Source, rng: Random) -> str | None:
    """Every number of the answer changed, in figures or (up to ten) in words."""
    text, changed = source.answer, False
    for token in reversed(tokenise(source.answer)):
        word = token.text.casefold()
        if token.kind == "number":
            whole = int(regex.split(r"\D", word)[0][:9])
            new = str(whole + int(rng.integers(1, 4)) * max(1, whole // 3)) + word[len(str(whole)) :]
        elif word in NUMBER_WORDS[1:]:
            new = pick([other for other in NUMBER_WORDS[1:] if other != word], rng)
        else:
            continue
        text, changed = _replaced(text, token.start, token.end, new), True
    return text if changed else None


NO_ANSWER: dict[str, Edit] = {
    "blank": blank,
    "gibberish": gibberish,
    "random words": random_words,
    "restated question": restated_question,
    "another question's right answer": foreign_answer,
    "shuffled words": shuffled_words,
    "bare keyword list": keyword_list,
    "prompt injection alone": injection,
    "wrong answer": wrong_answer,
    "wrong answer, prompt injection behind": wrong_with_injection,
    "wrong answer, junk before": wrong_with_junk,
}
MADE_WRONG: dict[str, Edit] = {
    "polarity flipped": polarity_flipped,
    "antonym": antonym,
    "roles swapped": roles_swapped,
    "number changed": number_changed,
}
