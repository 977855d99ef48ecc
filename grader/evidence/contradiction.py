"""False statements: listed misconceptions, and near copies of a key statement with the meaning turned round.

Similarity cannot tell "shares memory" from "does not share memory" (cosine .94), so it is only used to find what a
statement is about. Whether it is true is decided by comparing it with what a believer in the opposite would write, by
what turns a meaning (negations, opposites, numbers, names in each other's place) and by the contradiction model.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.evidence.findings import Contradiction, Floats, likeness
from grader.evidence.grammar import turned
from grader.evidence.judge import Judge, Stated, weighed_statements
from grader.evidence.near_copy import turned_near_copy
from grader.evidence.polarity import negations
from grader.evidence.similarity import Alignment, Phrase
from grader.index import ItemIndex

#: A statement states a misconception when it is at least this like it …
MISCONCEPTION_LIKENESS = 0.6
#: … and by this much more like it than like any accepted wording …
MISCONCEPTION_MARGIN = 0.05
#: … or by anything if it says nearly the same words; no model is asked then.
SAME_WORDS = 0.95


def contradictions(
    index: ItemIndex,
    statements: Sequence[Phrase],
    found: Alignment,
    wrong: Alignment | None,
    candidates: Sequence[bool],
    judge: Judge | None = None,
) -> list[Contradiction]:
    """False statements, at most one finding a statement.

    Args:
        index: The item.
        statements: Statements of one response.
        found: Key statements against statements.
        wrong: Misconceptions against statements, if the item has any.
        candidates: Which statements may be found false.
        judge: The contradiction model; makes some findings doubtful and adds others that are suspected.
    """
    keys = likeness(found)
    stated = _misconceptions(index, statements, found, wrong, keys, candidates, judge)
    results = []
    for at in [at for at, wanted in enumerate(candidates) if wanted]:
        known = stated.get(at)
        if known is None or known.suspected:
            alone = sum(candidates) == 1
            finding = turned_near_copy(index, statements[at], at, keys[:, at], judge, alone=alone)
            if finding:
                results.append(finding)
                continue
        if known:
            results.append(_finding(index, at, known))
    return results


def _finding(index: ItemIndex, at: int, known: Stated) -> Contradiction:
    if known.row is None:
        return Contradiction(at, "contradiction", key=known.key, suspected=known.suspected)
    return Contradiction(at, "misconception", index.misconception_slots[known.row], suspected=known.suspected)


def _misconceptions(
    index: ItemIndex,
    statements: Sequence[Phrase],
    found: Alignment,
    wrong: Alignment | None,
    keys: Floats,
    candidates: Sequence[bool],
    judge: Judge | None,
) -> dict[int, Stated]:
    """What makes each statement false, beside what turns a near copy, or is suspected to."""
    if wrong is None:
        return {}
    like = likeness(wrong)
    stated = {at: Stated(row) for at, row in _like_misconceptions(index, statements, keys, like, candidates).items()}
    if judge is None:
        return stated
    same = {at: known for at, known in stated.items() if float(like[:, at].max()) >= SAME_WORDS}
    rest = [wanted and at not in same for at, wanted in enumerate(candidates)]
    return same | weighed_statements(index, statements, found, wrong, rest, stated, judge)


def _like_misconceptions(
    index: ItemIndex,
    statements: Sequence[Phrase],
    keys: Floats,
    wrong: Floats,
    candidates: Sequence[bool],
) -> dict[int, int]:
    """Row of the misconception that each statement is clearly more like than anything right."""
    assert index.misconceptions is not None
    stated = {}
    for at in [at for at, wanted in enumerate(candidates) if wanted]:
        row = int(wrong[:, at].argmax())
        like = float(wrong[row, at])
        margin = MISCONCEPTION_MARGIN if like < SAME_WORDS else 0.0001
        if like < MISCONCEPTION_LIKENESS or like - float(keys[:, at].max()) < margin:
            continue
        text, known = statements[at].text, index.misconceptions.phrases[row].text
        if negations(text) % 2 == negations(known) % 2 and not turned(text, known, index.item.language):
            stated[at] = row
    return stated
