"""Small made-up data for the bench: two data sets with splits and labels, one without, and systems without weights."""

from __future__ import annotations

import pandas as pd
import pytest

from eval.cache import CachedEncoder, RowCache
from eval.datasets import Row, frame_of
from eval.frames import prepare
from eval.systems import Systems
from grader.encoder import HashEncoder

QUESTIONS = (
    ("salt", "How do you separate salt from water?", "The water evaporates and the salt stays in the dish."),
    ("bulb", "Why does the bulb light up?", "The bulb is connected to both terminals of the battery."),
    ("plant", "What does a plant need to grow?", "A plant needs light, water and carbon dioxide from the air."),
    ("sound", "How does sound travel?", "Sound moves as vibrations that pass from particle to particle."),
    ("rust", "Why does iron rust?", "Iron reacts with oxygen and moisture and forms iron oxide."),
    ("moon", "Why does the moon have phases?", "We see different parts of the lit half as the moon orbits the earth."),
)
OPENINGS = ("", "I think ", "In short, ", "As we learned, ")


def answers_to(reference: str, number: int) -> list[tuple[str, float, str]]:
    """Four answers, their mark and label: right, half, contradictory, beside the point."""
    words = reference.rstrip(".").split()
    opening = OPENINGS[number % len(OPENINGS)]
    half = " ".join(words[: len(words) // 2])
    return [
        (opening + reference.lower(), 1.0, "correct"),
        (f"{opening}{half} somehow", 0.5, "partially_correct_incomplete"),
        (f"{opening}it is not true that {half}", 0.0, "contradictory"),
        (f"{opening}my uncle has a yellow bicycle", 0.0, "irrelevant"),
    ]


def toy(name: str, *, splits: bool = True, labels: bool = True, raters: bool = False, per: int = 4) -> pd.DataFrame:
    """A data set: questions salt to sound in train and UA, rust and moon in UQ; or all in one."""
    rows = []
    for place, (question, prompt, reference) in enumerate(QUESTIONS):
        for number in range(per):
            for kind, (answer, score, label) in enumerate(answers_to(reference, number)):
                seen = "test_ua" if number == per - 1 else "train"
                split = ("test_uq" if place >= 4 else seen) if splits else "none"
                label3 = "incorrect" if label in ("irrelevant", "partially_correct_incomplete") else label
                extra = {"label3": label3, "label2": "correct" if score == 1 else "incorrect"} if labels else {}
                rows.append(
                    Row(
                        dataset=name,
                        split=split,
                        question_id=f"{name}-{question}",
                        question=prompt,
                        reference_answers=[reference],
                        answer_id=f"{name}-{question}-{number}-{kind}",
                        answer=answer,
                        score=score * 2,
                        max_score=2.0,
                        label=label,
                        score2=min(score * 2 + (kind == 1), 2.0) if raters else None,
                        extra=extra | {"score_is_mapped_from_label": labels},
                    )
                )
    return frame_of(rows)


@pytest.fixture(scope="session")
def raw_frames() -> dict[str, pd.DataFrame]:
    """In the schema of the readers."""
    return {"toy": toy("toy"), "exam": toy("exam", splits=False, labels=False, raters=True, per=5)}


@pytest.fixture(scope="session")
def frames(raw_frames: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Prepared for the bench."""
    return {name: prepare(frame) for name, frame in raw_frames.items()}


@pytest.fixture
def encoder() -> CachedEncoder:
    return CachedEncoder(HashEncoder, "hash@1", None)


@pytest.fixture(scope="session")
def systems() -> Systems:
    return Systems(CachedEncoder(HashEncoder, "hash@1", None), RowCache(None))
