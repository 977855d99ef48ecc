"""The tables on meaning in ``docs/results.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.markdown import short, yes

Json = Mapping[str, Any]
Rows = Sequence[Sequence[str]]

LEVELS: Mapping[str, str] = {
    "cosine": "cosine alone",
    "features": "+ features",
    "grammar": "+ grammar checks",
    "model": "+ contradiction model",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was aimed at: ``value`` of ``what`` at least or at most ``limit``."""

    what: str
    value: float | None
    limit: float
    most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the value is within the limit; not where there is none."""
        return self.value is not None and (self.value <= self.limit if self.most else self.value >= self.limit)


def wanted(meaning: Json) -> list[Wanted]:
    """Every aim with what was found; only those whose tables exist."""
    return [*_flip_aims(meaning), *_right_aims(meaning), *_three_way_aims(meaning), *_viva_aims(meaning)]


def _flip_aims(meaning: Json) -> Iterator[Wanted]:
    for row in meaning.get("flips", []):
        if row["level"] != "model" or row["rules"] != "held out":
            continue
        if row["wrong"]:
            yield Wanted(f"wrong edits, {row['group']}: marked wrong or referred", row["caught"], 0.85)
            yield Wanted(f"wrong edits, {row['group']}: marked wrong", row["not_accepted"], 0.60)
        else:
            yield Wanted(f"true edits, {row['group']}: found false", row["false"], 0.05, most=True)
            yield Wanted(f"true edits, {row['group']}: referred", row["referred"], 0.10, most=True)


def _right_aims(meaning: Json) -> Iterator[Wanted]:
    for row in meaning.get("right", []):
        if row["level"] == "model":
            limit = 0.05 if row["answers"] == "all" else 0.08
            yield Wanted(f"right answers, {row['answers']}: found false", row["false"], limit, most=True)
            yield Wanted(f"right answers, {row['answers']}: referred", row["referred"], 0.10, most=True)


_THREE_WAY = {("scientsbank", "test_ua"): 0.68, ("scientsbank", "test_uq"): 0.58, ("scientsbank", "test_ud"): 0.52}


def _three_way_aims(meaning: Json) -> Iterator[Wanted]:
    for row in meaning.get("three_way", []):
        place = row["data set"], row["split"]
        if place in _THREE_WAY:
            yield Wanted(f"{place[0]} {place[1]}: macro-F1 3-way", row["macro-F1 3-way"], _THREE_WAY[place])
            yield Wanted(f"{place[0]} {place[1]}: F1 contradictory", row["F1 contradictory"], 0.50)


_VIVA = (
    ("negated", "viva_dev, negated: mean of 5", 1.2, True),
    ("misconception", "viva_dev, misconception: mean of 5", 1.2, True),
    ("partly_wrong", "viva_dev, partly_wrong: mean of 5", 3.0, True),
    ("full", "viva_dev, full: mean of 5", 4.0, False),
    ("f1_has_error", "viva_dev: F1 of has_error", 0.75, False),
    ("r", "viva_dev: r", 0.82, False),
    ("qwk", "viva_dev: QWK", 0.80, False),
)


def _viva_aims(meaning: Json) -> Iterator[Wanted]:
    for row in meaning.get("viva", []):
        if row["level"] == "model":
            yield from (Wanted(what, row.get(name), limit, most) for name, what, limit, most in _VIVA)


def tables(meaning: Json) -> Iterator[tuple[str, str, Sequence[str], Rows]]:
    """Heading, text, head and rows of each table."""
    aims = wanted(meaning)
    if aims:
        rows = [
            [aim.what, f"{'at most' if aim.most else 'at least'} {short(aim.limit)}", short(aim.value),
             yes(aim.reached)]
            for aim in aims
        ]  # fmt: skip
        yield "What was aimed at", "", ["measure", "needed", "found", "reached"], rows
    if meaning.get("flips"):
        yield "Edited right statements", _FLIPS, _HEAD_FLIPS, [_flip_cells(row) for row in meaning["flips"]]
    if meaning.get("right"):
        rows = [[row["answers"], LEVELS[row["level"]], *_share_cells(row)] for row in meaning["right"]]
        yield "Right answers to unseen questions", "", ["answers", "level", *_SHARES], rows
    if meaning.get("viva"):
        yield "Viva answers by level", "", *_plain_table(meaning["viva"], {"level": LEVELS})
    if meaning.get("three_way"):
        yield "The model alone: three-way labels", _THREE, *_plain_table(meaning["three_way"], {})
    if meaning.get("contrasts"):
        yield "The model alone: contrasts written by hand", _CONTRASTS, *_plain_table(meaning["contrasts"], {})


_FLIPS = (
    "Not accepted: a false statement is found, or no element has half of its credit. Referred: as a suspected "
    "contradiction, on top of those found false. Rules held out were never trained on; of the statements none was."
)
_THREE = "An answer is compared with the reference that shares most word stems with it."
_CONTRASTS = "Each trap in its wrong and its right direction; none was trained on. Caught: P(contradicts) above .5."
_SHARES = ("n", "found false", "not accepted", "referred", "not accepted or referred")
_HEAD_FLIPS = ("statements", "rules", "edits", "level", *_SHARES)


def _flip_cells(row: Json) -> list[str]:
    direction = "wrong" if row["wrong"] else "true"
    return [row["group"], row["rules"], direction, LEVELS[row["level"]], *_share_cells(row)]


def _share_cells(row: Json) -> list[str]:
    return [str(row["n"]), *(short(row[name]) for name in ("false", "not_accepted", "referred", "caught"))]


def _plain_table(rows: Sequence[Json], names: Mapping[str, Mapping[str, str]]) -> tuple[list[str], list[list[str]]]:
    head = list(dict.fromkeys(key for row in rows for key in row))
    body = [[_cell(row.get(key), names.get(key, {})) for key in head] for row in rows]
    return [key.replace("_", " ") for key in head], body


def _cell(value: object, names: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return names.get(value, value)
    return str(value) if isinstance(value, int) else short(value)  # type: ignore[arg-type]
