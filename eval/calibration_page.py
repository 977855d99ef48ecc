"""The calibration part of ``docs/results.md``: what was aimed at, then every table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.calibration import BESIDE
from eval.markdown import estimate, short, table, yes

Json = Mapping[str, Any]

ABOUT = (
    "Fitted to labelled answers to the question itself, drawn with each seed; marks on 0..1. The prior is the grader "
    "before any label, fitted to the other data sets and without the contradiction model, which has seen train splits. "
    "The scales of the correction were chosen on train rows of "
    "scientsbank, beetle, saf_en_v2 and saf_de_v1; nothing was chosen on test rows or on hbrs_nn. Blank answers, "
    '"I do not know" and the like keep their uncalibrated mark, as they do in use; a response that gets no mark '
    "because it is in another language is left out, as it goes to a person."
)
_NAMES = {"f1_2way": "F1 two-way", "f1_3way": "F1 three-way", "rmse": "RMSE"}


@dataclass(frozen=True, slots=True)
class Aim:
    """A figure of the learning curve that the project set out to reach; ``None`` labels: all that may be used."""

    data: str
    labels: int | None
    measure: str
    value: float


AIMS: Sequence[Aim] = (
    Aim("scientsbank", 10, "f1_2way", 0.76),
    Aim("scientsbank", 20, "f1_2way", 0.78),
    Aim("scientsbank", None, "f1_2way", 0.80),
    Aim("scientsbank", None, "f1_3way", 0.68),
    Aim("beetle", None, "f1_2way", 0.83),
    Aim("saf_en_v2", None, "rmse", 0.28),
    Aim("hbrs_nn", 5, "rmse", 0.265),
    Aim("hbrs_nn", 10, "rmse", 0.255),
    Aim("hbrs_nn", 20, "rmse", 0.24),
    Aim("hbrs_nn", 27, "rmse", 0.23),
)
COVERAGE, RATIO, CHOSEN_LABELS = 0.9, 0.75, 35
SELECTIVE = ("saf_en_v2", "hbrs_nn")
SECONDS: Mapping[int, float] = {200: 3.0, 5000: 60.0}

Row = list[str]


def calibration_part(results: Json) -> Iterator[str]:
    """The part as Markdown blocks; nothing without figures."""
    found = results.get("calibration")
    if not found:
        return
    yield "## Calibration"
    yield ABOUT
    yield "### What calibration was to reach"
    rows = [*_curve_aims(found), *_never_worse(found), *_promises(found)]
    yield table(["data set", "labels a question", "measure", "needed", "found", "reached"], rows)
    yield "The learning curves stand under the protocol few-labels."
    yield from _tables(found)


def _lines(found: Json, data: str, system: str) -> list[Json]:
    """The curve of a system, by number of labels."""
    lines = [line for line in found["curves"] if (line["data"], line["system"]) == (data, system)]
    return sorted(lines, key=lambda line: float(line["labels"]))


def _value(line: Json, measure: str) -> float | None:
    got = line["measures"].get(measure)
    return None if got is None else got[0]


def _curve_aims(found: Json) -> Iterator[Row]:
    for aim in AIMS:
        lines = _lines(found, aim.data, "calibrated")
        if not lines:
            continue
        wanted = lines[-1] if aim.labels is None else min(lines, key=lambda line: abs(line["labels"] - aim.labels))
        got, lower = _value(wanted, aim.measure), aim.measure == "rmse"
        reached = got is not None and (got <= aim.value if lower else got >= aim.value)
        needed = f"at {'most' if lower else 'least'} {short(aim.value)}"
        cell = estimate(wanted["measures"].get(aim.measure))
        yield [aim.data, f"{wanted['labels']:g}", _NAMES[aim.measure], needed, cell, yes(reached)]


def _never_worse(found: Json) -> Iterator[Row]:
    """Whether the calibration is ahead of everything beside it at every number of labels."""
    for data in dict.fromkeys(line["data"] for line in found["curves"]):
        lines = [line for line in _lines(found, data, "calibrated") if line["labels"] >= 5]
        if not lines:
            continue
        measure = "f1_2way" if lines[0]["mapped"] else "rmse"
        behind = [
            f"{line['labels']:g}: {other}"
            for line in lines
            for other in BESIDE
            if not _ahead(line, _at(_lines(found, data, other), line["labels"]), measure)
        ]
        what = f"{_NAMES[measure]}, ahead of {', '.join(BESIDE)}"
        yield [data, "every size", what, "everywhere", "; behind at ".join(["", *behind])[2:] or "everywhere",
               yes(not behind)]  # fmt: skip


def _at(lines: Sequence[Json], labels: float) -> Json:
    return min(lines, key=lambda line: abs(line["labels"] - labels))


def _ahead(line: Json, other: Json, measure: str) -> bool:
    ours, theirs = _value(line, measure), _value(other, measure)
    if ours is None or theirs is None:
        return False
    return ours <= theirs if measure == "rmse" else ours >= theirs


def _promises(found: Json) -> Iterator[Row]:
    for row in found["coverage"]:
        covered, narrower = row["coverage"][2] >= COVERAGE, row["width"][0] < row["width_of_question_mean"][0]
        yield [row["data"], "all", "90 % interval: coverage", "at least .90 within its interval",
               estimate(row["coverage"]), yes(covered)]  # fmt: skip
        widths = f"{short(row['width'][0])} against {short(row['width_of_question_mean'][0])}"
        yield [row["data"], "all", "90 % interval: width", "narrower than the question mean's", widths, yes(narrower)]
    for row in found["selective"]:
        if row["data"] in SELECTIVE:
            yield [row["data"], "all", "RMSE of the surest 60 % against all", f"at most {short(RATIO)} of it",
                   short(row["ratio"]), yes(row["ratio"] <= RATIO)]  # fmt: skip
    for row in found["active"]:
        reached = row["labels_to_reach_it"]
        yield [row["data"], "chosen", f"labels that do what {row['random_labels']} random ones do",
               f"at most {CHOSEN_LABELS}", "not reached" if reached is None else str(reached),
               yes(reached is not None and reached <= CHOSEN_LABELS)]  # fmt: skip
    for row in found["times"]:
        limit = SECONDS[row["labels"]]
        yield ["", str(row["labels"]), "seconds of a fit", f"under {limit:g}", f"{row['seconds']:.2f}",
               yes(row["seconds"] < limit)]  # fmt: skip


def _tables(found: Json) -> Iterator[str]:
    yield "### Intervals, surest marks, groups"
    rows = []
    for row in found["coverage"]:
        [sure] = [one for one in found["selective"] if one["data"] == row["data"]]
        [group] = [one for one in found["groups"] if one["data"] == row["data"]]
        same = "" if group["same_mark"] is None else f"{group['same_mark']:.0%}"
        rows.append([row["data"], estimate(row["coverage"]), estimate(row["width"]),
                     estimate(row["width_of_question_mean"]), short(sure["rmse"]), short(sure["rmse_surest"]),
                     f"{group['saved']:.1%}", same])  # fmt: skip
    head = ["data set", "coverage of 90 %", "width", "width, question mean", "RMSE", "RMSE of the surest 60 %",
            "marking saved by groups", "same mark as the group's first"]  # fmt: skip
    yield table(head, rows)
    for row in found["active"]:
        yield f"### Chosen and drawn labels, {row['data']}"
        yield f"RMSE on UA; {row['random_labels']} drawn labels give {short(row['rmse_at_random_labels'])}."
        points = [[str(point["labels"]), short(point["chosen"]), short(point["drawn"])] for point in row["rows"]]
        yield table(["labels a question", "chosen", "drawn"], points)
