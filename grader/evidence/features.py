"""The measures a credit rests on: one row a key statement, every column documented and in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grader.evidence.keywords import KeywordEvidence, Words, match_keywords
from grader.evidence.similarity import Alignment, Phrase
from grader.index import ItemIndex

Floats = NDArray[np.float32]

#: Name and meaning of each column.
FEATURES = {
    "recall": "share of the key statement found in the best single statement (token alignment)",
    "pair_recall": "the same in the best two neighbouring statements",
    "full_recall": "the same in the whole response",
    "cosine": "best cosine of sentence vectors",
    "balance": "best harmonic mean of recall and precision of a single statement",
    "lexical": "share of the key statement's stems in the best single statement",
    "full_lexical": "the same in the whole response",
    "keywords": "keyword groups met over groups needed (0 if the element has none)",
    "has_keywords": "1 if the element has keywords",
    "background": "share of the key statement that the item's other components and the prompt already say",
    "siblings": "share of it that the other wordings of the same element say (0 if there are none)",
    "wordings": "logarithm to base 2 of the number of wordings of the element: the more, the likelier a chance match",
}

#: Features that depend on the rubric alone; all others can only grow when a statement is added.
CONSTANTS = ("has_keywords", "background", "siblings", "wordings")


def element_keywords(index: ItemIndex, words: Sequence[Words]) -> dict[tuple[str, int], KeywordEvidence]:
    """Keyword evidence for each (component, element) that has keywords."""
    return {
        (name, at): match_keywords(element.keywords, words)
        for name, component in index.item.components.items()
        for at, element in enumerate(component.elements)
        if element.keywords
    }


def features(
    index: ItemIndex, response: Sequence[Phrase], keywords: dict[tuple[str, int], KeywordEvidence]
) -> tuple[Floats, Alignment]:
    """Measures of each key statement in one response, shape (k, len(FEATURES)), and the alignment behind them.

    ``response`` holds at least one statement.
    """
    found = index.keys.align(response)
    return feature_table(index, found, keywords), found


def feature_table(index: ItemIndex, found: Alignment, keywords: Mapping[tuple[str, int], KeywordEvidence]) -> Floats:
    """Measures of each key statement in the response that ``found`` aligns, shape (k, len(FEATURES))."""
    recall, precision = np.maximum(found.recall, 0), np.maximum(found.precision, 0)
    balance = 2 * recall * precision / np.maximum(recall + precision, 1e-6)
    met = [keywords.get((slot.component, slot.element)) for slot in index.slots]
    table = np.column_stack(
        [
            found.recall.max(axis=1),
            found.pair_recall.max(axis=1),
            found.full_recall,
            found.cosine.max(axis=1),
            balance.max(axis=1),
            found.lexical.max(axis=1),
            found.full_lexical,
            [evidence.credit if evidence else 0.0 for evidence in met],
            [1.0 if evidence else 0.0 for evidence in met],
            index.background,
            index.siblings,
            index.wordings,
        ]
    )
    return np.round(table, 5).astype(np.float32)
