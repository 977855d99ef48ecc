"""What an item is scored with, after its language: encoder, credit curves and contradiction model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from grader.encoder import PACKAGED_NAME, Encoder
from grader.evidence.judge import Judge
from grader.scoring import Prior, load_prior
from grader.subword import SubwordEncoder

_GERMAN_PRIOR = Path(__file__).parent / "models" / "prior_de.json"


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """The parts that depend on the language of an item.

    Attributes:
        encoder: Texts to vectors.
        prior: Evidence to credits.
        judge: The contradiction model, ``None`` where there is none.
        knows_topics: Whether vectors tell what a text is about; if not, nothing is called off topic.
    """

    encoder: Encoder
    prior: Prior
    judge: Judge | None
    knows_topics: bool = True


def is_english_only(encoder: Encoder) -> bool:
    """Whether ``encoder`` is the packaged model, which was trained on English."""
    return encoder.signature.startswith(f"{PACKAGED_NAME}@")


@lru_cache(maxsize=1)
def german_scorer() -> Scorer:
    """The scorer of German items: words compared by their letters, a curve of its own, no contradiction model."""
    return Scorer(SubwordEncoder("de"), load_prior(_GERMAN_PRIOR), None, knows_topics=False)
