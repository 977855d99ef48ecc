"""Answers that say the same: groups for marking together, and pairs that a teacher may want to look at."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.process import cdist

#: Word-order-free likeness (0..100) from which answers are put into one group.
GROUP = 88.0
#: Likeness letter by letter from which two answers are called near-identical.
NEAR = 90.0
#: Answers of fewer words are alike by chance.
LEAST_WORDS = 8
_MOST = 2000


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers and how alike they are, 0 to 100."""

    left: str
    right: str
    likeness: float


def folded(text: str) -> str:
    """The words without case and punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(char if char.isalnum() else " " for char in plain).split())


def groups(answers: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Ids of answers (id, text) that say the same in nearly the same words, the largest group first.

    Blank answers form one group. An answer belongs to the group of the first answer it is like; every answer is in
    exactly one group. Beyond 2,000 different texts only equal ones are grouped.
    """
    by_text: dict[str, list[str]] = {}
    for answer_id, text in answers:
        by_text.setdefault(folded(text), []).append(answer_id)
    texts = sorted(by_text, key=lambda text: (-len(by_text[text]), text))
    if len(texts) > _MOST:
        return sorted(by_text.values(), key=len, reverse=True)
    alike = cdist(texts, texts, scorer=fuzz.token_sort_ratio, score_cutoff=GROUP, dtype=np.float32) if texts else None
    taken: set[int] = set()
    found: list[list[str]] = []
    for at, text in enumerate(texts):
        if at in taken:
            continue
        near = [at] if not text or alike is None else [int(one) for one in np.flatnonzero(alike[at])]
        members = [one for one in near if one == at or (one not in taken and texts[one])]
        taken.update(members)
        found.append([answer_id for one in members for answer_id in by_text[texts[one]]])
    return sorted(found, key=len, reverse=True)


def near_identical(answers: Sequence[tuple[str, str]], limit: int = 200) -> list[Pair]:
    """Pairs of answers of at least 8 words that are nearly equal letter by letter, the most alike first."""
    long = [(answer_id, folded(text)) for answer_id, text in answers]
    long = [(answer_id, text) for answer_id, text in long if len(text.split()) >= LEAST_WORDS][:_MOST]
    if len(long) < 2:
        return []
    texts = [text for _, text in long]
    alike = cdist(texts, texts, scorer=fuzz.ratio, score_cutoff=NEAR, dtype=np.float32)
    rows, columns = np.nonzero(np.triu(alike, k=1))
    pairs = [
        Pair(long[int(row)][0], long[int(column)][0], round(float(alike[row, column]), 1))
        for row, column in zip(rows, columns, strict=True)
    ]
    return sorted(pairs, key=lambda pair: (-pair.likeness, pair.left, pair.right))[:limit]
