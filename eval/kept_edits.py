"""Edits of a right answer that keep its meaning, so its mark should stay too."""

from __future__ import annotations

from eval.edits import Edit, Random, Source, pick
from eval.wordlists import ADJECTIVES, ADVERBS, AUXILIARIES, DETERMINERS, JUNK, REMARKS
from grader.text import tokenise


def typos(source: Source, rng: Random) -> str | None:
    """One letter lost, doubled or swapped with its neighbour in every eighth word, at least one."""
    long = [token for token in tokenise(source.answer) if token.kind == "word" and len(token.text) >= 5]
    if not long:
        return None
    count = min(len(long), max(1, len(source.answer.split()) // 8))
    text = source.answer
    for place in sorted(rng.choice(len(long), size=count, replace=False), reverse=True):
        token = long[int(place)]
        at = token.start + int(rng.integers(1, len(token.text) - 2))
        kind = int(rng.integers(3))
        new = (text[at + 1] + text[at], text[at + 1], text[at] + text[at : at + 2])[kind]
        text = text[:at] + new + text[at + 2 :]
    return None if text == source.answer else text


def case_changed(source: Source, rng: Random) -> str | None:
    """All in capitals, all small, or each word capitalised."""
    made = (source.answer.upper(), source.answer.lower(), source.answer.title())[int(rng.integers(3))]
    return None if made == source.answer else made


def adverbs_inserted(source: Source, rng: Random) -> str | None:
    """An adverb behind the first auxiliary and an adjective behind the first article, as far as there are any."""
    text, found = source.answer, set()
    for token in tokenise(source.answer):
        word = token.text.casefold()
        kind = "adverb" if word in AUXILIARIES else "adjective" if word in DETERMINERS else None
        if kind is None or kind in found:
            continue
        shift = len(text) - len(source.answer)
        new = pick(ADVERBS if kind == "adverb" else ADJECTIVES, rng)
        text = f"{text[: token.end + shift]} {new}{text[token.end + shift :]}"
        found.add(kind)
    return text if found else None


def doubled(source: Source, rng: Random) -> str:
    """The answer twice."""
    return f"{_stopped(source.answer)} {source.answer}"


def harmless_extra(source: Source, rng: Random) -> str:
    """The answer and a remark that is neither right nor wrong."""
    return f"{_stopped(source.answer)} {pick(REMARKS, rng)}"


def junk_before(source: Source, rng: Random) -> str:
    """The answer behind a meaningless string."""
    return f"{pick(JUNK, rng)} {source.answer}"


def junk_behind(source: Source, rng: Random) -> str:
    """The answer before a meaningless string."""
    return f"{source.answer} {pick(JUNK, rng)}"


def _stopped(text: str) -> str:
    clean = text.rstrip()
    return clean if clean[-1:] in ".!?" else f"{clean}."


STILL_RIGHT: dict[str, Edit] = {
    "typos": typos,
    "case": case_changed,
    "adverbs and adjectives inserted": adverbs_inserted,
    "doubled answer": doubled,
    "harmless extra": harmless_extra,
    "junk before": junk_before,
    "junk behind": junk_behind,
}
