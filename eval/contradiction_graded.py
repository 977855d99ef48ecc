"""Pairs in the language of answers: graded answers, the rubrics' own statements, edits of both, made statements."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eval.contradiction_data import (
    NEUTRAL,
    NOT_ENTAILED,
    ONLY_CONTRADICTS,
    ONLY_ENTAILS,
    ONLY_PARTLY,
    ONLY_UNRELATED,
    Allowed,
    Pair,
)
from eval.flip_templates import made_pairs
from eval.flips import flips
from grader.encoder import Encoder
from grader.evidence.crossencoder import ENTAILS, PARTLY
from grader.rubric import Item
from grader.text import stems

Floats = NDArray[np.float32]

LABELS: Mapping[str, Allowed] = {
    "correct": ONLY_ENTAILS,
    "Correct": ONLY_ENTAILS,
    "contradictory": ONLY_CONTRADICTS,
    "partially_correct_incomplete": ONLY_PARTLY,
    "Partially correct": ONLY_PARTLY,
    "irrelevant": ONLY_UNRELATED,
    "non_domain": ONLY_UNRELATED,
    "Incorrect": NOT_ENTAILED,
}
#: Items of which no statement is trained on.
HELD_OUT_ITEMS = frozenset({"autograd", "batchnorm", "leaf-tensor", "resume-training", "sgd-vs-gd", "view-vs-reshape"})
_VERDICTS = {"right": ONLY_ENTAILS, "wrong": ONLY_CONTRADICTS, "partly": ONLY_PARTLY}
NOT_FAR: Allowed = frozenset({ENTAILS, PARTLY})
_LONGEST = 80


def closest(answer: str, references: Sequence[str]) -> str:
    """The reference that shares most word stems with ``answer``; the first of equals."""
    said = set(stems(answer))

    def share(reference: str) -> float:
        wanted = set(stems(reference))
        return len(said & wanted) / max(1, len(said | wanted))

    return max(references, key=share)


def graded_frame(folder: Path, name: str, split: str) -> pd.DataFrame:
    """Answers of one split with the reference each is compared with (column ``reference``)."""
    frame = pd.read_parquet(folder / f"{name}.parquet")
    frame = frame[(frame["split"] == split) & (frame["answer"].astype(str).str.strip() != "")].copy()
    frame["reference"] = [
        closest(str(answer), [str(r) for r in references])
        for answer, references in zip(frame["answer"], frame["reference_answers"], strict=True)
    ]
    return frame


def graded_pairs(folder: Path) -> list[Pair]:
    """Training answers of the graded sets; long ones are left out."""
    found: list[Pair] = []
    for name in ("scientsbank", "beetle", "saf_en_v2"):
        if not (folder / f"{name}.parquet").is_file():
            continue
        frame = graded_frame(folder, name, "train")
        for row in frame.itertuples():
            answer, reference = str(row.answer), str(row.reference)
            if len(answer.split()) + len(reference.split()) <= _LONGEST and str(row.label) in LABELS:
                found.append(Pair(answer, reference, LABELS[str(row.label)], name))
    return found


def right_statements(folder: Path) -> list[tuple[str, str]]:
    """(right statement, reference) of the training splits: references themselves and right answers to them."""
    found: list[tuple[str, str]] = []
    for name in ("scientsbank", "beetle", "saf_en_v2"):
        if not (folder / f"{name}.parquet").is_file():
            continue
        frame = graded_frame(folder, name, "train")
        references = {str(r) for rs in frame["reference_answers"] for r in rs if len(str(r).split()) <= 30}
        found.extend((text, text) for text in sorted(references))
        right = frame[frame["label"].isin(["correct", "Correct"])]
        found.extend(
            (str(row.answer), str(row.reference))
            for row in right.itertuples()
            if 4 <= len(str(row.answer).split()) <= 25 and len(str(row.reference).split()) <= 30
        )
    return found


def flip_pairs(
    statements: Sequence[tuple[str, str]], seed: int, *, held_out: bool = False, most: int = 2
) -> list[Pair]:
    """Edits of right statements against what they are right about, in either direction."""
    rng = random.Random(seed)
    targets = dict(statements)
    pairs: list[Pair] = []
    for flip in flips([text for text, _ in statements], seed, held_out=held_out, most=most):
        target = targets[flip.original] if rng.random() < 0.7 else flip.original
        turned = target == flip.original and rng.random() < 0.4
        premise, hypothesis = (target, flip.edited) if turned else (flip.edited, target)
        allowed = ONLY_CONTRADICTS if flip.wrong else ONLY_ENTAILS
        pairs.append(Pair(premise, hypothesis, allowed, f"flip:{flip.rule}"))
    return pairs


def surplus_pairs(statements: Sequence[tuple[str, str]], others: Sequence[str], seed: int) -> list[Pair]:
    """A right statement, or an edited one, beside another statement: what else is said changes nothing."""
    rng = random.Random(seed)
    pairs: list[Pair] = []
    for pair in flip_pairs(statements, seed, most=1):
        beside = rng.choice(others)
        said = [pair.premise.rstrip(". "), beside.rstrip(". ")]
        rng.shuffle(said)
        pairs.append(
            Pair(rng.choice((". ", ", and ", "; ")).join(said) + ".", pair.hypothesis, pair.allowed, "surplus")
        )
    return pairs


_CLAUSES = re.compile(
    r"^(?P<a>\w+ .{12,}?),? (?:because|so|and|while|whereas|but) (?P<b>(?:it|they|the|an?)\b .{12,})$", re.I
)


def clause_pairs(statements: Iterable[str]) -> list[Pair]:
    """One clause of a statement of two: the whole entails it, and it is only part of the whole."""
    pairs: list[Pair] = []
    for text in statements:
        found = _CLAUSES.match(text.rstrip(". "))
        if found is None or re.match(r"(?:if|when|because|since|unless|although)\b", text, re.I):
            continue
        clause = found["a"] + "."
        pairs.append(Pair(clause, text, ONLY_PARTLY, "clause:part"))
        pairs.append(Pair(text, clause, ONLY_ENTAILS, "clause:whole"))
    return pairs


def rubric_pairs(items: Iterable[Item], encoder: Encoder, seed: int = 0) -> list[Pair]:
    """Pairs of the rubrics' own statements: siblings, other components, misconceptions and what they refute."""
    rng = random.Random(seed)
    return [pair for item in items for pair in _item_pairs(item, encoder, rng)]


def _item_pairs(item: Item, encoder: Encoder, rng: random.Random) -> list[Pair]:
    groups = [(name, element.key_statements) for name, c in item.components.items() for element in c.elements]
    right = [text for _, wordings in groups for text in wordings]
    texts = list(dict.fromkeys([*right, *(text for wrong in item.misconceptions for text in wrong.statements)]))
    vectors = {text: e.pooled for text, e in zip(texts, encoder.encode(texts), strict=True)}
    pairs: list[Pair] = []
    for _, wordings in groups:
        some = rng.sample(list(permutations(wordings, 2)), min(8, len(wordings) * (len(wordings) - 1)))
        pairs.extend(Pair(a, b, NOT_FAR, "rubric:sibling") for a, b in some)
    for at, (name, wordings) in enumerate(groups):
        others = [text for other, texts in groups[:at] + groups[at + 1 :] if other != name for text in texts]
        pairs.extend(Pair(a, b, NEUTRAL, "rubric:other") for a, b in nearest(wordings, others, vectors, 1))
    for wrong in item.misconceptions:
        some = list(permutations(wrong.statements, 2))
        pairs.extend(Pair(a, b, NOT_FAR, "rubric:misconception") for a, b in rng.sample(some, min(6, len(some))))
        refuted = [text for name, texts in groups if name in wrong.refutes for text in texts]
        for text, key in nearest(wrong.statements, refuted, vectors, 2):
            pairs.append(Pair(text, key, ONLY_CONTRADICTS, "rubric:refuted"))
            pairs.append(Pair(key, text, ONLY_CONTRADICTS, "rubric:refuted"))
        near = nearest(wrong.statements, right, vectors, 4)
        pairs.extend(Pair(key, text, NOT_ENTAILED, "rubric:not-believed") for text, key in near if key not in refuted)
        pairs.extend(flip_pairs([(text, text) for text in wrong.statements], rng.randrange(10**6), most=2))
    return pairs


def nearest(
    texts: Sequence[str], others: Sequence[str], vectors: Mapping[str, Floats], count: int
) -> list[tuple[str, str]]:
    """Each text with those of ``others`` nearest to it."""
    if not others:
        return []
    table = np.stack([vectors[other] for other in others])
    return [
        (text, others[int(place)])
        for text in texts
        for place in np.argsort(-(table @ vectors[text]), kind="stable")[:count]
    ]


def identical_pairs(texts: Iterable[str]) -> list[Pair]:
    """Each statement against itself."""
    return [Pair(text, text, ONLY_ENTAILS, "identical") for text in texts]


def unrelated_pairs(texts: Sequence[str], count: int, seed: int) -> list[Pair]:
    """Random pairs of statements from different places."""
    rng = random.Random(seed)
    pairs: list[Pair] = []
    while len(pairs) < count:
        first, second = rng.sample(list(texts), 2)
        if not set(stems(first)) & set(stems(second)) - set(stems("the a of is and in to it that")):
            pairs.append(Pair(first, second, ONLY_UNRELATED, "unrelated"))
    return pairs


def templated(count: int, seed: int, *, held_out: bool = False) -> list[Pair]:
    """Made statements as pairs."""
    return [
        Pair(made.response, made.key, _VERDICTS[made.verdict], f"made:{made.kind}")
        for made in made_pairs(count, seed, held_out=held_out)
    ]
