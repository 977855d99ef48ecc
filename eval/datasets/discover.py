"""Which labelled answers lie in a folder, whatever their format, and the check of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from eval.datasets.asap import HEADER, read_asap_sas
from eval.datasets.checking import Report, check, render
from eval.datasets.files import read_text
from eval.datasets.mohler import read_mohler
from eval.datasets.published import PUBLISHED_ANSWERS
from eval.datasets.saf import read_saf
from eval.datasets.semeval import read_semeval
from eval.datasets.store import read_parquet
from eval.datasets.viva import VIVA_REQUIRED, read_viva, viva_as_answers
from grader.errors import InputError

EXPECTED = (
    "Looked for: *.parquet in the common schema, *.csv of viva answers, *.tsv of ASAP-SAS, XML of "
    "SemEval-2013 task 7 or SAF, *.jsonl of SAF, the folder of Mohler 2011 (data/raw, data/scores)."
)


@dataclass(slots=True)
class Found:
    """Frames that were read, what was passed over, and messages about broken files."""

    frames: list[pd.DataFrame] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    missing: tuple[str, ...] = ()
    expected: str = EXPECTED


def discover(directory: Path) -> Found:
    """Read every data set in ``directory``; a broken one is reported, never raised.

    ``missing`` names the data sets with published counts that are not there, provided that at least one
    of them is.
    """
    found = Found()
    if not directory.is_dir():
        found.expected = f"It is no folder. {EXPECTED}"
        return found
    for path in sorted(file for file in directory.iterdir() if file.is_file()):
        reader = _file_reader(path)
        if reader is not None:
            _read(reader, path, found)
        elif path.suffix.lower() in (".csv", ".tsv"):
            found.skipped.append(path)
    for reader, path in _folder_readers(directory):
        _read(reader, path, found)
    there = {str(name) for frame in found.frames for name in set(frame["dataset"])}
    if there & set(PUBLISHED_ANSWERS):
        found.missing = tuple(name for name in PUBLISHED_ANSWERS if name not in there)
    return found


def _read(reader: Callable[[Path], pd.DataFrame], path: Path, found: Found) -> None:
    try:
        found.frames.append(reader(path))
    except InputError as error:
        found.broken.append(str(error))


def _file_reader(path: Path) -> Callable[[Path], pd.DataFrame] | None:
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return read_parquet
    if suffix not in (".csv", ".tsv"):
        return None
    header = set(read_text(path).split("\n", 1)[0].strip().replace("\t", ",").split(","))
    if suffix == ".csv" and {"answer_id", *VIVA_REQUIRED[-3:]} <= header:
        return lambda file: viva_as_answers(read_viva(file), dataset=file.stem)
    return read_asap_sas if suffix == ".tsv" and set(HEADER) <= header else None


def _folder_readers(directory: Path) -> list[tuple[Callable[[Path], pd.DataFrame], Path]]:
    for folder in (directory, *sorted(child for child in directory.iterdir() if child.is_dir())):
        if (folder / "raw" / "questions").is_file() or (folder / "data" / "raw" / "questions").is_file():
            return [(read_mohler, folder)]
    first = next(iter(sorted(directory.rglob("*.xml"))), None)
    if first is not None:
        # Only SemEval has the label in an attribute.
        return [(read_semeval if "accuracy=" in read_text(first) else read_saf, directory)]
    return [(read_saf, directory)] if any(directory.rglob("*.jsonl")) else []


def main_check(directory: Path) -> int:
    """Print the check of everything below ``directory`` that can be read as labelled answers.

    Returns:
        0 when there is no problem, 1 when there is one (a broken file counts), 2 when nothing is there.
    """
    found = discover(directory)
    if not found.frames and not found.broken:
        print(f"{directory}: no labelled answers here. {found.expected}")
        return 2
    report = check(pd.concat(found.frames, ignore_index=True)) if found.frames else Report((), ())
    print(render(report))
    for name in found.missing:
        print(f"missing: {name}")
    for path in found.skipped:
        print(f"skipped, no labelled answers: {path}")
    for message in found.broken:
        print(f"problem [file] {message}")
    return 0 if report.ok and not found.broken else 1
