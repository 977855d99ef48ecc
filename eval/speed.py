"""How fast answers are graded, beside what one would write with sentence-transformers alone: ``python -m eval.speed``.

Every system runs in a process of its own, one after the other, on the same made answers: (a) ``encode`` and
``cos_sim`` answer by answer, (b) the same in one batch, (c) the grader without and (d) with the contradiction model,
(e) the encoder of the grader alone on the statements that (c) reads. Compare the ratios, and processor seconds before
the clock where others use the machine. Results go into docs/results.json under ``speed``.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eval.exam_speed import make_answer, material
from eval.results import read, write
from eval.results_page import page
from grader import Grader, Item, load_bank
from grader.encoder import PackagedEncoder, packaged_model

Json = dict[str, Any]
Work = Callable[[Sequence[Item], Sequence[Sequence[str]]], None]
WORDS = 40
ITEMS = 10
SINGLES = 200
CHUNK = 512


def answers(items: Sequence[Item], count: int, seed: int) -> list[list[str]]:
    """About ``count`` answers in all, one list an item."""
    chance, sentences = random.Random(seed), material(items)
    each = -(-count // len(items))
    return [[make_answer(sentences[item.id], WORDS, chance) for _ in range(each)] for item in items]


def _one_by_one() -> Work:
    """(a) Nothing but the library, in the obvious loop."""
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(packaged_model()), device="cpu")

    def work(items: Sequence[Item], written: Sequence[Sequence[str]]) -> None:
        for item, texts in zip(items, written, strict=True):
            wordings = model.encode(_wordings(item))
            for text in texts:
                util.cos_sim(model.encode(text), wordings).max()

    return work


def _batched() -> Work:
    """(b) The same with all answers to an item in one call."""
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(packaged_model()), device="cpu")

    def work(items: Sequence[Item], written: Sequence[Sequence[str]]) -> None:
        for item, texts in zip(items, written, strict=True):
            util.cos_sim(model.encode(list(texts), batch_size=64), model.encode(_wordings(item))).max(dim=1)

    return work


def _grading(grader: Grader) -> Work:
    def work(items: Sequence[Item], written: Sequence[Sequence[str]]) -> None:
        for item, texts in zip(items, written, strict=True):
            for start in range(0, len(texts), CHUNK):
                grader.grade_many(item, texts[start : start + CHUNK])

    return work


def _without_check() -> Work:
    """(c) The grader, whose credits and screens are complete, without the contradiction model."""
    return _grading(Grader(PackagedEncoder()))


def _complete() -> Work:
    """(d) The grader as it ships."""
    return _grading(Grader())


def _bare_encoder() -> Work:
    """(e) The encoder alone on every statement that the grader would read."""
    from grader.segment import statements
    from grader.text import normalise

    encoder = PackagedEncoder()

    def work(items: Sequence[Item], written: Sequence[Sequence[str]]) -> None:
        for texts in written:
            encoder.encode([part.text for text in texts for part in statements(normalise(text))])

    return work


SYSTEMS: dict[str, Callable[[], Work]] = {
    "one by one": _one_by_one,
    "batched": _batched,
    "grader without contradiction model": _without_check,
    "grader": _complete,
    "encoder alone": _bare_encoder,
}


def measure(name: str, count: int, seed: int) -> Json:
    """One system in this process: start, throughput, peak memory and, for the whole grader, the time of one answer."""
    items = list(load_bank().values())[:ITEMS]
    written = answers(items, count, seed)
    first = answers(items, ITEMS, seed + 1)
    began = time.perf_counter()
    work = SYSTEMS[name]()
    work(items, first)
    start = time.perf_counter() - began
    began, used = time.perf_counter(), time.process_time()
    work(items, written)
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    total = sum(map(len, written))
    found = {
        "answers": total,
        "start_s": round(start, 2),
        "answers_per_s": round(total / seconds, 1),
        "answers_per_processor_s": round(total / processor, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    return found | {"single_ms": _singles(work, items, seed + 2)} if name == "grader" else found


def _singles(work: Work, items: Sequence[Item], seed: int) -> Json:
    """Milliseconds for one answer in a running process."""
    times = []
    for item, texts in zip(items, answers(items, SINGLES, seed), strict=True):
        for text in texts:
            began = time.perf_counter()
            work([item], [[text]])
            times.append(time.perf_counter() - began)
    return {f"p{q}": round(1000 * float(np.quantile(times, q / 100)), 1) for q in (50, 95, 99)}


def run(count: int, seed: int, sizes: Sequence[int]) -> Json:
    """Every system, each in a fresh process, and how the grader grows with the number of answers."""
    systems = {name: _apart(name, count, seed) for name in SYSTEMS}
    rates = {name: found["answers_per_processor_s"] for name, found in systems.items()}
    plain = rates["grader without contradiction model"]
    return {
        "words": WORDS,
        "seed": seed,
        "systems": systems,
        "ratios": {
            "grader to one by one": round(rates["grader"] / rates["one by one"], 2),
            "grader to batched": round(rates["grader"] / rates["batched"], 2),
            "grader without contradiction model to one by one": round(plain / rates["one by one"], 2),
            "grader without contradiction model to batched": round(plain / rates["batched"], 2),
            "grader without contradiction model to encoder alone": round(plain / rates["encoder alone"], 2),
        },
        "growth": {str(size): _apart("grader", size, seed) for size in sizes},
    }


def _apart(name: str, count: int, seed: int) -> Json:
    command = [sys.executable, "-m", "eval.speed", "--system", name, "--answers", str(count), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    print(f"{name}, {count} answers: {done.stdout.strip()}", file=sys.stderr)
    return dict(json.loads(done.stdout))


def _wordings(item: Item) -> list[str]:
    return [text for c in item.components.values() for e in c.elements for text in e.key_statements]


def main() -> None:
    """Runs everything and writes the results, or one system and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=1000, help="answers a system grades")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--growth", type=int, nargs="*", default=[100, 1000, 10_000], help="sizes for the growth")
    parser.add_argument("--system", choices=SYSTEMS, help="only this one, in this process")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of results.json")
    chosen = parser.parse_args()
    if chosen.system:
        print(json.dumps(measure(chosen.system, chosen.answers, chosen.seed)))
        return
    path = chosen.out / "results.json"
    known = read(path)
    known["speed"] = run(chosen.answers, chosen.seed, chosen.growth)
    write(known, chosen.out)
    path.with_suffix(".md").write_text(page(known), "utf-8")
    print(json.dumps(known["speed"]["ratios"], indent=1))


if __name__ == "__main__":
    main()
