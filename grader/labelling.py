"""Which answers a person should mark: the most telling ones first, and near-identical ones once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.correction import Kernel
from grader.evidence.polarity import negations, numbers
from grader.representation import Array, Representation

#: Cosine of sentence vectors from which on two answers may be the same answer in other words.
SAME_MEANING = 0.92
#: Cosine of word vectors that they must reach as well.
SAME_WORDS = 0.6


def suggest(
    rows: Representation, count: int, *, labelled: Sequence[int] = (), kernel: Kernel | None = None
) -> list[int]:
    """Indices of the answers whose labels would tell most about all the others, the most telling first.

    Each pick lowers the summed variance of all marks most (A-optimal design, Cohn et al. 1996), which weighs how
    unsure a mark is against how many answers are like it. No label is needed, so it works from the first one on.

    Args:
        rows: All answers of the item.
        count: How many to pick; fewer if there are not that many.
        labelled: Indices of answers that have a label already.
        kernel: Scales of the correction; the shipped ones if not given.
    """
    scales = kernel or Kernel()
    covariance = scales(rows, rows)
    open_rows = np.ones(len(rows), dtype=bool)
    for row in labelled:
        _observe(covariance, row, scales.noise)
        open_rows[row] = False
    picked: list[int] = []
    while len(picked) < count and open_rows.any():
        gain = (covariance**2).sum(axis=0) / (np.diag(covariance) + scales.noise**2)
        gain[~open_rows] = -1.0
        best = int(np.round(gain, 9).argmax())
        picked.append(best)
        open_rows[best] = False
        _observe(covariance, best, scales.noise)
    return picked


def _observe(covariance: Array, row: int, noise: float) -> None:
    """Updates the covariance in place as if ``row`` had been labelled."""
    column = covariance[:, row].copy()
    covariance -= np.outer(column, column) / (column[row] + noise**2)


def audit_sample(count: int, total: int, *, seed: int) -> list[int]:
    """A simple random sample of ``count`` of ``total`` answers, for an honest check of a selected set of labels."""
    chosen = np.random.default_rng(seed).choice(total, size=min(count, total), replace=False)
    return sorted(int(row) for row in chosen)


def groups(texts: Sequence[str], rows: Representation) -> list[list[int]]:
    """Near-identical answers together, as lists of indices, the largest group first; single answers are left out.

    Two answers are together when they are the same but for case and blanks, or when they mean the same *and* use
    mostly the same words, with the same number of negations and the same numbers: a right answer is never put with
    its negation. Every member is like the group's first one; blank answers form one group.
    """
    keys = [" ".join(text.split()).casefold().strip(" .!?-") for text in texts]
    signs = [(negations(text), numbers(text)) for text in texts]
    alike = (rows.vectors @ rows.vectors.T >= SAME_MEANING) & (rows.lexical @ rows.lexical.T >= SAME_WORDS)
    taken = np.zeros(len(texts), dtype=bool)
    found = []
    for first in range(len(texts)):
        if taken[first]:
            continue
        members = [
            other
            for other in range(first, len(texts))
            if not taken[other]
            and (keys[other] == keys[first] or (bool(alike[first, other]) and signs[other] == signs[first]))
        ]
        taken[members] = True
        if len(members) > 1:
            found.append(members)
    return sorted(found, key=lambda members: (-len(members), members[0]))


def effort_saved(total: int, found: Sequence[Sequence[int]]) -> float:
    """Share of answers that need not be marked one by one when each group is marked once, 0 to 1.

    >>> effort_saved(10, [[0, 3, 4], [1, 2]])
    0.3
    """
    return sum(len(members) - 1 for members in found) / total if total else 0.0
