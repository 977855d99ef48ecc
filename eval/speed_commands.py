"""Speed and memory of the commands as whole processes."""

from __future__ import annotations

import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from eval.speed_inputs import make_answers

Json = dict[str, Any]
_ITEM, _ANSWER = (
    "zero-grad",
    "backward() adds the new gradients to those that are stored, so they must be cleared first.",
)
_STARTS = 3
#: Runs the command line and says at the end which models' libraries it has loaded and its peak memory; nothing of
#: ours may be imported here, since it would count.
_COMMAND = """
import sys
from grader.cli import app
try:
    app()
finally:
    loaded = sorted({"torch", "onnxruntime"} & set(sys.modules))
    from eval.speed_memory import peak_mb
    print(*loaded, peak_mb(), file=sys.stderr)
"""


def cold_start() -> Json:
    """``grader grade`` in a new process, without a cache and with one that knows the answer: the best of three."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["grade", _ITEM, _ANSWER, "--json"]
        without = [_command(command, "off") for _ in range(_STARTS)]
        _command(command, folder)
        warm = [_command(command, folder) for _ in range(_STARTS)]
    return {
        name: min(runs, key=lambda run: float(run["processor_s"]))
        for name, runs in (("without cache", without), ("with cache", warm))
    }


def growth(material: Mapping[str, Sequence[str]], sizes: Sequence[int], words: int, seed: int) -> dict[str, Json]:
    """``grader batch`` on tables of several sizes, from start to end, without a cache."""
    return {str(size): _batch(make_answers(material, size, words, seed), cached=False) for size in sizes}


def repeated(material: Mapping[str, Sequence[str]], size: int, distinct: int, words: int, seed: int) -> Json:
    """``grader batch`` on one long table that repeats some answers, with an empty cache."""
    some = make_answers(material, min(size, distinct), words, seed)
    each = -(-size // len(some))
    found = _batch({name: list(islice(cycle(texts), each)) for name, texts in some.items()}, cached=True)
    return found | {"distinct": sum(map(len, some.values()))}


def _batch(written: Mapping[str, Sequence[str]], *, cached: bool) -> Json:
    """One run of ``grader batch`` on a table of these answers."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.csv", Path(folder) / "out.csv"
        count = write_table(source, written)
        run = _command(["batch", str(source), "-o", str(out)], str(Path(folder) / "cache") if cached else "off")
    rate = {"answers": count, "ms_per_answer": round(1000 * run["processor_s"] / count, 2)}
    found = rate | {name: run[name] for name in ("seconds", "processor_s", "peak_mb")}
    print(f"batch: {found}", file=sys.stderr)
    return found


def write_table(path: Path, written: Mapping[str, Sequence[str]]) -> int:
    """Writes a long table, candidate by candidate, and returns the number of its rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("candidate", "item", "response"))
        rows = 0
        for number, texts in enumerate(zip(*written.values(), strict=True)):
            for name, text in zip(written, texts, strict=True):
                writer.writerow((f"{number:06}", name, text))
                rows += 1
    return rows


def _command(args: Sequence[str], cache: str) -> Json:
    """One run of the command line: seconds, processor seconds, peak memory and loaded libraries."""
    environment = os.environ | {"GRADER_CACHE": cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("GRADER_THREADS", None)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-c", _COMMAND, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    *loaded, peak = done.stderr.splitlines()[-1].split()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 2), "processor_s": round(used, 2), "peak_mb": int(peak), "loaded": loaded}
