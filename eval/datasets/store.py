"""Where the data lie, and loading what is there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from eval.datasets.asap import read_asap_sas
from eval.datasets.mohler import read_mohler
from eval.datasets.saf import read_saf
from eval.datasets.schema import input_error, validated
from eval.datasets.semeval import read_semeval
from eval.datasets.viva import read_viva
from grader.errors import InputError

ENVIRONMENT = "GRADER_DATA"
VIVA = "viva_dev"
NAMES: tuple[str, ...] = (
    "beetle", "scientsbank", "saf_en_v2", "saf_de_v1", "hbrs_nn", "mohler", "asap_sas",
)  # fmt: skip

_Reader = Callable[[Sequence[Path]], pd.DataFrame]
# Original releases, read where no parquet file of the name exists. The first group of paths below the data
# folder of which any exists is read.
_ORIGINALS: Mapping[str, tuple[_Reader, tuple[tuple[str, ...], ...]]] = {
    "beetle": (
        lambda paths: read_semeval(paths, dataset="beetle"),
        (tuple(f"semeval-{ways}way/beetle" for ways in (5, 3, 2)), ("beetle",)),
    ),
    "scientsbank": (
        lambda paths: read_semeval(paths, dataset="scientsbank"),
        (tuple(f"semeval-{ways}way/sciEntsBank" for ways in (5, 3, 2)), ("sciEntsBank",), ("scientsbank",)),
    ),
    "saf_de_v1": (
        lambda paths: read_saf(paths[0], dataset="saf_de_v1", language="de"),
        (("SAF/data",),),
    ),
    "mohler": (lambda paths: read_mohler(paths[0]), (("ShortAnswerGrading_v2.0",), ("mohler",))),
    "asap_sas": (
        lambda paths: read_asap_sas(paths[0]),
        tuple((f"{folder}/{file}.tsv",) for folder in ("asap_sas", "asap-sas") for file in ("train_rel_2", "train")),
    ),
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found.

    Attributes:
        folder: Where it was looked for; ``None`` when no data folder is known.
        frames: Data set name to frame in the common schema.
        viva: The authored answers with component labels, if there.
        missing: Names of data sets that are not there.
    """

    folder: Path | None
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    viva: pd.DataFrame | None = None
    missing: tuple[str, ...] = ()

    def summary(self) -> str:
        """One line: what was loaded, what is missing, and where it was looked for."""
        loaded = [f"{name} ({len(frame)})" for name, frame in self.frames.items()]
        if self.viva is not None:
            loaded.append(f"{VIVA} ({len(self.viva)})")
        where = str(self.folder) if self.folder else f"no data folder (set {ENVIRONMENT} or name one)"
        present, absent = ", ".join(loaded) or "nothing", ", ".join(self.missing) or "nothing"
        return f"{where}: loaded {present}; missing {absent}"


def data_folder(folder: Path | str | None = None) -> Path | None:
    """The folder with the data: the given one, else ``GRADER_DATA``, else ``../shared/data``, else ``None``.

    A folder that was named is returned even when it does not exist; the last one only when it does.
    """
    named = folder or os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return beside if beside.is_dir() else None


def read_parquet(path: Path) -> pd.DataFrame:
    """The answers of a parquet file that already has the common schema.

    Raises:
        InputError: Not a parquet file, or its columns or values do not fit; names file, row and field.
    """
    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors are subclasses of these
        raise input_error(path, f"cannot be read as parquet ({error})") from error
    return validated(frame, path)


def load(name: str, folder: Path | str | None = None) -> pd.DataFrame:
    """One data set by name, in the common schema, from ``NAME.parquet`` or else its original release.

    Raises:
        InputError: It is not there, or it is there and broken.
    """
    base = data_folder(folder)
    found = _find(name, base)
    if found is None:
        raise InputError(
            f"data set {name!r} is not in {base or 'any data folder'}; name a folder or set {ENVIRONMENT}. "
            f"Known data sets are {', '.join(NAMES)}; any other NAME is read from NAME.parquet"
        )
    reader, paths = found
    return reader(paths)


def load_available(folder: Path | str | None = None, names: Sequence[str] | None = None) -> Loaded:
    """Every data set that is there; one that is not is named in ``missing`` and skipped.

    Args:
        folder: As for :func:`data_folder`.
        names: Data sets wanted, by default :data:`NAMES` and ``viva_dev``; any other name is looked for as
            ``NAME.parquet``.

    Raises:
        InputError: A data set is there but broken.
    """
    base = data_folder(folder)
    frames: dict[str, pd.DataFrame] = {}
    viva: pd.DataFrame | None = None
    missing: list[str] = []
    for name in (*NAMES, VIVA) if names is None else names:
        if name == VIVA and base is not None and (base / f"{VIVA}.csv").is_file():
            viva = read_viva(base / f"{VIVA}.csv")
            continue
        found = _find(name, base)
        if found is None:
            missing.append(name)
        else:
            reader, paths = found
            frames[name] = reader(paths)
    return Loaded(base, frames, viva, tuple(missing))


def _find(name: str, base: Path | None) -> tuple[_Reader, list[Path]] | None:
    if base is None:
        return None
    parquet = base / f"{name}.parquet"
    if parquet.is_file():
        return lambda paths: read_parquet(paths[0]), [parquet]
    if name in _ORIGINALS:
        reader, groups = _ORIGINALS[name]
        for group in groups:
            paths = [base / place for place in group if (base / place).exists()]
            if paths:
                return reader, paths
    return None
