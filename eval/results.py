"""One file with every number: what the bench found, as plain JSON, and where it came from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from eval.abuse import AbuseRow
from eval.datasets import PUBLISHED_ANSWERS, check
from eval.frames import Collection, scale_step
from eval.grading import probe
from eval.measures import Estimate
from eval.protocols import Line
from grader import Grader
from grader.errors import InputError
from grader.words import table_hash

SCHEMA = 1
Json = dict[str, Any]


def plain_line(line: Line) -> Json:
    """A result as plain JSON: measures are [value, low, high], ``null`` where undefined."""
    found: Json = {
        "protocol": line.protocol,
        "data": line.data,
        "split": line.split,
        "system": line.system,
        "n": line.n,
        "questions": line.questions,
        "mapped": line.mapped,
        "measures": {name: estimate.plain() for name, estimate in line.measures.items()},
    }
    if line.labels is not None:
        found |= {"labels": round(line.labels, 1), "seeds": line.seeds}
    return found


def plain_abuse(data: str, rows: Sequence[AbuseRow]) -> Json:
    """The abuse suite on one data set as plain JSON."""
    return {
        "data": data,
        "rows": [
            {
                "group": row.group,
                "kind": row.kind,
                "n": row.n,
                "accepted": row.accepted.plain(),
                "moved": None if row.moved is None else row.moved.plain(),
                "referred": round(row.referred, 4),
                "limit": row.limit,
            }
            for row in rows
        ],
    }


def plain_estimates(estimates: Mapping[str, Estimate]) -> Json:
    """Estimates by name as plain JSON."""
    return {name: estimate.plain() for name, estimate in estimates.items()}


def marks_signature(grader: Grader) -> str:
    """The part of a mark's signature that is the same for every item."""
    parts = grader.signature(probe()).split("|")
    return "|".join(part for part in parts if part.split(":")[0] not in ("item", "rubric", "scale"))


def header(grader: Grader, *, seed: int, n_boot: int, limit: int | None, prior: str) -> Json:
    """What the figures of a run depend on."""
    return {
        "schema": SCHEMA,
        "signature": marks_signature(grader),
        "words": table_hash(),
        "seed": seed,
        "resamples": n_boot,
        "level": 0.95,
        "limit": limit,
        "prior_of_leave_out": prior,
    }


def described(collection: Collection) -> list[Json]:
    """Each data set by split: answers, questions, and test answers that stand verbatim in train."""
    found: list[Json] = []
    for name, frame in collection.frames.items():
        leaks = _leaks(frame)
        for split, rows in frame.groupby("split", sort=False):
            found.append(
                {
                    "data": name,
                    "split": str(split),
                    "answers": len(rows),
                    "questions": int(rows["question_id"].nunique()),
                    "published_answers": PUBLISHED_ANSWERS.get(name, {}).get(str(split), (None,))[0],
                    "verbatim_in_train": leaks.get(str(split), 0),
                    "step": round(scale_step(frame), 4),
                    "mapped": bool(rows["mapped"].any()),
                }
            )
    return found


def _leaks(frame: pd.DataFrame) -> dict[str, int]:
    """Test answers that stand verbatim in train under the same question, by split."""
    leaks = [finding for finding in check(frame).findings if finding.code == "leakage"]
    return {split: found.count for found in leaks for split in set(frame["split"]) if f" of {split} " in found.message}


def write(results: Json, folder: Path) -> Path:
    """Writes ``results.json`` into ``folder``; the same numbers give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.json"
    text = json.dumps(results, ensure_ascii=False, indent=1, allow_nan=False)
    text = re.sub(r"\[([-\d.,\snul]+)\]", lambda found: "[" + " ".join(found[1].split()) + "]", text)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read(path: Path) -> Json:
    """The results in ``path``.

    Raises:
        InputError: There is no such file, or it is of another version.
    """
    try:
        results: Json = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as results ({error})") from error
    if results.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema {results.get('schema')!r}, needed is {SCHEMA}")
    return results
