"""Feature tables of labelled answers, as the prior sees them: what it is trained and checked on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.cache import READING, source_hash
from eval.datasets import read_viva
from grader import Bank, Item
from grader.encoder import Encoder
from grader.evidence.features import FEATURES, element_keywords, features
from grader.evidence.keywords import Words
from grader.index import build_index
from grader.reading import counted_statements, read_response

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Answers:
    """Labelled answers as feature tables.

    Attributes:
        tables: One table (key statements x features) an answer; without rows if no statement of it may earn a credit.
        slots: For each answer, the (component, element) of each row of its table.
        items: For each answer, its item.
        credits: Rater's credit by component, 0..1, one mapping an answer.
        frame: The rows the answers came from, in order.
    """

    tables: Sequence[Floats]
    slots: Sequence[Sequence[tuple[str, int]]]
    items: Sequence[Item]
    credits: Sequence[dict[str, float]]
    frame: pd.DataFrame


def viva_answers(path: Path, bank: Bank, encoder: Encoder, cache: Path) -> Answers:
    """The rows of a viva file whose items exist in ``bank``."""
    frame = read_viva(path)
    frame = frame[frame["question_id"].isin(list(bank))].reset_index(drop=True)
    items = [bank[name] for name in frame["question_id"]]
    names = ("definition", "reason", "example_or_pitfall")
    credits = [{name: float(row[name]) for name in names} for _, row in frame.iterrows()]
    return _answers(frame, items, list(frame["answer"]), credits, encoder, cache)


def reference_answers(frame: pd.DataFrame, encoder: Encoder, cache: Path) -> Answers:
    """The rows of a data set frame against items made of their reference answers only."""
    frame = frame.reset_index(drop=True)
    made: dict[str, Item] = {}
    for question, rows in frame.groupby("question_id", sort=False):
        first = rows.iloc[0]
        made[str(question)] = Item.from_reference(str(first["question"]), [str(r) for r in first["reference_answers"]])
    items = [made[str(question)] for question in frame["question_id"]]
    credits = [{"answer": float(s) / float(m)} for s, m in zip(frame["score"], frame["max_score"], strict=True)]
    return _answers(frame, items, [str(a) for a in frame["answer"]], credits, encoder, cache)


def _answers(
    frame: pd.DataFrame,
    items: list[Item],
    texts: list[str],
    credits: list[dict[str, float]],
    encoder: Encoder,
    cache: Path,
) -> Answers:
    slots_of = {
        item.content_hash: [
            (name, at)
            for name, component in item.components.items()
            for at, element in enumerate(component.elements)
            for _ in element.key_statements
        ]
        for item in items
    }
    parts = [encoder.signature, *FEATURES, *(item.content_hash for item in items), *texts, source_hash(*READING)]
    key = hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:20]
    file = cache / f"features-{key}.npz"
    if file.is_file():
        with np.load(file) as stored:
            tables = np.split(stored["rows"], stored["cuts"])
    else:
        tables = list(_tables(items, texts, encoder))
        cache.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, rows=np.concatenate(tables), cuts=np.cumsum([len(t) for t in tables])[:-1])
    slots = [slots_of[item.content_hash] for item in items]
    return Answers(tables, slots, items, credits, frame)


def _tables(items: Sequence[Item], texts: Sequence[str], encoder: Encoder, chunk: int = 256) -> Iterator[Floats]:
    indices = {item.content_hash: item for item in items}
    built = {key: build_index(item, encoder) for key, item in indices.items()}
    for start in range(0, len(texts), chunk):
        part = list(zip(items[start : start + chunk], texts[start : start + chunk], strict=True))
        readings = [read_response(text, built[item.content_hash]) for item, text in part]
        needed = list(dict.fromkeys(s.text for reading in readings for s in reading.statements))
        encodings = dict(zip(needed, encoder.encode(needed), strict=True))
        for (item, _), reading in zip(part, readings, strict=True):
            index = built[item.content_hash]
            counted = [reading.statements[at] for at in counted_statements(reading)]
            if not counted:
                yield np.zeros((0, len(FEATURES)), dtype=np.float32)
                continue
            phrases = index.phrases([s.text for s in counted], [encodings[s.text] for s in counted])
            words = [Words(s.text, item.language, s.start) for s in counted]
            yield features(index, phrases, element_keywords(index, words))[0]
