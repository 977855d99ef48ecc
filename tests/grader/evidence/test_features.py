"""The table behind the credits: one row a key statement, one documented column a measure."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader import Grader, Item
from grader.evidence.features import CONSTANTS, FEATURES, Floats, element_keywords, features
from grader.evidence.keywords import Words

NAMES = list(FEATURES)
RISE = "The level of the sea rises and falls about twice a day."
SENTENCES = st.sampled_from(
    [RISE, "The moon pulls.", "A strong wind blows.", "It is daily.", "water", "The planet turns beneath.", "Not so."]
)


def table(grader: Grader, item: Item, texts: list[str]) -> Floats:
    index = grader.index(item)
    response = index.phrases(texts, grader.encoder.encode(texts))
    found, alignment = features(index, response, element_keywords(index, [Words(text) for text in texts]))
    assert found.shape == (len(index.slots), len(FEATURES))
    assert alignment.recall.shape == (len(index.slots), len(texts))
    assert np.isfinite(found).all()
    return found


def test_a_copy_of_a_key_statement(tides: Item, hash_grader: Grader) -> None:
    row = dict(zip(NAMES, table(hash_grader, tides, [RISE])[0], strict=True))
    assert all(row[name] > 0.999 for name in ("recall", "full_recall", "cosine", "balance", "lexical", "keywords"))
    assert row["has_keywords"] == 1
    assert row["wordings"] == 1, "two wordings: log2"


def test_an_element_without_keywords_says_so(tides: Item, hash_grader: Grader) -> None:
    found = table(hash_grader, tides, [RISE])
    assert (found[2:, NAMES.index("has_keywords")] == 0).all()
    assert (found[2:, NAMES.index("keywords")] == 0).all()


@given(st.lists(SENTENCES, min_size=1, max_size=4), SENTENCES)
def test_only_constants_do_not_grow(tides: Item, hash_grader: Grader, response: list[str], added: str) -> None:
    before, after = table(hash_grader, tides, response), table(hash_grader, tides, [*response, added])
    for at, name in enumerate(NAMES):
        if name in CONSTANTS:
            np.testing.assert_array_equal(before[:, at], after[:, at], name)
        else:
            assert (after[:, at] >= before[:, at] - 1e-5).all(), name
