"""The part of the results on meaning: edited right answers, right answers, graded sets, contrasts, viva answers.

Every part of the check is left out in turn, so that a table shows what each of them brings.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.contradiction_graded import HELD_OUT_ITEMS, graded_frame
from eval.flips import flips
from eval.grading import warm
from eval.meaning import contrast_table, graded_table
from eval.viva import FALSE_KINDS, run_viva
from grader import Bank, Grader, Item
from grader.encoder import Encoder
from grader.evidence.judge import Judge
from grader.score import Score

Json = dict[str, Any]
Floats = NDArray[np.float32]

LEVELS = ("cosine", "features", "grammar", "model")
#: Edited statements of a group at most, and right answers of a data set.
MOST_STATEMENTS, MOST_RIGHT = 160, 250
#: An answer is accepted with at least this cosine, or credit of its best element, and no false statement.
ACCEPTED = 0.5
UNSEEN = (("scientsbank", "test_uq"), ("scientsbank", "test_ud"), ("beetle", "test_uq"))
_LONGEST, _SHORTEST = 30, 4
_NEGATED = r"\b(?:not|no|never|without|nothing|none|cannot)\b|n't\b"

Case = tuple[Item, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one level of the check makes of an answer."""

    accepted: bool
    false: bool
    referred: bool


def meaning_results(
    encoder: Encoder, judge: Judge, bank: Bank, folder: Path | None, viva: Path | None, *, seed: int = 0
) -> Json:
    """All tables on meaning; what has no data is left out.

    Args:
        encoder: Shared by all levels.
        judge: The contradiction model.
        bank: The items.
        folder: Folder of the labelled data, ``None`` if there is none.
        viva: File of viva answers, ``None`` if there is none.
        seed: Of samples and edits.
    """
    plain = Grader(encoder)
    graders = {"features": plain, "grammar": plain, "model": Grader(encoder, judge=judge)}
    found: Json = {"contrasts": _plain(contrast_table(judge.predict))}
    groups = statement_groups(bank, folder, seed)
    found["flips"] = [row for name, cases in groups.items() for row in flip_rows(graders, name, cases, seed)]
    if folder is not None:
        present = [(name, split) for name, split in _SPLITS if (folder / f"{name}.parquet").is_file()]
        found["three_way"] = _plain(graded_table(judge.predict, folder, present)) if present else []
        found["right"] = right_rows(graders, folder, seed)
    if viva is not None:
        found["viva"] = [viva_row(level, viva, bank, grader) for level, grader in graders.items()]
    return found


_SPLITS = (
    ("scientsbank", "test_ua"), ("scientsbank", "test_uq"), ("scientsbank", "test_ud"),
    ("beetle", "test_ua"), ("beetle", "test_uq"),
)  # fmt: skip


def _plain(frame: pd.DataFrame) -> list[Json]:
    """Rows as plain JSON, numbers with four decimals, ``null`` where undefined."""
    rows = frame.to_dict(orient="records")
    return [{str(key): _number(value) for key, value in row.items()} for row in rows]


def _number(value: Any) -> Any:
    if not isinstance(value, (float, np.floating)):
        return int(value) if isinstance(value, (int, np.integer)) else value
    return None if np.isnan(value) else round(float(value), 4)


@contextmanager
def checks(level: str) -> Iterator[None]:
    """Below *grammar* nothing is ever found false."""
    if level != "features":
        yield
        return
    with patch("grader.grading.contradictions", lambda *arguments: []):
        yield


def verdicts(graders: Mapping[str, Grader], cases: Sequence[Case]) -> dict[str, list[Verdict]]:
    """What each level makes of each answer."""
    grader = graders["model"]
    warm(grader.encoder, cases, grader.index)
    found = {"cosine": [_by_cosine(grader, item, text) for item, text in cases]}
    for level, one in graders.items():
        with checks(level):
            found[level] = [_verdict(score) for score in _graded(one, cases)]
    return found


def _graded(grader: Grader, cases: Sequence[Case]) -> list[Score]:
    """The score of each answer, item by item."""
    places: dict[str, list[int]] = {}
    for at, (item, _) in enumerate(cases):
        places.setdefault(item.content_hash, []).append(at)
    scores: dict[int, Score] = {}
    for own in places.values():
        scores.update(zip(own, grader.grade_many(cases[own[0]][0], [cases[at][1] for at in own]), strict=True))
    return [scores[at] for at in range(len(cases))]


def _by_cosine(grader: Grader, item: Item, text: str) -> Verdict:
    pooled = grader.encoder.encode([text])[0].pooled
    best = max(float(phrase.encoding.pooled @ pooled) for phrase in grader.index(item).keys.phrases)
    return Verdict(best >= ACCEPTED, False, False)


def _verdict(score: Score) -> Verdict:
    best = max((element.credit for component in score.components for element in component.elements), default=0.0)
    false = bool(score.errors)
    return Verdict(best >= ACCEPTED and not false, false, "contradiction" in score.referral_reasons)


def statement_groups(bank: Bank, folder: Path | None, seed: int) -> dict[str, list[Case]]:
    """Right statements that nothing was trained on, each with its item: of the data sets, of the items."""
    items = [bank[name] for name in bank if name in HELD_OUT_ITEMS]
    own = [(item, text) for item in items for c in item.components.values() for e in c.elements
           for text in e.key_statements if _SHORTEST <= len(text.split()) <= _LONGEST]  # fmt: skip
    groups = {"key statements of held-out items": own, "right answers to unseen questions": _unseen(folder)}
    rng = random.Random(seed)
    return {name: rng.sample(cases, min(MOST_STATEMENTS, len(cases))) for name, cases in groups.items() if cases}


def _unseen(folder: Path | None) -> list[Case]:
    """Right answers and references of unseen questions."""
    found: dict[tuple[str, str], Case] = {}
    for name, split in UNSEEN:
        if folder is None or not (folder / f"{name}.parquet").is_file():
            continue
        frame = graded_frame(folder, name, split)
        for (question, prompt), rows in frame.groupby(["question_id", "question"]):
            references = [str(text) for text in rows["reference_answers"].iloc[0]]
            item = Item.from_reference(str(prompt), references)
            right = rows[rows["label"] == "correct"]["answer"].astype(str)
            for text in [*references, *right]:
                if _SHORTEST <= len(text.split()) <= _LONGEST:
                    found[str(question), text] = (item, text)
    return list(found.values())


def flip_rows(graders: Mapping[str, Grader], group: str, cases: Sequence[Case], seed: int) -> list[Json]:
    """How wrong and true edits of right statements are taken, a direction, set of rules and level a row."""
    items = {text: item for item, text in cases}
    rows = []
    for held_out in (True, False):
        edited = flips(list(items), seed, held_out=held_out, most=2)
        known = verdicts(graders, [(items[flip.original], flip.edited) for flip in edited])
        for wrong in (True, False):
            for level in LEVELS:
                chosen = [v for v, flip in zip(known[level], edited, strict=True) if flip.wrong == wrong]
                rules = "held out" if held_out else "of training"
                rows.append({"group": group, "rules": rules, "wrong": wrong, "level": level, **_shares(chosen)})
    return rows


def _shares(found: Sequence[Verdict]) -> Json:
    """Shares of answers: a false statement found; not accepted; referred; not accepted or referred."""

    def share(which: Callable[[Verdict], bool]) -> float | None:
        return round(float(np.mean([which(v) for v in found])), 4) if found else None

    return {
        "n": len(found),
        "false": share(lambda v: v.false),
        "not_accepted": share(lambda v: not v.accepted),
        "referred": share(lambda v: v.referred and not v.false),
        "caught": share(lambda v: not v.accepted or v.referred),
    }


def right_rows(graders: Mapping[str, Grader], folder: Path, seed: int) -> list[Json]:
    """Of real right answers, those found false and those referred: all, and those with a negation."""
    cases = _unseen(folder)
    cases = random.Random(seed + 1).sample(cases, min(MOST_RIGHT, len(cases)))
    negated = pd.Series([text for _, text in cases], dtype=str).str.contains(_NEGATED, case=False).to_numpy()
    known = verdicts(graders, cases)
    rows = []
    for level in LEVELS:
        for name, chosen in (("all", np.ones(len(cases), dtype=bool)), ("with a negation", negated)):
            some = [v for v, take in zip(known[level], chosen, strict=True) if take]
            rows.append({"answers": name, "level": level, **_shares(some)})
    return rows


def viva_row(level: str, path: Path, bank: Bank, grader: Grader) -> Json:
    """Agreement on viva answers at one level, and mean marks of the kinds that matter here."""
    with checks(level):
        result = run_viva(path, bank, grader)
    figures, calm = result.figures(), result.figures(result.without_false())
    means = result.by_kind()["machine"]
    row: Json = {"level": level, "n": len(result.frame)}
    row |= {name: round(float(figures[name]), 4) for name in ("r", "qwk", "f1_has_error")}
    row |= {f"{name}_without_false": round(float(calm[name]), 4) for name in ("r", "qwk")}
    return row | {kind: round(float(means[kind]), 4) for kind in (*FALSE_KINDS, "full") if kind in means}
