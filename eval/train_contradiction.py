"""Training of the contradiction model in resumable chunks.

    python -m eval.train_contradiction general   # stage 1: general sentence pairs and made statements
    python -m eval.train_contradiction graded    # stage 2: graded answers, edits, rubrics, made, a share of stage 1
    python -m eval.train_contradiction polish    # stage 3: a share of all, right and wrong in balance, at a low rate
    python -m eval.train_contradiction export    # 8-bit weights and configuration with their hash

A stage that was interrupted goes on from its last checkpoint, and one that is complete is not repeated. Each call
ends after ``--minutes`` at the latest. ``all`` does all of them in turn.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

from eval.cache import packaged_encoder
from eval.contradiction_data import Pair, general_pairs, in_test_tenth
from eval.contradiction_export import export
from eval.contradiction_graded import (
    HELD_OUT_ITEMS,
    clause_pairs,
    flip_pairs,
    graded_pairs,
    identical_pairs,
    right_statements,
    rubric_pairs,
    surplus_pairs,
    templated,
    unrelated_pairs,
)
from eval.contradiction_training import Plan, load_checkpoint, new_model, train
from eval.contradiction_triples import read_triples, triple_pairs
from grader.bank import load_bank
from grader.evidence.crossencoder import FOLDER
from grader.rubric import Item

VERSION = "3"
STAGES = ("general", "graded", "polish", "export")
CHECKPOINTS = Path(".cache/contradiction")
#: Words of a general pair at most: short pairs are what answers look like, and cost least.
LONGEST_GENERAL = 32
#: Words of a pair of stage 2 at most.
LONGEST_GRADED = 48
#: General sets whose pairs are long or say nothing about contradiction.
_LEFT_OUT = frozenset({"fm2", "fever_symmetric"})
_FEW = {"med": 1200, "help_partial": 1000, "conjnli": 3000}


def general_stage(data: Path, *, facts: int = 4_000, same: int = 1_500) -> list[Pair]:
    """Pairs of stage 1: general pairs, and edits of sentences that they state."""
    pairs = _general(data)
    sentences = _sentences(pairs)
    edited = flip_pairs([(text, text) for text in sentences[:facts]], 11, most=1)
    return [*pairs, *edited, *identical_pairs(sentences[facts : facts + same])]


def _sentences(pairs: Sequence[Pair]) -> list[str]:
    """Hypotheses that are sentences of six words or more, none of them kept for testing, each once."""
    texts = (pair.hypothesis for pair in pairs if len(pair.hypothesis.split()) >= 6)
    return [text for text in dict.fromkeys(texts) if not in_test_tenth(text)]


def _general(data: Path) -> list[Pair]:
    """Short general pairs in a random order that is always the same."""
    everything = general_pairs(data / "nli")
    pairs = [pair for pair in everything if pair.source not in _LEFT_OUT and _words(pair) <= LONGEST_GENERAL]
    random.Random(0).shuffle(pairs)
    seen: Counter[str] = Counter()
    kept = []
    for pair in pairs:
        seen[pair.source] += 1
        if seen[pair.source] <= _FEW.get(pair.source, len(pairs)):
            kept.append(pair)
    return kept


def _words(pair: Pair) -> int:
    return len(pair.premise.split()) + len(pair.hypothesis.split())


def graded_stage(data: Path, items: Sequence[Item], *, made: int = 7_000, again: int = 2_500) -> list[Pair]:
    """Pairs of stage 2."""
    rng = random.Random(1)
    right = right_statements(data)
    rng.shuffle(right)
    trained = [item for item in items if item.id not in HELD_OUT_ITEMS]
    elements = [e for item in trained for c in item.components.values() for e in c.elements]
    keys = [text for element in elements for text in element.key_statements]
    rng.shuffle(keys)
    same = [(text, text) for text in keys]
    texts = [text for text, _ in right]
    graded = graded_pairs(data)
    pairs = [
        *graded,
        *rng.sample(graded, min(4000, len(graded))),
        *flip_pairs(right[:2500], 5, most=1),
        *flip_pairs(same[:1500], 6, most=1),
        *rubric_pairs(trained, encoder := packaged_encoder()),
        *triple_pairs(read_triples(), {item.id: item for item in trained}, encoder),
        *surplus_pairs([*right[2500:3000], *same[1500:2000]], [*texts[:2000], *keys], 8),
        *clause_pairs([*keys, *texts[:2000]]),
        *identical_pairs([*keys[:500], *texts[:300]]),
        *unrelated_pairs([*keys, *texts], 600, 3),
        *templated(made, 77),
        *rng.sample(general := _general(data), min(again, len(general))),
    ]
    return [pair for pair in pairs if _words(pair) <= LONGEST_GRADED]


def polish_stage(data: Path, items: Sequence[Item], *, made: int = 2_000, graded: int = 4_000) -> list[Pair]:
    """Pairs of stage 3: a share of all that was seen, with as many right as wrong statements of triples."""
    rng = random.Random(2)
    right = right_statements(data)
    rng.shuffle(right)
    trained = [item for item in items if item.id not in HELD_OUT_ITEMS]
    keys = [t for item in trained for c in item.components.values() for e in c.elements for t in e.key_statements]
    rng.shuffle(keys)
    rubric = rubric_pairs(trained, encoder := packaged_encoder())
    triples = triple_pairs(read_triples(), {item.id: item for item in trained}, encoder)
    true = [pair for pair in triples if pair.source in ("triple:same", "triple:key")]
    false = [pair for pair in triples if pair.source == "triple:wrong"]
    known = graded_pairs(data)
    pairs = [
        *flip_pairs(right[:1200], 15, most=1),
        *flip_pairs([(text, text) for text in keys[:1200]], 16, most=1),
        *_some(rng, rubric, 2500),
        *_some(rng, true, 4000),
        *_some(rng, false, 4000),
        *identical_pairs(keys[1200:1500]),
        *_some(rng, known, graded),
        *templated(made, 177),
    ]
    return [pair for pair in pairs if _words(pair) <= LONGEST_GRADED]


def _some(rng: random.Random, pairs: Sequence[Pair], count: int) -> list[Pair]:
    return rng.sample(pairs, min(count, len(pairs)))


#: Each stage after the first with the one it goes on from.
_BEFORE = {"graded": "general", "polish": "graded", "export": "polish"}


def _run(stage: str, options: argparse.Namespace) -> bool:
    model = new_model()
    if stage in _BEFORE:
        load_checkpoint(model, options.checkpoints / f"{_BEFORE[stage]}.pt")
    if stage == "export":
        print(export(model, options.out, version=VERSION, training={"stages": ", ".join(STAGES[:-1])}))
        return True
    pairs, plan = _stage(stage, options)
    torch.set_num_threads(options.threads)  # encoding the rubrics has set its own
    return train(model, pairs, plan, options.checkpoints)


def _stage(stage: str, options: argparse.Namespace) -> tuple[list[Pair], Plan]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    limits = {"minutes": options.minutes, "epochs": options.epochs, "steps": options.steps, "device": device}
    if stage == "general":
        return general_stage(options.data), Plan("general", rate=1.5e-4, floor=0.5, **limits)
    bank = load_bank(options.rubrics)
    items = [bank[name] for name in bank]
    if stage == "graded":
        return graded_stage(options.data, items), Plan("graded", rate=1e-4, **limits)
    return polish_stage(options.data, items), Plan("polish", rate=5e-5, batch=32, **limits)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one stage, or all; 0 if complete, 3 if time ran out and the same call goes on."""
    parser = argparse.ArgumentParser(prog="python -m eval.train_contradiction", description=__doc__)
    parser.add_argument("stage", choices=(*STAGES, "all"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the labelled data")
    parser.add_argument("--rubrics", type=Path, default=Path("rubrics/pytorch"), help="folder of the items")
    parser.add_argument("--checkpoints", type=Path, default=CHECKPOINTS)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--minutes", type=float, default=110.0, help="longest time of one stage in this call")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0, help="steps of a stage at most; 0 for all pairs")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    stages = STAGES if options.stage == "all" else (options.stage,)
    for stage in stages:
        if not _run(stage, options):
            print("time is up; the same call goes on from the checkpoint")
            return 3
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
