"""What other ways to compute the encoder's vectors would bring: speed, vectors, company, marks.

Everything is compared with what ships, in one process, in turn. Times are the best of three rounds: other programs may
use the machine. Marks are those of the grader without the contradiction model, which has a network of its own, on
answers that are read by the encoder. A backend may replace what ships if at most one mark in 2,000 differs, and
by one step, if it is at least 1.25 times as fast, and if a vector never depends on what is computed with it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eval.backend_networks import REFERENCE, Backend, Parts, backends
from eval.cache import CachedEncoder, RowCache
from eval.datasets import read_viva
from eval.frames import collect, english, items_of, limited
from eval.grading import GraderSystem
from eval.markdown import table, yes
from eval.progress import Progress
from eval.speed_inputs import make_answers, sentences, unique_statements
from eval.viva import item_id
from grader import Grader, Item, load_bank
from grader.encoder import Encoder, Encoding

Json = dict[str, Any]
Pairs = Sequence[tuple[Item, str]]
#: At least so much faster, and at most this share of marks one step off.
FASTER, MOVED = 1.25, 1 / 2000
_AUTHORED = Path(__file__).with_name("data") / "authored_answers.csv"
_ITEMS, _WORDS, _ROUNDS, _COMPANY, _SINGLES, _CALIBRATION = 10, 40, 3, 60, 40, 200
_STATEMENTS = 3


def run(count: int, answers: int, seed: int, data: Path | None, progress: Progress) -> Json:
    """Every backend whose package is there.

    Args:
        count: Sentences that are encoded.
        answers: Answers a data set and split that are graded, beside all viva answers.
        seed: Of the sentences.
        data: Folder with labelled answers, if any.
        progress: Is told of each step.
    """
    texts, more = _sentences(count, seed, data), _sentences(_CALIBRATION, seed + 1, data)
    parts = Parts.packaged(more)
    chosen = backends()
    there = [one for one in chosen if find_spec(one.needs) is not None]
    skipped = {one.name: f"{one.needs} is not installed" for one in chosen if one not in there}
    pairs = graded_answers(answers, data)
    found: dict[str, Json] = {one.name: {} for one in there}
    for threads in (1, 2):
        for name, times in speeds(there, parts, texts, threads).items():
            found[name] |= times
        progress(f"speed with {threads} threads")
    reference = there[0].make(parts, 1)
    wanted, marks = reference.encode(texts), None
    for one in there:
        encoder = one.make(parts, 1)
        found[one.name] |= vectors(wanted, encoder.encode(texts)) | {"company": company(encoder, texts)}
        if one.name == REFERENCE or found[one.name]["vector_difference"] > 0:
            given = marks_of(encoder, pairs)
            marks = given if marks is None else marks
            found[one.name] |= moved(pairs, marks, given)
        progress(f"{one.name}: {found[one.name]}")
    for figures in found.values():
        figures["ratio"] = figures["per_processor_s"] / found[REFERENCE]["per_processor_s"]
        figures["fit"] = fits(figures)
    return {"sentences": len(texts), "answers": len(pairs), "skipped": skipped, "backends": found}


def _sentences(count: int, seed: int, data: Path | None) -> list[str]:
    """Distinct statements, made with the seed from real ones where there are any."""
    material, _ = sentences(load_bank(), _ITEMS, data)
    written = make_answers(material, count, _WORDS, seed)
    found = list(dict.fromkeys(text for texts in unique_statements(written).values() for text in texts))
    return [found[int(at)] for at in np.linspace(0, len(found) - 1, min(count, len(found)))]


def graded_answers(limit: int, data: Path | None) -> list[tuple[Item, str]]:
    """Viva answers to items of the bank, and at most ``limit`` answers of each split of each English data set."""
    bank = load_bank()
    files = [_AUTHORED, *([data / "viva_dev.csv"] if data is not None else [])]
    pairs = [
        (bank[item_id(question)], str(answer))
        for path in files if path.is_file()
        for question, answer in read_viva(path)[["question_id", "answer"]].itertuples(index=False)
        if item_id(question) in bank
    ]  # fmt: skip
    for frame in english(collect(data).frames).values() if data is not None else ():
        items, chosen = items_of(frame), limited(frame, limit)
        pairs += [(items[str(q)], str(a)) for q, a in zip(chosen["question_id"], chosen["answer"], strict=True)]
    return pairs


def speeds(chosen: Sequence[Backend], parts: Parts, texts: Sequence[str], threads: int) -> dict[str, Json]:
    """Sentences a second, and milliseconds for one answer of three statements, in turn and the best of each."""
    encoders = {one.name: one.make(parts, threads) for one in chosen}
    answers = [texts[at : at + _STATEMENTS] for at in range(0, min(_SINGLES * _STATEMENTS, len(texts)), _STATEMENTS)]
    times: dict[str, list[tuple[float, float, float]]] = {one.name: [] for one in chosen}
    for _ in range(_ROUNDS):
        for name, encoder in encoders.items():
            clock, processor = _timed(encoder, [texts])
            times[name].append((clock, processor, _timed(encoder, answers)[1]))
    del encoders
    gc.collect()
    found = {}
    for name, rounds in times.items():
        clock, processor, single = (min(column) for column in zip(*rounds, strict=True))
        more = {"per_processor_s": len(texts) / processor, "single_ms": 1000 * single / len(answers)}
        found[name] = {f"per_s_{threads}": len(texts) / clock} | (more if threads == 1 else {})
    return found


def _timed(encoder: Encoder, calls: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    began, used = time.perf_counter(), time.process_time()
    for texts in calls:
        encoder.encode(texts)
    return time.perf_counter() - began, time.process_time() - used


def vectors(wanted: Sequence[Encoding], given: Sequence[Encoding]) -> Json:
    """Cosines of sentence vectors and of token vectors to the reference's, and the largest difference of a number."""
    found: Json = {}
    for name in ("pooled", "tokens"):
        ours, theirs = (
            np.concatenate([np.atleast_2d(getattr(one, name)) for one in side]).astype(np.float64)
            for side in (given, wanted)
        )
        cosines = (ours * theirs).sum(-1) / (np.linalg.norm(ours, axis=-1) * np.linalg.norm(theirs, axis=-1))
        found |= {f"{name}_min": float(cosines.min()), f"{name}_mean": float(cosines.mean())}
        found["vector_difference"] = max(found.get("vector_difference", 0.0), float(np.abs(ours - theirs).max()))
    return found


def company(encoder: Encoder, texts: Sequence[str]) -> float:
    """Largest difference of a number of a vector between encoding alone, in a batch and in another order."""
    chosen = texts[:_COMPANY]
    together, turned = encoder.encode(texts), encoder.encode(texts[::-1])[::-1]
    alone = [encoder.encode([text])[0] for text in chosen]
    sides = (together[: len(chosen)], turned[: len(chosen)])
    return max(float(vectors(side, alone)["vector_difference"]) for side in sides)


def marks_of(encoder: Encoder, pairs: Pairs) -> npt.NDArray[np.float64]:
    """Marks on 0..1 by the grader on ``encoder``, without the contradiction model."""
    grader = Grader(CachedEncoder(lambda: encoder, encoder.signature, None))
    return GraderSystem(grader, RowCache(None)).marks_of(pairs).score


def moved(pairs: Pairs, wanted: npt.NDArray[np.float64], given: npt.NDArray[np.float64]) -> Json:
    """How many marks differ from the reference's, and by how many steps of their scale at most."""
    steps = np.array([item.scale.max / item.scale.step for item, _ in pairs])
    without = np.isnan(wanted) != np.isnan(given)
    off = np.where(without, np.inf, np.rint(np.abs(np.nan_to_num(wanted) - np.nan_to_num(given)) * steps))
    return {"moved": int((off > 0).sum()), "moved_share": float((off > 0).mean()), "most_steps": float(off.max())}


def fits(figures: Mapping[str, Any]) -> bool:
    """Whether a backend may replace what ships."""
    same = figures.get("moved_share", 0.0) <= MOVED and figures.get("most_steps", 0.0) <= 1
    return bool(same and figures["company"] == 0 and figures["ratio"] >= FASTER)


def page(found: Json) -> str:
    """The figures as two Markdown tables."""
    rows = found["backends"].items()
    fast = table(
        ("backend", "sentences a processor second", "ratio", "a second, 1 thread", "2 threads", "one answer, ms"),
        [
            (name, *(f"{f[key]:.{digits}f}" for key, digits in _SPEED))
            for name, f in rows
        ],
    )  # fmt: skip
    same = table(
        (
            "backend",
            "1 - cosine, sentence: most / mean",
            "token: most / mean",
            "company",
            "marks moved",
            "steps",
            "fit",
        ),
        [(name, *_cosines(f), f"{f['company']:.1e}", *_moved(f), yes(f["fit"])) for name, f in rows],
    )
    counts = (
        f"{found['sentences']} sentences, {found['answers']} graded answers; fit to replace what ships: last column."
    )
    skipped = [f"Skipped: {name}, {reason}." for name, reason in found["skipped"].items()]
    return "\n\n".join([counts, fast, same, *skipped])


_SPEED = (("per_processor_s", 0), ("ratio", 2), ("per_s_1", 0), ("per_s_2", 0), ("single_ms", 1))


def _cosines(figures: Mapping[str, Any]) -> list[str]:
    pairs = [[1 - figures[f"{name}_{part}"] for part in ("min", "mean")] for name in ("pooled", "tokens")]
    return [f"{abs(most):.0e} / {abs(mean):.0e}" for most, mean in pairs]


def _moved(figures: Mapping[str, Any]) -> tuple[str, str]:
    if "moved" not in figures:
        return "same vectors", "0"
    return f"{figures['moved']} ({figures['moved_share']:.3%})", f"{figures['most_steps']:.0f}"
