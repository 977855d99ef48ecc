"""The grader as a system of the bench: frames in, marks out, encoded in bulk and cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from eval.cache import RowCache, digest, source_hash
from eval.frames import items_of
from eval.measures import Prediction
from grader import Grader, Item
from grader.encoder import Encoder
from grader.index import ItemIndex
from grader.reading import read_response

_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Marks:
    """What the grader said of each response.

    Attributes:
        raw: Unrounded mark on 0..1; 0 where there is none.
        score: Reported mark on 0..1; ``nan`` where there is none.
        referred: Whether a person should look.
        errors: Whether a false statement was found.
    """

    raw: npt.NDArray[np.float64]
    score: npt.NDArray[np.float64]
    referred: npt.NDArray[np.bool_]
    errors: npt.NDArray[np.bool_]

    def prediction(self) -> Prediction:
        """Marks as the bench reads them: wrong answers with a false statement are contradictory."""
        correct = Prediction(self.raw).two_way()
        labels = np.where(correct, "correct", np.where(self.errors, "contradictory", "incorrect"))
        return Prediction(self.raw, label3=[str(label) for label in labels], marked=~np.isnan(self.score))


class GraderSystem:
    """Marks by a `Grader`, on items made of the reference answers or on given ones."""

    def __init__(self, grader: Grader, cache: RowCache | None = None, *, salt: str = "") -> None:
        """Marks by ``grader``, kept in ``cache`` by text, item, signature and source.

        Args:
            grader: The grader.
            cache: Where marks are kept; nowhere by default.
            salt: What else tells this grader from others, for a prior that has no version of its own.
        """
        self.grader = grader
        self._cache = cache or RowCache(None)
        self.salt = salt

    def __call__(self, frame: pd.DataFrame) -> Prediction:
        """The prediction for a prepared frame; each question becomes an item of its references."""
        return self.marks(frame).prediction()

    def marks(self, frame: pd.DataFrame) -> Marks:
        """The marks for a prepared frame."""
        items = items_of(frame)
        pairs = [(items[str(q)], str(a)) for q, a in zip(frame["question_id"], frame["answer"], strict=True)]
        return self.marks_of(pairs)

    def marks_of(self, pairs: Sequence[tuple[Item, str]]) -> Marks:
        """The marks of responses to items, in order."""
        keys = [digest([item.content_hash, text]) for item, text in pairs]
        found = self._cache.rows(self._space(), keys, lambda places: self._grade([pairs[at] for at in places]))
        return Marks(
            raw=found[:, 0].astype(np.float64),
            score=found[:, 1].astype(np.float64),
            referred=found[:, 2] > 0,
            errors=found[:, 3] > 0,
        )

    def _space(self) -> str:
        """Hash of all that decides marks besides item and response."""
        return digest(["marks", self.salt, library_hash(), self.grader.signature(probe())])

    def _grade(self, pairs: Sequence[tuple[Item, str]]) -> npt.NDArray[np.float64]:
        """One row a pair: raw mark, score, whether referred, whether a false statement was found."""
        warm(self.grader.encoder, pairs, self.grader.index)
        rows = np.zeros((len(pairs), 4))
        by_item: dict[str, list[int]] = {}
        for at, (item, _) in enumerate(pairs):
            by_item.setdefault(item.content_hash, []).append(at)
        for places in by_item.values():
            item = pairs[places[0]][0]
            scores = self.grader.grade_many(item, [pairs[at][1] for at in places])
            for at, found in zip(places, scores, strict=True):
                mark = np.nan if found.score is None else found.score / item.scale.max
                rows[at] = found.raw / item.scale.max, mark, found.referred, bool(found.errors)
        return rows


def probe() -> Item:
    """An item with everything that a signature may depend on."""
    plain = Item.from_reference("Why?", "Because.").model_dump()
    wrong = {"id": "wrong", "statements": ["By magic."], "feedback": "There is no magic."}
    return Item.model_validate({**plain, "misconceptions": [wrong]})


@lru_cache(maxsize=1)
def library_hash() -> str:
    """Hash of the library's sources at the first call."""
    return source_hash("grader")


def warm(encoder: Encoder, pairs: Iterable[tuple[Item, str]], index: Callable[[Item], ItemIndex]) -> None:
    """Encodes everything that grading ``pairs`` will need in a few large calls.

    Only worth it with a caching encoder: item by item, the calls are too small for full batches.

    Args:
        encoder: A caching encoder.
        pairs: Responses to items.
        index: Gives the prepared item, and remembers it.
    """
    listed = list(pairs)
    items = {item.content_hash: item for item, _ in listed}
    encoder.encode(list(dict.fromkeys(text for item in items.values() for text in item_texts(item))))
    for start in range(0, len(listed), _CHUNK):
        texts = statement_texts((index(item), text) for item, text in listed[start : start + _CHUNK])
        encoder.encode(list(dict.fromkeys(texts)))
    flush = getattr(encoder, "flush", None)
    if flush is not None:
        flush()


def item_texts(item: Item) -> list[str]:
    """The texts of an item that are encoded for its index, normalised."""
    from grader.text import normalise

    wordings = [s for c in item.components.values() for e in c.elements for s in e.key_statements]
    wrong = [s for m in item.misconceptions for s in m.statements]
    return [normalise(text).text for text in (item.prompt, *wordings, *wrong, *item.find_out)]


def statement_texts(pairs: Iterable[tuple[ItemIndex, str]]) -> list[str]:
    """The statements of responses as they will be encoded."""
    return [part.text for index, text in pairs for part in read_response(text, index).statements]
