"""How fast answers are graded, beside what one would write with sentence-transformers alone.

Every system runs in a process of its own, one after the other, on the same answers: (a) ``encode`` and ``cos_sim``
answer by answer, (b) the same in one batch, (c) the grader without and (d) with the contradiction model, (e) the
encoder of the grader alone on the distinct statements that (c) reads. Each runs twice: with one thread, where
processor seconds are compared, which depend less on what else the machine does, and with a thread for every core, by
the clock. The commands are measured as whole processes. Compare the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eval.datasets.store import data_folder
from eval.speed_commands import cold_start, growth, repeated
from eval.speed_inputs import edited, make_answers, sentences, unique_statements
from eval.speed_memory import peak_mb
from grader import Grader, Item, load_bank
from grader.caching import CachedComparisons, CachedEncoder, CachedJudge
from grader.encoder import PACKAGED_SIGNATURE, PackagedEncoder, packaged_model
from grader.evidence.crossencoder import CrossEncoder, Floats
from grader.loading import load_grader
from grader.store import BlobStore
from grader.threads import usable_cores

Json = dict[str, Any]
Work = Callable[[Mapping[str, Sequence[str]]], None]
WORDS = 40
ITEMS = 10
SINGLES = 200
CHUNK = 512
#: Different answers in the long table.
DISTINCT = 2000
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def _one_by_one(items: Mapping[str, Item], threads: int) -> Work:
    """(a) Nothing but the library, in the obvious loop."""
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(packaged_model()), device="cpu")

    def work(written: Mapping[str, Sequence[str]]) -> None:
        for name, texts in written.items():
            wordings = model.encode(_wordings(items[name]))
            for text in texts:
                util.cos_sim(model.encode(text), wordings).max()

    return work


def _batched(items: Mapping[str, Item], threads: int) -> Work:
    """(b) The same with all answers to an item in one call."""
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(packaged_model()), device="cpu")

    def work(written: Mapping[str, Sequence[str]]) -> None:
        for name, texts in written.items():
            answers, wordings = model.encode(list(texts), batch_size=64), model.encode(_wordings(items[name]))
            util.cos_sim(answers, wordings).max(dim=1)

    return work


def _grading(grader: Grader, items: Mapping[str, Item]) -> Work:
    def work(written: Mapping[str, Sequence[str]]) -> None:
        for name, texts in written.items():
            for start in range(0, len(texts), CHUNK):
                grader.grade_many(items[name], texts[start : start + CHUNK])

    return work


def _without_check(items: Mapping[str, Item], threads: int) -> Work:
    """(c) The grader, whose credits and screens are complete, without the contradiction model."""
    return _grading(Grader(PackagedEncoder(threads=threads), threads=threads), items)


def _complete(items: Mapping[str, Item], threads: int) -> Work:
    """(d) The grader as it ships."""
    return _grading(Grader(threads=threads), items)


def _bare_encoder(items: Mapping[str, Item], threads: int) -> Work:
    """(e) The encoder alone on every distinct statement that the grader reads."""
    encoder = PackagedEncoder(threads=threads)

    def work(written: Mapping[str, Sequence[str]]) -> None:
        for texts in unique_statements(written).values():
            encoder.encode(texts)

    return work


SYSTEMS: dict[str, Callable[[Mapping[str, Item], int], Work]] = {
    "one by one": _one_by_one,
    "batched": _batched,
    "grader without contradiction model": _without_check,
    "grader": _complete,
    "encoder alone": _bare_encoder,
}


#: Whose rates are compared.
RATIOS = (
    ("grader", "one by one"),
    ("grader", "batched"),
    ("grader without contradiction model", "one by one"),
    ("grader without contradiction model", "batched"),
    ("grader without contradiction model", "encoder alone"),
)


def measure(name: str, count: int, seed: int, data: Path | None, threads: int) -> Json:
    """One system in this process: start, throughput, peak memory and, for the grader, the time of one answer.

    PyTorch takes the number of its threads from the environment, see `_apart`.
    """
    items = dict(load_bank())
    material, _ = sentences(load_bank(), ITEMS, data)
    written = make_answers(material, count, WORDS, seed)
    began = time.perf_counter()
    work = SYSTEMS[name](items, threads)
    work(make_answers(material, ITEMS, WORDS, seed + 1))
    start = time.perf_counter() - began
    seconds, processor = _timed(lambda: work(written))
    total = sum(map(len, written.values()))
    found: Json = {
        "answers": total,
        "start_s": round(start, 2),
        "answers_per_s": round(total / seconds, 1),
        "answers_per_processor_s": round(total / processor, 1),
        "peak_mb": peak_mb(),
    }
    if name.startswith("grader"):
        found["single_ms"] = _singles(work, make_answers(material, SINGLES, WORDS, seed + 2))
    return found


def _timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    began, used = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - began, time.process_time() - used


def _singles(work: Work, written: Mapping[str, Sequence[str]]) -> Json:
    """Milliseconds for one answer in a running process."""
    single = [{name: [text]} for name, texts in written.items() for text in texts]
    times = [_timed(partial(work, one))[0] for one in single]
    return {f"p{q}": round(1000 * float(np.quantile(times, q / 100)), 1) for q in (50, 95, 99)}


class _Counting:
    """A contradiction model that counts the pairs it is asked about."""

    def __init__(self) -> None:
        self._inner = CrossEncoder()
        self.signature = self._inner.signature
        self.pairs = 0

    def predict(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        self.pairs += len(pairs)
        return self._inner.predict(pairs)


def rerun(count: int, seed: int, data: Path | None, folder: Path) -> Json:
    """An exam graded into an empty cache, one rubric edited, and the whole exam graded again from the cache.

    Both by a new grader with models that are not loaded yet, as a command would find them; the second time they are
    loaded for the new wording. ``rest`` is the time of an answer beside models and comparisons, with reading the
    cache.
    """
    items = dict(load_bank())
    written = make_answers(sentences(load_bank(), ITEMS, data)[0], count, WORDS, seed)
    total = sum(map(len, written.values()))
    first_name = next(iter(written))
    changed = items | {first_name: edited(items[first_name])}
    counting = _Counting()
    store = BlobStore(folder)
    encoder = CachedEncoder(PackagedEncoder, PACKAGED_SIGNATURE, store)
    judge = CachedJudge(lambda: counting, counting.signature, store)
    compare = CachedComparisons(store)
    first, first_used = _timed(lambda: _grading(Grader(encoder, judge=judge, compare=compare), items)(written))
    store.close()
    again = load_grader(cache=folder, threads=1)
    second, second_used = _timed(lambda: _grading(again, changed)(written))
    _, rest = _timed(lambda: _grading(again, changed)(written))
    return {
        "answers": total,
        "first_s": round(first, 2),
        "again_s": round(second, 2),
        "ratio": round(first_used / second_used, 1),
        "pairs_per_answer": round(counting.pairs / total, 2),
        "rest_ms": round(1000 * rest / total, 2),
        "cache_mb": round((folder / store.path.name).stat().st_size / 2**20),
    }


def run(count: int, seed: int, sizes: Sequence[int], long: int, data: Path | None) -> Json:
    """Every system, each in a fresh process, and the commands.

    Args:
        count: Answers that each system grades.
        seed: Of the answers.
        sizes: Answers of the tables for the growth, all different.
        long: Answers of the table that repeats `DISTINCT` answers.
        data: Folder with labelled answers.
    """
    material, origin = sentences(load_bank(), ITEMS, data)
    written = make_answers(material, count, WORDS, seed)
    cores = usable_cores()
    systems = {
        name: {str(threads): _apart(["--system", name], count, seed, data, threads) for threads in sorted({1, cores})}
        for name in SYSTEMS
    }
    one_core = {name: found["1"]["answers_per_processor_s"] for name, found in systems.items()}
    every_core = {name: found[str(cores)]["answers_per_s"] for name, found in systems.items()}
    alone = one_core["encoder alone"]
    return {
        "words": WORDS,
        "seed": seed,
        "inputs": origin,
        "statements_per_answer": round(sum(map(len, unique_statements(written).values())) / count, 2),
        "cores": cores,
        "systems": systems,
        "ratios": {
            f"{name} to {other}": [round(rates[name] / rates[other], 2) for rates in (one_core, every_core)]
            for name, other in RATIOS
        },
        "outside_the_encoder": {
            name: round(1 - one_core[name] / alone, 3) for name in SYSTEMS if name.startswith("grader")
        },
        "rerun": _apart(["--rerun"], count, seed, data, 1),
        "cold": cold_start(),
        "growth": growth(material, sizes, WORDS, seed),
        "repeated": repeated(material, long, DISTINCT, WORDS, seed),
    }


def _apart(chosen: Sequence[str], count: int, seed: int, data: Path | None, threads: int) -> Json:
    command = [sys.executable, "-m", "eval.speed", *chosen, "--answers", str(count), "--seed", str(seed)]
    command += ["--threads", str(threads)] + (["--data", str(data)] if data is not None else [])
    environment = os.environ | dict.fromkeys(_THREADS, str(threads)) | {"GRADER_CACHE": "off"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    print(f"{' '.join(chosen)}, {threads} threads: {done.stdout.strip()}", file=sys.stderr)
    return dict(json.loads(done.stdout))


def _wordings(item: Item) -> list[str]:
    return [text for c in item.components.values() for e in c.elements for text in e.key_statements]


def main() -> None:
    """One measurement in this process; `python -m eval speed` runs them all."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=1000, help="answers to grade")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--data", type=data_folder, help="folder with labelled answers")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--system", choices=SYSTEMS)
    what.add_argument("--rerun", action="store_true", help="an exam again after its rubrics were edited")
    chosen = parser.parse_args()
    if chosen.rerun:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(rerun(chosen.answers, chosen.seed, chosen.data, Path(folder))))
    else:
        print(json.dumps(measure(chosen.system, chosen.answers, chosen.seed, chosen.data, chosen.threads)))


if __name__ == "__main__":
    main()
