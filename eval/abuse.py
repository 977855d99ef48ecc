"""The abuse suite: texts that must not earn credit, and edits that must not move a mark, made from right answers.

"Accepted" is a reported score of at least half of the full mark that is not referred. "Moved" is an unrounded mark
more than a tenth of the scale away from that of the same answer without the edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.edits import MADE_WRONG, NO_ANSWER, Edit, Source
from eval.frames import items_of
from eval.grading import GraderSystem, Marks
from eval.kept_edits import STILL_RIGHT
from eval.measures import Estimate
from grader import Item
from grader.intervals import bootstrap_interval
from grader.text import stems, tokenise
from grader.words import information

Floats = npt.NDArray[np.float64]

GROUPS: Mapping[str, Mapping[str, Edit]] = {
    "no answer": NO_ANSWER, "made wrong": MADE_WRONG, "still right": STILL_RIGHT,
}  # fmt: skip
UNCHANGED = "right answer"
MOVED = 0.1
#: What the issue allows: the share accepted, or for edits that keep the meaning the share moved, at most.
LIMITS: Mapping[str, float] = {
    "blank": 0.01, "gibberish": 0.01, "restated question": 0.01, "another question's right answer": 0.03,
    "bare keyword list": 0.10, "shuffled words": 0.10, "typos": 0.10, "case": 0.10,
    "adverbs and adjectives inserted": 0.10, "harmless extra": 0.10,
}  # fmt: skip
#: Questions whose references share this much of their content words may share answers too.
ALIKE = 0.5


@dataclass(frozen=True, slots=True)
class AbuseRow:
    """One kind of text.

    Attributes:
        group: ``no answer``, ``made wrong``, ``still right`` or ``unchanged``.
        kind: What was done.
        n: Texts made.
        accepted: Share accepted.
        moved: Share moved; ``None`` where there is nothing to compare with.
        referred: Share sent to a person.
        limit: Largest share allowed, of those accepted or (still right) moved.
    """

    group: str
    kind: str
    n: int
    accepted: Estimate
    moved: Estimate | None
    referred: float
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Right:
    """A right answer, its question and its item."""

    question: str
    item: Item
    source: Source


def right_answers(
    frame: pd.DataFrame, items: Mapping[str, Item] | None = None, *, most: int = 150, seed: int = 0
) -> list[Right]:
    """Right answers (full mark) of a prepared frame, spread over its questions.

    Args:
        frame: The answers.
        items: Items by question id; by default made of the references.
        most: How many at most.
        seed: Of the choice.
    """
    made = items_of(frame) if items is None else items
    rng = np.random.default_rng(seed)
    known = frame[frame["question_id"].map(str).isin(list(made))].reset_index(drop=True)
    chosen = known[(known["fraction"] >= 1 - 1e-9) & (known["answer"].str.strip() != "")]
    chosen = chosen.loc[rng.permutation(chosen.index)]
    place = chosen.groupby("question_id").cumcount().sort_values(kind="stable")
    wrong = known[(known["fraction"] <= 1e-9) & (known["answer"].str.strip() != "")]
    by_question = {str(q): [str(a) for a in rows["answer"]] for q, rows in wrong.groupby("question_id")}
    foreign = _foreign(chosen, made)
    found = []
    for at in place.index[:most]:
        question, answer = str(chosen.at[at, "question_id"]), str(chosen.at[at, "answer"])
        item, others = made[question], by_question.get(question)
        source = Source(
            question=item.prompt,
            answer=answer,
            reference=item.reference_answer,
            foreign=_one(foreign.get(question), rng),
            wrong=_one(others, rng),
        )
        found.append(Right(question, item, source))
    return found


def _one(options: Sequence[str] | None, rng: np.random.Generator) -> str | None:
    return options[int(rng.integers(len(options)))] if options else None


def _foreign(chosen: pd.DataFrame, items: Mapping[str, Item]) -> dict[str, list[str]]:
    """For each question the right answers of questions whose references say something else."""
    terms = {name: _terms(item) for name, item in items.items()}
    answers = {str(q): [str(a) for a in rows["answer"]] for q, rows in chosen.groupby("question_id")}
    found: dict[str, list[str]] = {}
    for name in answers:
        others = [other for other in answers if other != name and _shared(terms[name], terms[other]) < ALIKE]
        found[name] = [answer for other in others for answer in answers[other]]
    return found


def _terms(item: Item) -> dict[str, float]:
    """Content stems of everything the item accepts, with their information."""
    wordings = [s for c in item.components.values() for e in c.elements for s in e.key_statements]
    return {
        term: information(token.text)
        for text in wordings
        for token in tokenise(text)
        for term in stems(token.text, item.language)
        if information(token.text) >= 0.3
    }


def _shared(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Information the two share, as a part of the smaller one."""
    both = sum(weight for term, weight in left.items() if term in right)
    return both / max(min(sum(left.values()), sum(right.values())), 1e-9)


def abuse_table(system: GraderSystem, rights: Sequence[Right], *, seed: int = 0, n_boot: int = 1000) -> list[AbuseRow]:
    """The suite on ``rights``, one row a kind, the unchanged answers first."""
    base = system.marks_of([(right.item, right.source.answer) for right in rights])
    questions = np.array([right.question for right in rights])
    rows = [_row("unchanged", UNCHANGED, base, None, questions, n_boot)]
    for group, edits in GROUPS.items():
        for number, (kind, edit) in enumerate(edits.items()):
            texts = [edit(right.source, np.random.default_rng((seed, number, at))) for at, right in enumerate(rights)]
            kept = np.array([at for at, text in enumerate(texts) if text is not None], dtype=int)
            if not len(kept):
                continue
            marks = system.marks_of([(rights[at].item, str(texts[at])) for at in kept])
            before = base.raw[kept] if group != "no answer" else None
            rows.append(_row(group, kind, marks, before, questions[kept], n_boot))
    return rows


def _row(
    group: str,
    kind: str,
    marks: Marks,
    before: Floats | None,
    questions: npt.NDArray[np.str_],
    n_boot: int,
) -> AbuseRow:
    accepted = accepted_marks(marks)
    moved = None if before is None else np.abs(marks.raw - before) > MOVED + 1e-9
    return AbuseRow(
        group=group,
        kind=kind,
        n=len(accepted),
        accepted=_share(accepted, questions, n_boot),
        moved=None if moved is None else _share(moved, questions, n_boot),
        referred=float(marks.referred.mean()),
        limit=LIMITS.get(kind),
    )


def accepted_marks(marks: Marks) -> npt.NDArray[np.bool_]:
    """Which responses count as accepted, shape (n,)."""
    return (np.nan_to_num(marks.score, nan=0.0) >= 0.5 - 1e-9) & ~marks.referred


def _share(hits: npt.NDArray[np.bool_], questions: npt.NDArray[np.str_], n_boot: int) -> Estimate:
    codes = np.unique(questions, return_inverse=True)[1]
    found = bootstrap_interval(np.mean, hits.astype(float), groups=codes, n_boot=n_boot)
    return Estimate(found.value, found.low, found.high)


def bank_frame(viva: pd.DataFrame, items: Mapping[str, Item]) -> pd.DataFrame:
    """Authored viva answers in the columns that `right_answers` reads; ``items`` by question id."""
    known = viva[viva["question_id"].map(str).isin(list(items))]
    questions = known["question_id"].map(str)
    full = questions.map(lambda name: items[name].scale.max)
    return pd.DataFrame(
        {"question_id": questions, "answer": known["answer"].map(str), "fraction": known["score"] / full}
    ).reset_index(drop=True)
