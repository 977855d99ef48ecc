"""One row of numbers an answer: the grader's own features and more of the token alignment, for models fitted here.

The grader's prior may only use features in which a longer answer cannot lose. A model that is fitted and tested on a
data set is not bound to that, so this table adds what an answer says beyond the reference, lengths, negations,
numbers and antonyms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.cache import READING, RowCache, digest, source_hash
from eval.frames import items_of
from eval.grading import warm
from eval.wordlists import ANTONYMS
from grader import Item
from grader.encoder import Encoder
from grader.evidence.features import FEATURES, element_keywords, features
from grader.evidence.keywords import Words
from grader.evidence.similarity import Phrase
from grader.index import ItemIndex, build_index
from grader.reading import counted_statements, read_response
from grader.text import stem, tokenise
from grader.words import NEGATIONS

Floats = npt.NDArray[np.float32]

#: What a row holds after the grader's features (those of the reference that is matched best).
EXTRAS = (
    "mean_recall", "words", "words_over_reference", "reference_words", "prompt_words", "precision", "full_precision",
    "found_5", "found_6", "found_7", "found_8", "weakest", "second_weakest", "said_6", "said_7", "said_by_prompt",
    "jaccard", "grams", "cosine_whole", "cosine_prompt", "reference_cosine_prompt", "negations", "negation_parity",
    "numbers_found", "numbers_foreign", "antonyms", "statements",
)  # fmt: skip
_SOURCES = (*READING, "eval/feature_table.py", "eval/wordlists.py")


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Features and sentence vectors of answers.

    Attributes:
        rows: Shape (n, len(FEATURES) + len(EXTRAS)); ``nan`` throughout for an answer that says nothing.
        vectors: Mean sentence vector of each answer, unit length or 0, shape (n, d).
    """

    rows: Floats
    vectors: Floats


def feature_table(frame: pd.DataFrame, encoder: Encoder, cache: RowCache) -> FeatureTable:
    """The features of every answer of a prepared frame, in order."""
    items = items_of(frame)
    pairs = [(items[str(q)], str(a)) for q, a in zip(frame["question_id"], frame["answer"], strict=True)]
    width = len(FEATURES) + len(EXTRAS)

    index = lru_cache(maxsize=None)(lambda question: build_index(items[question], encoder))
    owners = {item.content_hash: question for question, item in items.items()}

    def index_of(item: Item) -> ItemIndex:
        return index(owners[item.content_hash])

    def make(places: list[int]) -> Floats:
        chosen = [pairs[at] for at in places]
        warm(encoder, chosen, index_of)
        return np.stack([np.concatenate(parts) for parts in _rows(chosen, encoder, index_of)])

    space = digest(["features", source_hash(*_SOURCES), encoder.signature])
    found = cache.rows(space, [digest([item.content_hash, text]) for item, text in pairs], make)
    return FeatureTable(found[:, :width].astype(np.float32), found[:, width:].astype(np.float32))


def _rows(
    pairs: Sequence[tuple[Item, str]], encoder: Encoder, index_of: Callable[[Item], ItemIndex]
) -> Iterator[tuple[Floats, Floats]]:
    for item, text in pairs:
        index = index_of(item)
        reading = read_response(text, index)
        counted = [reading.statements[at] for at in counted_statements(reading)] or reading.statements
        if not counted:
            width = len(index.prompt.encoding.pooled)
            yield np.full(len(FEATURES) + len(EXTRAS), np.nan, np.float32), np.zeros(width, np.float32)
            continue
        texts = [part.text for part in counted]
        phrases = index.phrases(texts, encoder.encode(texts))
        words = [Words(part.text, item.language, part.start) for part in counted]
        table, found = features(index, phrases, element_keywords(index, words))
        best = int(np.argmax(found.full_recall + found.full_lexical))
        own = [float(found.full_recall.mean()), *_extras(index, index.keys.phrases[best], phrases)]
        vector = np.mean([p.encoding.pooled for p in phrases], axis=0)
        yield (
            np.array([*table[best], *own], np.float32),
            (vector / max(np.linalg.norm(vector), 1e-9)).astype(np.float32),
        )


def _extras(index: ItemIndex, reference: Phrase, response: Sequence[Phrase]) -> list[float]:
    """``EXTRAS`` but for the first, in order."""
    said, expected, asked = _words(response), _words([reference]), _words([index.prompt])
    whole = np.mean([p.encoding.pooled for p in response], axis=0)
    whole = whole / max(float(np.linalg.norm(whole)), 1e-9)
    prompt = index.prompt.encoding.pooled
    return [
        np.log1p(len(said)),
        np.log1p(len(said)) - np.log1p(len(expected)),
        np.log1p(len(expected)),
        np.log1p(len(asked)),
        *_alignment(reference, response, index.prompt),
        *_overlap(reference, response),
        float(whole @ reference.encoding.pooled),
        float(whole @ prompt),
        float(reference.encoding.pooled @ prompt),
        *_differences(said, expected, asked, index.item.language),
        float(len(response)),
    ]


def _words(phrases: Sequence[Phrase]) -> list[str]:
    return [token.text.casefold() for p in phrases for token in tokenise(p.text)]


def _alignment(reference: Phrase, response: Sequence[Phrase], prompt: Phrase) -> list[float]:
    """From ``precision`` to ``said_by_prompt``."""
    tokens = np.concatenate([p.encoding.tokens for p in response])
    weights = np.concatenate([p.weights for p in response])
    ends = np.cumsum([len(p.weights) for p in response])
    similarity = reference.encoding.tokens @ tokens.T
    said, found = similarity.max(axis=0), similarity.max(axis=1)
    total = max(float(weights.sum()), 1e-9)
    parts = zip(np.split(said * weights, ends[:-1]), np.split(weights, ends[:-1]), strict=True)
    share = reference.weights / max(float(reference.weights.sum()), 1e-9)
    heavy = np.sort(found[share >= np.median(share)])
    by_prompt = (
        (prompt.encoding.tokens @ tokens.T).max(axis=0) if len(prompt.encoding.tokens) else np.zeros(len(weights))
    )
    return [
        max(float(part.sum() / max(w.sum(), 1e-9)) for part, w in parts),
        float((said * weights).sum() / total),
        *(float(share[found >= level].sum()) for level in (0.5, 0.6, 0.7, 0.8)),
        float(heavy[0]),
        float(heavy[min(1, len(heavy) - 1)]),
        *(float(weights[said >= level].sum() / total) for level in (0.6, 0.7)),
        float((by_prompt * weights).sum() / total),
    ]


def _overlap(reference: Phrase, response: Sequence[Phrase]) -> list[float]:
    """``jaccard`` of stems and ``grams``, the share of four-letter runs in common (Dice)."""
    ours, theirs = set(reference.terms), {term for p in response for term in p.terms}
    left, right = _grams(reference.text), {gram for p in response for gram in _grams(p.text)}
    return [
        len(ours & theirs) / max(len(ours | theirs), 1),
        2 * len(left & right) / max(len(left) + len(right), 1),
    ]


def _grams(text: str) -> set[str]:
    joined = " ".join(text.casefold().split())
    return {joined[at : at + 4] for at in range(len(joined) - 3)}


def _differences(said: Sequence[str], expected: Sequence[str], asked: Sequence[str], language: str) -> list[float]:
    """From ``negations`` to ``antonyms``."""
    ours, theirs = (sum(word in NEGATIONS or word.endswith("n't") for word in words) for words in (said, expected))
    numbers = {word for word in expected if word[0].isdigit()}
    given = {word for word in said if word[0].isdigit()}
    opposite = {other for word in expected for other in ANTONYMS.get(word, ())} - set(expected) - set(asked)
    stems = {stem(word, language) for word in said}
    return [
        float(ours - theirs),
        float((ours - theirs) % 2),
        len(numbers & given) / len(numbers) if numbers else 1.0,
        float(len(given - numbers - set(asked))),
        float(sum(stem(word, language) in stems for word in opposite)),
    ]
